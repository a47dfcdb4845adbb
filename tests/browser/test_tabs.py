"""A cluster's tabs in Chromium: on any width each is in the row or under More, and the open one always in the row."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from clusters.views.frame import TABS
from tests.browser.conftest import PHONE, Console, session_of

CLUSTER = "/t/research/c/llama-pretrain/"
WIDTHS = (360, 390, 768, 1024, 1280, 1440, 1680)
LABELS = [label for label, _, _ in TABS]
Look = Callable[..., Page]


def row(page: Page) -> Locator:
    return page.locator("#tabs > a").filter(visible=True)


def under_more(page: Page) -> Locator:
    return page.locator("#tabs .list a").filter(visible=True)


def labels(links: Locator) -> list[str]:
    return [link.evaluate("link => link.firstChild.data") for link in links.all()]


@pytest.mark.parametrize("width", WIDTHS)
def test_each_tab_is_at_hand_and_the_open_one_in_sight(look: Look, console: Console, width: int) -> None:
    page = look(CLUSTER, size=(width, 800))
    for path, label in (("", "Overview"), ("conf/", "Slurm configuration"), ("people/", "People")):
        page.goto(f"{console.url}{CLUSTER}{path}")
        page.evaluate("document.querySelectorAll('#tabs .count').forEach(one => one.textContent = '12345')")
        current = page.locator("#tabs > [aria-current=page]")
        expect(current).to_contain_text(label)
        box, more = current.bounding_box(), page.locator("#tabs summary")
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= width
        assert page.locator("#tabs").evaluate("row => row.scrollWidth <= row.clientWidth")
        in_row = labels(row(page))
        if more.is_visible():
            box = more.bounding_box()
            assert box and box["x"] + box["width"] <= width
            more.click()
        assert sorted(in_row + labels(under_more(page))) == sorted(LABELS)


# What reaches beyond the screen and is not scrolled within something narrower, by its classes.
TOO_WIDE = """() => document.documentElement.scrollWidth <= innerWidth ? [] :
    [...document.querySelectorAll("body *")].filter(one => one.getBoundingClientRect().right > innerWidth + 1)
    .map(one => `${one.tagName}#${one.id}.${one.className} ${Math.round(one.getBoundingClientRect().right)}`)"""
WIDE_NUMBERS = """
    document.querySelectorAll("#tabs .count").forEach(one => one.textContent = "49999");
    document.querySelectorAll("#numbers .v").forEach(one => one.innerHTML = one.innerHTML.replace(/\\d+/g, "49999"));
"""


@pytest.mark.parametrize("width", (390, 768, 1024, 1280))
def test_numbers_of_five_digits_make_no_page_wider_than_the_screen(look: Look, width: int) -> None:
    page = look(CLUSTER, size=(width, 800))
    page.evaluate(WIDE_NUMBERS)
    assert page.evaluate(TOO_WIDE) == []


def test_more_is_opened_walked_and_left_by_keys(look: Look) -> None:
    page = look(CLUSTER)
    more = page.locator("#tabs summary")
    more.focus()
    page.keyboard.press("Enter")
    names = labels(under_more(page))
    page.keyboard.press("ArrowUp")
    expect(under_more(page).last).to_be_focused()
    for _ in names:
        page.keyboard.press("ArrowDown")
    expect(under_more(page).last).to_be_focused()
    page.keyboard.press("Escape")
    expect(more).to_be_focused()
    expect(under_more(page)).to_have_count(0)
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{CLUSTER}people/")


def test_more_needs_no_script(browser: Browser, console: Console) -> None:
    context = browser.new_context(viewport={"width": PHONE[0], "height": PHONE[1]}, java_script_enabled=False)
    context.add_cookies([{"name": "sessionid", "value": session_of(console, "ada"), "url": console.url}])
    page = context.new_page()
    page.goto(console.url + CLUSTER)
    page.locator("#tabs summary").click()
    page.locator("#tabs .list").get_by_role("link", name="Users & keys").click()
    expect(page.locator("#tabs > [aria-current=page]")).to_have_text("Users & keys")
    context.close()
