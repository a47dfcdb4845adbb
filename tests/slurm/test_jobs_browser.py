"""The pages of jobs in a real browser: filtering, picking, cancelling, submitting, rows that change in place."""

import re
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, BrowserContext, Page, expect

from clusters.models import Cluster, Node, Partition
from console import live
from console.models import User
from console.roles import Role
from slurm.models import Job, Submission
from tests.slurm.job_rows import make_cluster, make_job, make_member, make_queue
from tests.slurm.terminal.conftest import Console, console_in, session_of

ROOT = Path(__file__).resolve().parents[2]
AXE = ROOT / "static/vendor/axe/axe.min.js"
WIDE, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def web(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """The web process on the tests' database."""
    console = console_in(tmp_path_factory.mktemp("web"), "tests.slurm.browser_settings")
    console.start("web")
    yield console
    console.kill("web", signal.SIGTERM)


@pytest.fixture
def cluster(transactional_db: None, settings) -> Cluster:  # type: ignore[no-untyped-def]
    # Pushes go through the Redis that the web process listens to, not through this process alone.
    layer = {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [settings.REDIS_URL]},
    }
    settings.CHANNEL_LAYERS = {"default": layer}
    made = make_cluster()
    for name, nodes in (("all", 4), ("debug", 2)):
        is_default = name == "all"
        Partition.objects.create(
            cluster=made, name=name, state="UP", is_default=is_default, total_nodes=nodes
        )
    idle = {
        "cpus_allocated": 0,
        "memory_allocated_mib": 0,
        "gpus_allocated": 0,
        "state": "idle",
        "health": "ok",
    }
    size = {"cpus": 64, "memory_mib": 512_000, "gpus": 8, "partitions": ["all", "debug"]}
    Node.objects.create(cluster=made, name="slinky-0", group="slinky", **idle, **size)
    return made


class Tab:
    """One person's tab. Fails at the end if the page complained of anything."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.complaints: list[str] = []
        self.url = url
        self.page: Page = context.new_page()
        self.page.on("console", lambda said: said.type == "error" and self.complaints.append(said.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def open(self, path: str) -> Page:
        self.page.goto(self.url + path)
        return self.page

    def keys(self) -> list[str]:
        return [row.get_attribute("data-key") or "" for row in self.page.locator("tr[data-key]").all()]


@pytest.fixture
def ben(cluster: Cluster) -> User:
    return make_member("ben", Role.OPERATOR, cluster.team)


@pytest.fixture(params=["wide"])
def tab(browser: Browser, web: Console, ben: User, request: pytest.FixtureRequest) -> Iterator[Tab]:
    wide = "phone" not in request.param
    context = browser.new_context(
        viewport=WIDE if wide else PHONE,
        color_scheme="dark" if "dark" in request.param else "light",
        # axe styles the page for a moment, which the page's own policy forbids.
        bypass_csp="axe" in request.param,
        java_script_enabled="plain" not in request.param,
    )
    context.add_cookies([{"name": "sessionid", "value": session_of(ben.username), "url": web.url}])
    tab = Tab(context, web.url)
    yield tab
    context.close()
    assert tab.complaints == []


def say(cluster: Cluster, fragments: Sequence[live.Fragment] = (), refresh: Sequence[str] = ()) -> None:
    """What the watcher sends after a look; from a thread, since Playwright's loop runs in this one."""
    now = timezone.now().isoformat()
    topic = live.cluster_topic(cluster.key)
    with ThreadPoolExecutor(1) as watcher:
        watcher.submit(live.publish, topic, fragments, refresh=refresh, at=now, problem="").result()


def test_typing_in_the_box_narrows_the_list_and_the_address_follows(tab: Tab, cluster: Cluster) -> None:
    make_job(cluster, 1, user="lin", gpus=8)
    make_job(cluster, 2, user="mo")
    page = tab.open("/t/research/c/demo/jobs/")
    page.keyboard.press("/")
    page.keyboard.type("user:lin gpus:>4")
    expect(page.locator("tr[data-key]")).to_have_count(1)
    expect(page).to_have_url(re.compile(r"q=user%3Alin(\+|%20)gpus%3A%3E4"))
    assert tab.keys() == ["1"]
    page.keyboard.type(" gpuz:1")
    expect(page.locator(".job-hints")).to_contain_text("Did you mean gpus")
    expect(page.locator("#job-q")).to_be_focused()


def test_a_row_changes_in_place_and_keeps_scroll_and_selection(tab: Tab, cluster: Cluster) -> None:
    make_queue(cluster, 200)
    make_job(cluster, 5, name="mine", priority=1, state="PENDING")
    page = tab.open("/t/research/c/demo/jobs/?q=state:waiting&sort=id")
    row = page.locator('tr[data-key="5"]')
    row.locator("input").check()
    page.mouse.wheel(0, 600)
    page.wait_for_function("scrollY > 100")
    scrolled = page.evaluate("scrollY")
    expect(page.locator("#live")).to_have_text("live")
    job = Job.objects.get(number=5)
    job.why = "Needs 8 free GPUs on one node; most is 2."
    job.save()
    fragment = live.fragment("slurm/_job_row.html", f"job-{job.pk}", job=job)
    say(cluster, [fragment])
    expect(row).to_contain_text("most is 2")
    expect(row.locator("input")).to_be_checked()
    assert page.evaluate("scrollY") == scrolled


def test_a_new_job_appears_when_the_watcher_says_so(tab: Tab, cluster: Cluster) -> None:
    page = tab.open("/t/research/c/demo/jobs/")
    expect(page.locator("#jobs")).to_contain_text("Not looked at yet" if not cluster.observed_at else "empty")
    expect(page.locator("#live")).to_have_text("live")
    make_job(cluster, 77, name="fresh")
    say(cluster, refresh=["jobs"])
    expect(page.locator('tr[data-key="77"]')).to_contain_text("fresh")


def test_jobs_are_picked_with_keys_and_cancelled_after_their_cost_is_shown(
    tab: Tab, cluster: Cluster
) -> None:
    start = timezone.now() - timedelta(hours=3)
    make_job(cluster, 1, state="RUNNING", start_at=start, gpus=16, priority=9)
    make_job(cluster, 2, priority=5)
    page = tab.open("/t/research/c/demo/jobs/")
    for key in "jxjx":
        page.keyboard.press(key)
    expect(page.locator("[data-selected-count=jobs]")).to_have_text("2 selected")
    page.get_by_role("button", name="Cancel", exact=True).click()
    dialog = page.locator("#dialog")
    expect(dialog).to_contain_text("3 h of run time, 48 GPU hours")
    expect(dialog).to_contain_text("16 GPUs")
    dialog.get_by_role("button", name="Cancel 2 jobs").click()
    expect(page.locator("#page")).to_contain_text("Cancelled 2 jobs")


def test_the_jobs_page_follows_the_job(tab: Tab, cluster: Cluster) -> None:
    job = make_job(cluster, 9, name="train", why="Waits behind jobs of higher priority.")
    page = tab.open("/t/research/c/demo/jobs/9/")
    expect(page.locator("#job")).to_contain_text("waiting")
    expect(page.locator("#job-facts")).to_contain_text("/home/kim/runs/train.sh")
    Job.objects.filter(pk=job.pk).update(state="RUNNING", why="", start_at=timezone.now(), nodes="slinky-0")
    expect(page.locator("#job")).to_contain_text("running", timeout=9000)
    expect(page.locator("#job time[data-ran]")).to_have_text(re.compile("00:00:0[3-9]"), timeout=9000)


def test_quick_fields_and_directives_follow_each_other(tab: Tab, cluster: Cluster) -> None:
    page = tab.open("/t/research/c/demo/jobs/new/")
    script = page.locator("#script")
    page.get_by_label("Name").fill("sweep of two")
    page.get_by_label("Partition").select_option("debug")
    page.get_by_label("GPUs on each node").fill("")
    page.get_by_label("Time limit").fill("2:00:00")
    for line in ('--job-name="sweep of two"', "--partition=debug", "--time=2:00:00"):
        expect(script).to_have_value(re.compile(rf"^#SBATCH {re.escape(line)}$", re.MULTILINE))
    expect(script).not_to_have_value(re.compile("gpus-per-node"))
    page.get_by_label("GPUs on each node").fill("9")
    expect(page.locator("#advice")).to_contain_text("Asks 9 GPUs on one node")
    line = page.locator(".ace_line", has_text="--nodes=1").bounding_box()
    assert line
    page.mouse.click(line["x"] + 20, line["y"] + 8)
    page.keyboard.press("End")
    page.keyboard.press("Backspace")
    page.keyboard.type("3")
    expect(page.get_by_label("Nodes", exact=True)).to_have_value("3")


def test_a_job_is_submitted_from_the_editor(tab: Tab, cluster: Cluster) -> None:
    page = tab.open("/t/research/c/demo/jobs/new/")
    page.get_by_role("button", name="Submit job").click()
    expect(page).to_have_url(re.compile("/jobs/4711/$"))
    expect(page.locator("#page")).to_contain_text("Slurm took it")
    assert Submission.objects.get(number=4711).by.username == "ben"
    make_job(cluster, 4711, name="hello")
    expect(page.locator("#job")).to_contain_text("hello", timeout=9000)


@pytest.mark.parametrize("tab", ["plain"], indirect=True)
def test_without_scripts_a_job_is_submitted_and_cancelled_all_the_same(tab: Tab, cluster: Cluster) -> None:
    page = tab.open("/t/research/c/demo/jobs/new/")
    expect(page.get_by_text("Quick fields")).to_be_hidden()
    page.locator("#script").fill("#!/bin/bash\nsrun hostname\n")
    page.get_by_role("button", name="Submit job").click()
    expect(page).to_have_url(re.compile("/jobs/4711/$"))
    make_job(cluster, 5, state="RUNNING", start_at=timezone.now())
    tab.open("/t/research/c/demo/jobs/5/")
    page.get_by_role("link", name="Cancel").click()
    page.get_by_role("button", name="Cancel job").click()
    expect(page.locator("#page")).to_contain_text("Cancelled job 5")


def test_the_teams_list_goes_on_by_itself(tab: Tab, cluster: Cluster) -> None:
    page = tab.open("/t/research/jobs/")
    make_job(cluster, 31, name="late")
    expect(page.locator("#jobs")).to_contain_text("late", timeout=9000)


PAGES = ("jobs/", "jobs/?q=zzz", "jobs/?q=gpuz:1", "jobs/8/", "jobs/new/", "jobs/cancellation/?job=8&job=9")


@pytest.mark.parametrize("tab", ["wide axe", "wide dark axe", "phone axe", "phone dark axe"], indirect=True)
def test_no_page_has_a_serious_fault_for_those_who_cannot_see_or_point(tab: Tab, cluster: Cluster) -> None:
    for number in range(20):
        state = "RUNNING" if number % 2 else "PENDING"
        make_job(cluster, number, state=state, start_at=timezone.now(), why="" if number % 2 else "Waits.")
    make_job(cluster, 40, key="40_[]", job_id="40_[1-9]", array_number=40, task_count=9)
    for path in (
        *(f"/t/research/c/demo/{page}" for page in PAGES),
        "/t/research/c/demo/jobs/40/",
        "/t/research/jobs/",
    ):
        page = tab.open(path)
        if "jobs/8/" in path:
            expect(page.locator("#job-facts .job-script").first).to_be_visible()
        page.evaluate(AXE.read_text())
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        serious = [
            (fault["id"], fault["nodes"][0]["html"][:200])
            for fault in found
            if fault["impact"] in {"serious", "critical"}
        ]
        assert serious == [], path
        assert not page.evaluate("document.documentElement.scrollWidth > innerWidth"), path
