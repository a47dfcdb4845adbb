"""Nodes of the demo: drained with a reason, resumed, rebooted, one or several; each time the real node follows."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from console.run.identity import Identity, is_alive
from tests.demo.console import DemoConsole, until
from tests.demo.tab import PageOf, Tab

QUIET = "cpu-workers-1"
REASON = "fan 2 <b>rattles</b> & hums"


@pytest.fixture(autouse=True)
def nodes_as_before(console: DemoConsole) -> Iterator[None]:
    yield
    out = [node["name"] for node in console.get("/nodes").body["results"] if node["reason"]]
    if out:
        console.post("/actions/resume", {"nodes": out})
        until(lambda: not any(console.node(name)["reason"] for name in out), f"{out} are back")


def act_on(tab: Tab, *names: str, act: str) -> None:
    """Tick the rows and press the act; its dialog is open then."""
    for name in names:
        tab.row(name).get_by_role("checkbox").check()
    tab.page.get_by_role("button", name=act).click()
    expect(tab.dialog).to_be_visible()


def test_list_shows_every_node_with_both_names_and_what_the_api_says(
    console: DemoConsole, page_of: PageOf, size: str
) -> None:
    tab = page_of("kim", size).open("nodes/")
    tab.expect_live()
    nodes = console.get("/nodes").body["results"]
    assert len(nodes) == 6
    for node in nodes:
        row = tab.row(node["name"])
        expect(row.locator(".qd-name")).to_have_text(f"{node['machine']} ({node['name']})")
        if node["gpus"]:
            expect(row).to_contain_text(f"/ {node['gpus']}")
        expect(row.locator("[data-label=Partitions]")).to_have_attribute(
            "title", ", ".join(node["partitions"])
        )
    expect(tab.row("slinky-0").get_by_role("checkbox")).to_have_count(0)
    tab.expect_sound()


def test_drain_asks_for_a_reason_and_shows_it_with_who_and_when(
    console: DemoConsole, page_of: PageOf, size: str
) -> None:
    watching = page_of("kim", size).open("nodes/")
    watching.expect_live()
    tab = page_of("noor", size).open("nodes/")
    act_on(tab, QUIET, act="Drain")
    tab.expect_sound()
    tab.dialog.get_by_label("Reason").fill(REASON)
    tab.dialog.get_by_role("button", name="Drain").click()
    expect(tab.dialog).to_have_count(0)
    for each in (tab, watching):
        row = each.row(QUIET)
        expect(row).to_contain_text(re.compile("drain(ed|ing)"))
        expect(row).to_contain_text(REASON)
        expect(row).to_contain_text("noor")
        expect(row).to_contain_text(re.compile(r"just now|\d+ s ago"))
    found = console.node(QUIET)
    assert found["reason"].startswith(REASON)


def test_resume_gives_the_node_back_and_forgets_the_reason(console: DemoConsole, page_of: PageOf) -> None:
    console.post("/actions/drain", {"nodes": [QUIET], "reason": "for a while"}, by="noor")
    tab = page_of("noor").open("nodes/")
    expect(tab.row(QUIET)).to_contain_text("for a while")
    act_on(tab, QUIET, act="Resume")
    expect(tab.dialog).to_contain_text("for a while")
    tab.dialog.get_by_role("button", name="Resume").click()
    expect(tab.row(QUIET)).not_to_contain_text("for a while")
    expect(tab.row(QUIET)).to_contain_text(re.compile("idle|mixed|allocated"))


def test_several_nodes_are_drained_and_resumed_at_once(console: DemoConsole, page_of: PageOf) -> None:
    tab = page_of("noor").open("nodes/?q=slinky")
    act_on(tab, "slinky-2", "slinky-3", act="Drain")
    expect(tab.dialog).to_contain_text("Drain 2 nodes")
    tab.dialog.get_by_label("Reason").fill("rack 7 moves")
    tab.page.keyboard.press("Enter")
    for name in ("slinky-2", "slinky-3"):
        expect(tab.row(name)).to_contain_text("rack 7 moves")
    chip = tab.page.locator("#node-chips").get_by_role("link", name="Draining")
    expect(chip).to_contain_text("2")
    chip.click()
    expect(tab.page.locator("#node-rows tr")).to_have_count(2)
    act_on(tab, "slinky-2", "slinky-3", act="Resume")
    tab.dialog.get_by_role("button", name="Resume").click()
    until(lambda: not console.node("slinky-3")["reason"], "both are resumed")


def with_a_free_gpu(console: DemoConsole) -> str:
    nodes = (console.node(f"slinky-{n}") for n in range(4))
    return next(node["name"] for node in nodes if node["gpus_allocated"] < node["gpus"])


def test_drained_node_is_drawn_as_draining_on_the_map_and_looked_at(
    page_of: PageOf, console: DemoConsole
) -> None:
    tab = page_of("kim").open()
    roomy = with_a_free_gpu(console)
    console.post("/actions/drain", {"nodes": [roomy], "reason": "XID 79 on GPU 2"}, by="noor")
    expect(tab.page.locator(".gpu-row", has_text=roomy).locator(".gpu.drain").first).to_be_visible()
    tab.see("#looks", "XID 79 on GPU 2")


def test_reboot_names_the_jobs_that_it_ends_and_cancelling_ends_none(
    console: DemoConsole, page_of: PageOf, size: str
) -> None:
    tab = page_of("noor", size).open("nodes/")
    act_on(tab, "slinky-0", act="Reboot")
    expect(tab.dialog).to_contain_text("train-70b")
    expect(tab.dialog).to_contain_text("/dev/shm")
    expect(tab.dialog.get_by_role("button", name="Reboot when idle")).to_be_visible()
    tab.dialog.get_by_role("radio", name=re.compile("^Now")).check()
    expect(tab.dialog.get_by_role("button", name="Reboot now, ending 1 job")).to_be_visible()
    tab.expect_sound()
    tab.dialog.get_by_role("link", name="Cancel").click()
    expect(tab.dialog).to_have_count(0)
    running = console.get("/jobs?q=name:train-70b").body["results"]
    assert [job["state"] for job in running] == ["RUNNING"]


def running(console: DemoConsole, which: str) -> list[dict[str, Any]]:
    """The jobs on nodes that such a filter finds."""
    found: list[dict[str, Any]] = console.get(f"/jobs?q=state:running+{which}").body["results"]
    return found


def slurmd_of(console: DemoConsole, node: str) -> Identity:
    """The node's own slurmd: `slurmd -D -N NODE`."""
    [found] = [
        one
        for one in console.daemons("slurmd")
        if node.encode() in Path(f"/proc/{one.pid}/cmdline").read_bytes().split(b"\0")
    ]
    return found


def test_rebooted_node_comes_back_with_a_new_slurmd_and_touches_no_other(
    console: DemoConsole, page_of: PageOf
) -> None:
    console.post("/actions/drain", {"nodes": [QUIET], "reason": "before the reboot"}, by="noor")
    [stays] = running(console, "name:train-70b")
    if there := [each["job_id"] for each in running(console, f"node:{QUIET}")]:
        console.post("/actions/cancel", {"jobs": there})
    until(lambda: console.node(QUIET)["cpus_allocated"] == 0, f"{QUIET} is empty", within_s=60)
    before, other = slurmd_of(console, QUIET), slurmd_of(console, stays["nodes"])
    tab = page_of("noor").open(f"nodes/{QUIET}/")
    tab.page.get_by_role("link", name="Reboot").click()
    tab.dialog.get_by_role("button", name="Reboot now").click()
    until(lambda: not is_alive(before), "its slurmd ended")
    until(lambda: len(console.daemons("slurmd")) == 6, "it has a new one", within_s=20)
    until(lambda: console.node(QUIET)["state"] == "drained", "it stays drained", within_s=20)
    tab.see(".live-body", "reboot", within_s=15)
    assert [each["job_id"] for each in running(console, "name:train-70b")] == [stays["job_id"]]
    assert is_alive(other)


def test_member_is_offered_no_operation_and_refused_one(page_of: PageOf, console: DemoConsole) -> None:
    tab = page_of("mo").open("nodes/")
    drain = tab.page.get_by_role("button", name="Drain").first
    expect(drain).to_be_disabled()
    expect(drain).to_have_attribute("title", re.compile("Needs the role operator"))
    answer = console.post("/actions/drain", {"nodes": ["slinky-0"], "reason": "x"}, by="mo")
    assert answer.status == 403


def test_filter_understands_ranges_and_states_and_explains_a_mistake(page_of: PageOf) -> None:
    tab = page_of("kim").open("nodes/")
    tab.page.keyboard.press("/")
    tab.page.keyboard.type("slinky-[0-1]")
    tab.page.keyboard.press("Enter")
    expect(tab.page.locator("#node-rows tr")).to_have_count(2)
    tab.open("nodes/?q=stat:down")
    tab.see(".live-body", "stat")
