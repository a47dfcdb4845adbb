"""Volumes in a real browser: made, grown, mounted with what that does beside it, unmounted, deleted."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, WIDE, Console

Look = Callable[..., Page]
LIST, TAB = "/t/research/volumes/", "/t/research/c/llama-pretrain/volumes/"
pytestmark = pytest.mark.timeout(300)


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_a_volume_is_made_grown_and_deleted(console: Console, look: Look, size: tuple[int, int]) -> None:
    page = look(LIST, size=size)
    page.get_by_role("link", name="New volume").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("Fresh")
    dialog.get_by_role("button", name="Make volume").click()
    expect(dialog).to_contain_text("Use 1 to 40 lower-case letters")
    dialog.get_by_label("Name").fill("fresh")
    dialog.get_by_role("button", name="Make volume").click()
    row = page.locator("tr", has_text="fresh")
    expect(row).to_contain_text("Creating")
    page.get_by_role("link", name="Grow fresh").click()
    dialog.get_by_label("New size").fill("50")
    dialog.get_by_role("button", name="Grow").click()
    expect(dialog.locator(".problem")).to_contain_text("A volume only grows")
    dialog.get_by_label("New size").fill("150")
    dialog.get_by_role("button", name="Grow").click()
    expect(row).to_contain_text("150 GiB")
    page.get_by_role("link", name="Delete fresh").click()
    dialog.get_by_label("Type fresh to confirm").fill("fresh")
    dialog.get_by_role("button", name="Delete for good").click()
    expect(row).to_contain_text("Deleting")


def test_mounting_shows_what_it_does_as_it_is_typed(console: Console, look: Look) -> None:
    page = look(TAB, name="lin")
    page.get_by_role("link", name="Mount sweeps-2029").click()
    dialog = page.get_by_role("dialog")
    impact = dialog.locator("#mount-impact")
    expect(impact).to_contain_text("on the login node and every worker, at /sweeps-2029")
    dialog.get_by_label("Path").fill("/shared/old")
    expect(impact).to_contain_text("/shared/old is inside /shared, where checkpoints is mounted")
    dialog.get_by_label("Path").fill("/old")
    expect(impact).to_contain_text("at /old")
    dialog.get_by_role("button", name="Mount").click()
    expect(page).to_have_url(re.compile(r"/changes/\d+/$"))
    expect(page.locator("#page")).to_contain_text("mount sweeps-2029 at /old")
    page.goto(console.url + TAB)
    expect(page.locator("tr", has_text="/old")).to_contain_text("on its way")


def test_unmounting_by_keyboard_alone(console: Console, look: Look) -> None:
    page = look(TAB, name="lin")
    page.get_by_role("link", name="Unmount homes").focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("What is on the volume stays there.")
    expect(dialog.get_by_role("link", name="Cancel")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/changes/\d+/$"))
    expect(page.locator("#page")).to_contain_text("unmount homes from /home")


def test_a_viewer_presses_nothing_and_reads_why(console: Console, look: Look) -> None:
    page = look(TAB, name="vic")
    button = page.get_by_role("button", name="Unmount").first
    expect(button).to_have_attribute("aria-disabled", "true")
    expect(button).to_have_attribute("title", re.compile("Needs the role admin; you are viewer."))
