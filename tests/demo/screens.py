"""A picture of every page, dark and light, put into docs/screens by `make screens`. Not part of the tests' own run:
the pages are all visited there.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.demo.console import DemoConsole, until
from tests.demo.png import with_palette
from tests.demo.tab import PageOf, Tab

MOST_BYTES = 150_000
SCHEMES = ("light", "dark")
EDITOR = "document.getElementById('conf').editor"
Act = Callable[[Tab], None]


def nothing(tab: Tab) -> None:
    """The page as it opens."""


@dataclass(frozen=True)
class Screen:
    """`path` is below the cluster unless it begins with a slash; `act` brings the page to what is shown."""

    name: str
    path: str
    act: Act = nothing
    who: str = "ada"
    size: str = "wide"


def drain(tab: Tab) -> None:
    tab.row("slinky-2").get_by_role("checkbox").check()
    tab.page.get_by_role("button", name="Drain").click()
    tab.dialog.get_by_label("Reason").fill("XID 79 on GPU 2")


def reboot(tab: Tab) -> None:
    tab.row("slinky-0").get_by_role("checkbox").check()
    tab.page.get_by_role("button", name="Reboot").click()
    expect(tab.dialog).to_contain_text("train-70b")


def scale(tab: Tab) -> None:
    tab.page.locator("#cluster-head").get_by_role("link", name="Scale").click()
    tab.dialog.get_by_label("slinky", exact=True).fill("6")
    expect(tab.dialog.locator("#scale-impact")).to_contain_text("slinky-5")


def order(tab: Tab) -> None:
    tab.page.get_by_label("Name", exact=True).fill("vision-lab")
    tab.page.get_by_text("8 x L40S", exact=True).click()
    tab.page.locator("#id_gpu_nodes").fill("2")
    expect(tab.page.locator("#preview")).to_contain_text("ordinals: [0, 1]")


def bad_key(tab: Tab) -> None:
    tab.page.wait_for_selector("#conf[data-ready]")
    tab.page.evaluate(
        f"() => {{ const rows = {EDITOR}.session.doc.getAllLines();"
        f"{EDITOR}.focus(); {EDITOR}.gotoLine(rows.findIndex((row) => row.startsWith('# <<<')), 0); }}"
    )
    tab.page.keyboard.press("End")
    tab.page.keyboard.insert_text("\nPriorityType=priority/multifactor\nPriorityMaxAge=3-0\nMesageTimeout=45")
    tab.page.keyboard.press("Escape")
    tab.see("#conf-problems", "Did you mean MessageTimeout?")
    tab.page.evaluate(f"() => {{ {EDITOR}.focus(); {EDITOR}.navigateUp(1); }}")
    tab.see("#conf-help", "PriorityMaxAge")
    tab.page.locator("#conf-form footer").scroll_into_view_if_needed()


def review(tab: Tab) -> None:
    bad_key(tab)
    tab.page.locator("#conf-problems").get_by_role("button", name="MessageTimeout", exact=True).click()
    expect(tab.page.locator("#conf-problems .note.bad")).to_have_count(0)
    tab.page.get_by_role("button", name="Review and apply").click()
    expect(tab.dialog).to_be_visible()


def partition(tab: Tab) -> None:
    tab.page.get_by_role("link", name="Add partition").click()
    tab.dialog.get_by_label("Name", exact=True).fill("debug")
    tab.dialog.get_by_label("Nodes", exact=True).fill("slinky-[0-1]")
    tab.dialog.get_by_label("Longest job").fill("2h")
    expect(tab.dialog.locator("pre.line")).to_contain_text("PartitionName=debug")


def mount(tab: Tab) -> None:
    tab.page.get_by_role("link", name="Mount scratch").click()
    expect(tab.dialog.locator("#mount-impact")).to_contain_text("at /scratch")


def shell(tab: Tab) -> None:
    expect(tab.page.locator(".terminal-state")).to_have_text("Connected", timeout=15_000)
    for line in ("clear", "sinfo -s", "squeue -o '%.10i %.14j %.11P %.8T %.6D %R' | head -14"):
        tab.page.keyboard.type(f"{line}\n")
        tab.page.wait_for_timeout(900)


def whole_job(tab: Tab) -> None:
    tab.see("#job-facts", "Everything Slurm says", within_s=15)


def open_job(name: str) -> Act:
    def act(tab: Tab) -> None:
        tab.page.locator("#jobs tbody tr", has_text=name).locator("[data-row-link]").click()
        whole_job(tab)

    return act


def new_qos(tab: Tab) -> None:
    tab.page.get_by_role("link", name="Add QOS").click()
    tab.dialog.get_by_label("Name").fill("night")
    tab.dialog.get_by_label("GPUs at once").fill("16")
    tab.dialog.get_by_label("Longest job").fill("12:00:00")
    tab.dialog.get_by_role("button", name="Preview").click()
    expect(tab.dialog).to_contain_text("sacctmgr -i add qos night")


def usage(tab: Tab) -> None:
    expect(tab.page.locator("#usage-days tbody tr")).to_have_count(7)


def rolled_back(tab: Tab) -> None:
    tab.page.locator("#changes tbody tr", has_text="rolled back").first.locator("[data-row-link]").click()
    tab.see(".live-body", "require_time_limit")


SCREENS = (
    Screen("sign-in", "/sign-in/", who=""),
    Screen("clusters", "/t/research/"),
    Screen("create", "/t/research/clusters/new/", order),
    Screen("overview", ""),
    Screen("scale", "", scale),
    Screen("nodes", "nodes/"),
    Screen("node", "nodes/slinky-3/"),
    Screen("drain", "nodes/", drain),
    Screen("reboot", "nodes/", reboot),
    Screen("partitions", "partitions/"),
    Screen("partition-new", "partitions/", partition),
    Screen("slurm-conf", "conf/", bad_key),
    Screen("slurm-conf-review", "conf/", review),
    Screen("jobs", "jobs/"),
    Screen("job", "jobs/", open_job("train-70b")),
    Screen("job-waiting", "jobs/", open_job("pretrain-moe")),
    Screen("submit", "jobs/new/"),
    Screen("team-jobs", "/t/research/jobs/"),
    Screen("volumes", "/t/research/volumes/"),
    Screen("cluster-volumes", "volumes/"),
    Screen("mount", "volumes/", mount),
    Screen("usage", "accounting/", usage),
    Screen("accounts", "accounting/accounts/"),
    Screen("account", "accounting/accounts/llm/"),
    Screen("qos", "accounting/qos/"),
    Screen("qos-new", "accounting/qos/", new_qos),
    Screen("usage-phone", "accounting/", usage, size="phone"),
    Screen("users", "users/"),
    Screen("user-removal", "users/of/mo/removal/"),
    Screen("scripts", "scripts/"),
    Screen("script", "scripts/worker_prolog/"),
    Screen("image", "image/"),
    Screen("terminal", "terminal/", shell),
    Screen("changes", "changes/"),
    Screen("change-rolled-back", "changes/", rolled_back),
    Screen("people", "/t/research/members/"),
    Screen("activity", "/t/research/activity/"),
    Screen("profile", "/profile/"),
    Screen("api", "/api/docs/"),
    Screen("admin", "/admin/"),
    Screen("overview-phone", "", size="phone"),
    Screen("jobs-phone", "jobs/", size="phone"),
)


@pytest.fixture(scope="module")
def life(console: DemoConsole) -> Iterator[None]:
    """A node that is out, and a volume that nobody mounts yet, beside the demo's own change that was rolled back."""
    console.settle()
    scratch = {"name": "scratch", "region": "local", "offer": "fast", "size_gib": 2000}
    assert console.ask("POST", "teams/research/volumes", scratch).status in (201, 422)
    reason = "XID 79 on GPU 2: fell off the bus, twice in ten minutes"
    assert console.post("/actions/drain", {"nodes": ["slinky-3"], "reason": reason}, by="noor").status == 204
    until(lambda: console.node("slinky-3")["reason"], "the drain is seen")
    yield
    console.post("/actions/resume", {"nodes": ["slinky-3"]}, by="noor")


@pytest.fixture(scope="module")
def directory(request: pytest.FixtureRequest) -> Path:
    """Where the pictures go: `--screens`."""
    where = Path(request.config.getoption("--screens"))
    where.mkdir(parents=True, exist_ok=True)
    return where


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("screen", SCREENS, ids=lambda screen: screen.name)
def test_picture_of(screen: Screen, scheme: str, life: None, page_of: PageOf, directory: Path) -> None:
    tab = page_of(screen.who, screen.size, scheme).open(screen.path)
    screen.act(tab)
    if tab.page.locator("[data-live-socket]").count():
        tab.expect_live()
    still(tab.page)
    picture = with_palette(tab.page.screenshot(animations="disabled", caret="hide"))
    assert len(picture) < MOST_BYTES, f"{screen.name} has {len(picture)} bytes"
    (directory / f"{screen.name}-{scheme}.png").write_bytes(picture)


def still(page: Page) -> None:
    """Fonts are there, and nothing is being fetched or says so."""
    page.evaluate("() => document.fonts.ready.then(() => 0)")
    expect(page.locator(".htmx-request")).to_have_count(0)
    page.mouse.move(0, 0)
