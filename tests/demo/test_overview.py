"""The overview of the demo: its figures are the API's, its age counts, its ssh command is copied."""

import re
from collections import Counter

from playwright.sync_api import Page, expect

from tests.demo.console import DemoConsole, until
from tests.demo.tab import PageOf

KINDS = "cells => cells.map(cell => cell.className.replace('gpu ', ''))"
IN_USE = ("a", "b", "c")  # neighbouring jobs in shades of their own


def cells(page: Page) -> Counter[str]:
    """How many cells of the GPU map are of each kind."""
    return Counter(page.locator("#gpu-map .gpus .gpu").evaluate_all(KINDS))


def used_and_all(console: DemoConsole) -> tuple[int, int]:
    nodes = console.get("/nodes").body["results"]
    return sum(node["gpus_allocated"] for node in nodes), sum(node["gpus"] for node in nodes)


def test_gpu_map_and_figures_say_what_the_api_says(console: DemoConsole, page_of: PageOf, size: str) -> None:
    tab = page_of("kim", size).open()
    tab.expect_live()
    assert used_and_all(console)[1] == 32

    def agree() -> bool:
        used, _ = used_and_all(console)
        of_map = cells(tab.page)
        figures = tab.page.locator("#numbers .v").first.inner_text()
        in_use = sum(of_map[kind] for kind in IN_USE)
        return (in_use, of_map["free"]) == (used, 32 - used) and figures.startswith(f"{used} ")

    until(agree, "the map, the figures and the API agree")
    expect(tab.page.locator("#cluster-head")).to_contain_text("Running")
    expect(tab.page.locator("#services")).to_contain_text("up")
    tab.expect_sound()


def test_every_gpu_row_names_machine_and_slurm_name(page_of: PageOf) -> None:
    tab = page_of("kim").open()
    names = tab.page.locator("#gpu-map .qd-name").all_inner_texts()
    assert len(names) == 4
    for ordinal, name in enumerate(names):
        assert re.fullmatch(rf"\S+ \(slinky-{ordinal}\)", name), name


def test_age_counts_up_and_begins_anew_at_each_look(page_of: PageOf) -> None:
    tab = page_of("kim").open()
    tab.expect_live()
    seen: set[int] = set()

    def counted() -> bool:
        text = tab.page.locator("#cluster-head [data-age]").inner_text()
        found = re.fullmatch(r"as of (\d+) s ago", text)
        assert found, text
        seen.add(int(found[1]))
        return {0, 1} <= seen

    until(counted, "the age was 0 s and 1 s")
    assert max(seen) < 6


def test_ssh_command_is_copied_as_it_stands(page_of: PageOf, console: DemoConsole) -> None:
    tab = page_of("mo").open()
    tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=console.url)
    shown = tab.page.locator("#ssh").inner_text()
    assert re.fullmatch(r"ssh -p \d+ \S+@127\.0\.0\.1", shown)
    tab.page.get_by_role("button", name="Copy the ssh command").click()
    expect(tab.page.locator(".qd-toast")).to_contain_text("Copied ssh")
    assert tab.page.evaluate("() => navigator.clipboard.readText()") == shown


def test_latest_change_and_its_log_are_shown(page_of: PageOf) -> None:
    tab = page_of("kim").open()
    tab.see("#latest-change", "#")
    assert tab.page.locator("#latest-change .log li").count() >= 1


def test_viewer_is_offered_no_way_to_change_the_cluster(page_of: PageOf) -> None:
    tab = page_of("kim").open()
    expect(tab.page.locator("#cluster-head").get_by_role("link", name="Scale")).to_have_count(0)
    tab.page.locator("#cluster-head summary").click()
    tab.see("#cluster-head .list", "Needs the role")
    assert tab.page.locator("#cluster-head .list a").count() == 0
