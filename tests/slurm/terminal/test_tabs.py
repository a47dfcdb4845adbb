"""Many terminals on one page: tabs, splits, their names, and what a reload brings back."""

import pytest
from playwright.sync_api import expect

from tests.slurm.terminal.tab import PHONE, Tab

TYPED = (
    "document.activeElement.closest('.terminal-pane') === document.querySelector('.terminal-pane[data-at]')"
)


def open_one(tab: Tab, button: str, word: str) -> None:
    """Press the button for another terminal and leave a word in its shell."""
    before = tab.page.locator(".terminal-pane").count()
    tab.page.get_by_role("button", name=button).click()
    expect(tab.page.locator(".terminal-pane")).to_have_count(before + 1)
    say(tab, word)


def say(tab: Tab, word: str) -> None:
    tab.expect_state("Connected")
    tab.wait_for("ready>")
    tab.type(f"word={word}; echo this-is-$word")
    tab.wait_for(f"^this-is-{word}$")


def test_reload_keeps_tabs_splits_and_names_and_reattaches_each(tab: Tab) -> None:
    say(tab, "one")
    open_one(tab, "Split to the right", "two")
    open_one(tab, "Split downwards", "three")
    open_one(tab, "Another terminal", "four")
    tab.page.keyboard.press("Control+Shift+M")
    tab.page.keyboard.press("F2")
    tab.page.keyboard.type("training")
    tab.page.keyboard.press("Enter")
    expect(tab.page.get_by_role("tab", name="training")).to_be_visible()
    tab.page.reload()
    tab.expect_state("Connected")
    expect(tab.page.get_by_role("tab")).to_have_count(2)
    expect(tab.page.get_by_role("tab", selected=True)).to_have_text("training")
    for word in ("four", "one", "two", "three"):
        tab.wait_for(f"^this-is-{word}$")
        tab.type("echo still-$word")
        tab.wait_for(f"^still-{word}$")
        tab.page.keyboard.press("Control+Shift+Period")


def test_splits_stand_beside_each_other_and_their_line_moves(tab: Tab) -> None:
    tab.expect_state("Connected")
    open_one(tab, "Split to the right", "two")
    left, right = (tab.page.locator(".terminal-pane").nth(n) for n in (0, 1))
    first, second = left.bounding_box(), right.bounding_box()
    assert first and second and abs(first["width"] - second["width"]) < 4 and first["y"] == second["y"]
    before = tab.size
    line = tab.page.get_by_role("separator")
    line.focus()
    for _ in range(4):
        line.press("ArrowLeft")
    tab.page.locator(".terminal-pane[data-at] .terminal-screen").click()
    wider = tab.size_after(before)
    assert int(wider.split()[1]) > int(before.split()[1])
    tab.type("stty size")
    tab.wait_for(f"^{wider}$")


def test_keys_of_the_page_open_switch_and_close(tab: Tab) -> None:
    say(tab, "one")
    tab.page.keyboard.press("Control+Shift+E")
    say(tab, "two")
    tab.page.keyboard.press("Control+Shift+L")
    say(tab, "three")
    tab.page.keyboard.press("Control+Shift+Comma")
    tab.wait_for("^this-is-two$")
    assert tab.page.evaluate(TYPED)
    tab.page.keyboard.press("Control+Shift+X")
    expect(tab.page.locator(".terminal-strip:visible")).to_contain_text("End this terminal?")
    tab.page.keyboard.press("Enter")
    expect(tab.page.locator(".terminal-pane")).to_have_count(2)
    tab.wait_for("^this-is-one$")
    tab.type("echo $word-goes-on")
    tab.wait_for("^one-goes-on$")


def test_keys_of_the_shell_stay_the_shell_s(tab: Tab) -> None:
    """Ctrl with a letter alone, function keys, Alt with a letter: none is the page's."""
    tab.expect_state("Connected")
    tab.type("cat -v")
    for key in ("Control+l", "Control+e", "Control+o", "F2", "Alt+f", "Control+ArrowLeft", "Delete"):
        tab.page.keyboard.press(key)
    tab.page.keyboard.press("Enter")
    tab.wait_for(r"^\^L\^E\^O\^\[OQ\^\[f\^\[\[1;5D\^\[\[3~$")


def test_closing_the_last_leaves_an_empty_page_that_says_so(tab: Tab) -> None:
    tab.expect_state("Connected")
    tab.type("exit")
    tab.expect_state("Ended")
    tab.page.get_by_role("button", name="Close", exact=True).click()
    expect(tab.page.locator(".terminal-none")).to_be_visible()
    expect(tab.page.locator(".terminal-state")).to_have_text("None open")
    tab.page.get_by_role("button", name="Another terminal").click()
    say(tab, "anew")


def test_no_more_are_opened_than_one_person_may_have(tab: Tab) -> None:
    tab.expect_state("Connected")
    another = tab.page.get_by_role("button", name="Another terminal")
    for _ in range(11):
        another.click()
    expect(another).to_have_attribute("aria-disabled", "true")
    tab.page.keyboard.press("Control+Shift+L")
    expect(tab.page.get_by_role("tab")).to_have_count(12)
    tab.expect_state("Connected")


def test_title_of_a_program_is_harmless_text(tab: Tab) -> None:
    tab.expect_state("Connected")
    tab.type(r"printf '\033]2;<b>bold</b> \342\200\256evil %s\a' $(printf x%.0s {1..200})")
    named = tab.page.get_by_role("tab", selected=True)
    expect(named).to_have_text("<b>bold</b> evil " + "x" * 42 + "…")
    assert tab.page.locator(".terminal-tabs b").count() == 0


@pytest.mark.parametrize("tab", [PHONE], indirect=True)
def test_phone_has_tabs_within_its_width(tab: Tab) -> None:
    say(tab, "one")
    open_one(tab, "Another terminal", "two")
    open_one(tab, "Split downwards", "three")
    assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    tab.page.get_by_role("tab").first.tap()
    tab.wait_for("^this-is-one$")
