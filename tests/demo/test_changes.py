"""Changes of the demo: a log that grows on the open page, and the way back to any earlier revision."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.demo.console import DemoConsole, until
from tests.demo.tab import PageOf, Tab


def workers(console: DemoConsole) -> int:
    spec = console.get("").body["spec"]
    return len(next(group for group in spec["groups"] if group["name"] == "cpu-workers")["ordinals"])


@pytest.fixture(autouse=True)
def size_as_before(console: DemoConsole) -> Iterator[None]:
    console.settle()
    yield
    console.settle()
    if workers(console) != 2:
        base = console.get("").body["revision"]
        assert console.post("/actions/scale", {"groups": {"cpu-workers": 2}, "base": base}).status == 202
        assert console.settle()["status"] == "committed"
    until(lambda: len(console.get("/nodes").body["results"]) == 6, "six nodes", within_s=30)


def scale_to(tab: Tab, count: int) -> None:
    tab.page.locator("#cluster-head").get_by_role("link", name="Scale").click()
    tab.dialog.get_by_label("cpu-workers").fill(str(count))
    expect(tab.dialog.locator("#scale-impact")).to_contain_text("cpu-workers-2")
    tab.expect_sound()
    tab.dialog.get_by_role("button", name="Scale").click()


def follow(tab: Tab, console: DemoConsole) -> None:
    """Wait on the page of the newest change until it says committed. The page is loaded once, and moves by itself."""
    number = console.get("/changes?limit=1").body["results"][0]["number"]
    tab.page.wait_for_url(re.compile(rf"/changes/{number}/$"))
    expect(tab.page.locator(".live-body .qd-panel").first).to_contain_text("committed", timeout=60_000)


def test_change_is_followed_sentence_by_sentence_and_rolled_back_by_hand(
    console: DemoConsole, page_of: PageOf, size: str
) -> None:
    first = console.get("").body["revision"]
    running = {job["job_id"] for job in console.get("/jobs?q=name:train-70b").body["results"]}
    tab = page_of("lin", size).open()
    scale_to(tab, 3)
    expect(tab.dialog).to_have_count(0)
    follow(tab, console)
    sentences = tab.page.locator("ol.log li").all_inner_texts()
    assert len(sentences) >= 3, sentences
    tab.see("dl.facts", "lin")
    tab.see(".diff", "cpu-workers")
    until(lambda: console.node("cpu-workers-2").get("state") == "idle", "the new node is idle", within_s=30)
    tab.expect_sound()
    earlier = next(
        change for change in console.get("/changes").body["results"] if change["revision"] == first
    )
    tab.open(f"changes/{earlier['number']}/")
    tab.page.get_by_role("link", name=f"Roll back to revision {first}").click()
    expect(tab.dialog).to_contain_text("cpu-workers")
    tab.dialog.get_by_role("button", name="Roll back").click()
    expect(tab.dialog).to_have_count(0)
    follow(tab, console)
    assert workers(console) == 2 and console.get("").body["revision"] > first + 1
    still = {job["job_id"] for job in console.get("/jobs?q=name:train-70b+state:running").body["results"]}
    assert still == running


def test_past_mistake_was_rolled_back_and_says_at_which_line(
    console: DemoConsole, page_of: PageOf, size: str
) -> None:
    """What a newcomer finds: the controller refused it, the old revision is current, no job ended."""
    [past] = [one for one in console.get("/changes").body["results"] if one["number"] == 2]
    assert past["status"] == "rolled back"
    tab = page_of("kim", size).open("changes/2/")
    for words in ("refused", "revision 1 runs again", "JobSubmitPlugins=require_time_limit"):
        tab.see(".live-body", words)
    tab.expect_sound()


def test_list_names_every_change_with_its_outcome(console: DemoConsole, page_of: PageOf, size: str) -> None:
    tab = page_of("kim", size).open("changes/")
    for change in console.get("/changes").body["results"][:10]:
        row = tab.page.locator("#changes tbody tr", has_text=f"#{change['number']} ").first
        expect(row).to_contain_text(change["status"])
    tab.expect_sound()


def test_two_live_changes_are_refused(console: DemoConsole) -> None:
    base = console.get("").body["revision"]
    assert console.post("/actions/scale", {"groups": {"cpu-workers": 3}, "base": base}).status == 202
    assert console.post("/actions/scale", {"groups": {"cpu-workers": 1}, "base": base}).status == 409


def test_reconfigure_changes_nothing_and_ends_no_job(console: DemoConsole, page_of: PageOf) -> None:
    before = {job["job_id"] for job in console.get("/jobs?q=state:running+gpus:>3").body["results"]}
    tab = page_of("lin").open()
    tab.page.locator("#cluster-head summary").click()
    tab.page.get_by_role("link", name="Reconfigure…").click()
    tab.dialog.get_by_role("button", name="Reconfigure").click()
    expect(tab.dialog).to_have_count(0)
    follow(tab, console)
    after = {job["job_id"] for job in console.get("/jobs?q=state:running+gpus:>3").body["results"]}
    assert before == after
