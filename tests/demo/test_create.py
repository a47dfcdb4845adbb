"""A cluster from the form to Running with its steps ticking, then terminated and deleted: the whole life, for real."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.demo.console import DemoConsole, until
from tests.demo.tab import PageOf, Tab

TEAM = "teams/research/clusters"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGl0c2FsbG1hZGV1cGZvcnRlc3RzMDEyMzQ1Njc4OWFi ada@laptop"
UP_WITHIN_S = 60
SMALL = {
    "region": "local",
    "image": "slurm-24-11",
    "gpu_plan": "l40s-8",
    "gpu_nodes": 1,
    "cpu_plan": "cpu-64",
    "cpu_nodes": 1,
}


@pytest.fixture
def name(console: DemoConsole, size: str) -> Iterator[str]:
    """The new cluster's name; whatever happens to the test, the cluster goes."""
    name = f"small-{size}"
    yield name
    if console.ask("GET", f"{TEAM}/{name}").status == 200:
        console.ask("POST", f"{TEAM}/{name}/actions/terminate")
        until(lambda: status(console, name) in ("Terminated", "Failed"), f"{name} ends", within_s=40)
        console.ask("POST", f"{TEAM}/{name}/actions/delete", {"name": name})
        until(lambda: status(console, name) == "", f"{name} is gone", within_s=40)


def status(console: DemoConsole, name: str) -> str:
    answer = console.ask("GET", f"{TEAM}/{name}")
    return str(answer.body["status"]) if answer.status == 200 else ""


def order(tab: Tab, name: str) -> None:
    """One GPU worker and one CPU worker, the spec beside the form following."""
    page = tab.open("/t/research/clusters/new/").page
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_text("8 x L40S", exact=True).click()
    page.locator("#id_gpu_nodes").fill("1")
    page.get_by_text("64 CPUs", exact=True).click()
    page.locator("#id_cpu_nodes").fill("1")
    page.get_by_label("SSH keys").fill(KEY)
    preview = page.locator("#preview")
    expect(preview).to_contain_text(f"name: {name}")
    expect(preview).to_contain_text("l40s-8")
    expect(preview).to_contain_text("ada@laptop")


def steps(page: Page) -> tuple[str, ...]:
    """The steps of Creating as the page shows them now, each with its word or its time."""
    return tuple(
        " ".join(row.split()) for row in page.locator("[data-status=Creating] .qd-steps li").all_inner_texts()
    )


def act(tab: Tab, act: str, name: str) -> None:
    """An ending act of the menu, confirmed by the cluster's name."""
    tab.page.locator("#cluster-head summary").click()
    tab.page.get_by_role("link", name=f"{act}…").click()
    expect(tab.dialog).to_be_visible()
    tab.dialog.get_by_label("Type").fill(name)
    tab.expect_sound()
    tab.dialog.get_by_role("button", name=act).click()


def test_a_cluster_is_created_used_terminated_and_deleted(
    console: DemoConsole, page_of: PageOf, size: str, name: str
) -> None:
    tab = page_of("ada", size)
    order(tab, name)
    tab.expect_sound()
    tab.page.get_by_role("button", name="Create cluster").click()
    tab.page.wait_for_url(f"**/c/{name}/")
    expect(tab.page.locator("#cluster-head")).to_contain_text("Creating")
    tab.see(".live-body", f"Creating {name}")
    # The same page, never loaded again, follows it to the end.
    expect(tab.page.locator("#cluster-head")).to_contain_text("Running", timeout=UP_WITHIN_S * 1000)
    tab.see("#services", "up")
    tab.see("#gpu-map", "slinky-0")
    expect(tab.page.locator("#gpu-map .gpus .gpu")).to_have_count(8)
    answer = console.ask(
        "POST", f"{TEAM}/{name}/jobs", {"script": "#!/bin/bash\n#SBATCH --gpus=1 --time=5\nsleep 200\n"}
    )
    assert answer.status == 201
    until(
        lambda: console.ask("GET", f"{TEAM}/{name}/jobs?q=state:running").body["results"],
        "its job runs",
        within_s=20,
    )
    act(tab, "Terminate", name)
    tab.page.wait_for_url(re.compile(rf"/c/{name}/changes/\d+/$"))
    expect(tab.page.locator(".live-body")).to_contain_text("committed", timeout=40_000)
    expect(tab.page.locator("#cluster-head")).to_contain_text("Terminated")
    tab.open(f"/t/research/c/{name}/")
    tab.see(".live-body", "This cluster is terminated")
    act(tab, "Delete", name)
    until(lambda: status(console, name) == "", f"{name} is deleted", within_s=40)
    tab.open("/t/research/")
    expect(tab.page.get_by_role("row").filter(has_text=name)).to_have_count(0)
    tab.complaints[:] = [text for text in tab.complaints if "404" not in text]


def test_creating_shows_its_steps_as_they_come_up(console: DemoConsole, page_of: PageOf) -> None:
    tab = page_of("kim")
    assert console.ask("POST", TEAM, {"name": "ticking", **SMALL}).status == 201
    tab.open("/t/research/c/ticking/")
    seen: list[tuple[str, ...]] = []

    def ended() -> bool:
        now = steps(tab.page)
        if now and now not in seen:
            seen.append(now)
        return "Running" in tab.page.locator("#cluster-head").inner_text()

    try:
        until(ended, "it is Running", within_s=UP_WITHIN_S)
        # They come up within a second of each other, so a page may see few of the moments between, or only the first.
        assert seen, "no step was shown"
        for moment in seen:
            assert [step.split()[1] for step in moment] == ["Accounting", "Controller", "Workers", "Login"]
        assert any(word in step for step in seen[0] for word in ("waiting", "starting")), seen
        creation = tab.open("/t/research/c/ticking/changes/1/").see(".live-body", "committed")
        expect(creation.locator("ol.log time").first).to_be_visible()
    finally:
        tab.open("/t/research/")
        console.ask("POST", f"{TEAM}/ticking/actions/terminate")
        until(lambda: status(console, "ticking") in ("Terminated", "Failed"), "it ends", within_s=40)
        console.ask("POST", f"{TEAM}/ticking/actions/delete", {"name": "ticking"})
        until(lambda: status(console, "ticking") == "", "it is gone", within_s=40)


def test_mistakes_of_the_form_stand_at_their_fields_and_nothing_typed_is_lost(
    page_of: PageOf, size: str
) -> None:
    tab = page_of("lin", size).open("/t/research/clusters/new/")
    tab.page.get_by_label("Name", exact=True).fill("Not A Name")
    tab.page.get_by_label("SSH keys").fill("no key at all")
    tab.page.get_by_role("button", name="Create cluster").click()
    tab.see("[data-field=name] .problem", "lower-case")
    expect(tab.page.get_by_label("SSH keys")).to_have_value("no key at all")
    tab.expect_sound()
    tab.complaints[:] = [text for text in tab.complaints if "422" not in text]


def test_operator_is_not_offered_a_new_cluster(page_of: PageOf) -> None:
    tab = page_of("noor").open("/t/research/")
    expect(tab.page.get_by_role("link", name="New cluster")).to_have_count(0)
