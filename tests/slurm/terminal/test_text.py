"""What goes through a terminal's screen in a browser: pastes, clipboards, links, colours, characters, a long past."""

import re

import pytest
from playwright.sync_api import expect

from tests.slurm.terminal.tab import Tab

CLIPBOARD = ["clipboard-read", "clipboard-write"]
PASTE = """(text) => { const clipboardData = new DataTransfer(); clipboardData.setData("text/plain", text);
const how = {clipboardData, bubbles: true, cancelable: true};
document.activeElement.dispatchEvent(new ClipboardEvent("paste", how)); }"""
CELL = """([row, column]) => { const b = document.getElementById("terminal").terminal.buffer.active;
const c = b.getLine(row).getCell(column); return [c.getChars(), c.getWidth(), c.isFgRGB(), c.getFgColor()]; }"""


def line_of(tab: Tab, pattern: str) -> int:
    tab.wait_for(pattern)
    lines = tab.shown.split("\n")
    return next(at for at, line in enumerate(lines) if re.search(pattern, line))


def copied(tab: Tab) -> str:
    return str(tab.page.evaluate("navigator.clipboard.readText()"))


def wait_copied(tab: Tab, text: str) -> None:
    for _ in range(100):
        if copied(tab) == text:
            return
        tab.page.wait_for_timeout(50)
    raise AssertionError(f"{text} was not copied but {copied(tab)}")


def wants_copied(tab: Tab, text: str) -> None:
    """Have a program in the shell ask for the clipboard."""
    tab.type(f"printf '\\033]52;c;%s\\a' $(printf %s '{text}' | base64)")


def test_paste_of_a_line_is_typed_and_of_many_is_asked_about(tab: Tab) -> None:
    tab.expect_state("Connected")
    tab.page.evaluate(PASTE, "echo on''e")
    tab.page.keyboard.press("Enter")
    tab.wait_for("^one$")
    tab.page.evaluate(PASTE, "echo tw''o\necho thr''ee\n")
    dialog = tab.page.get_by_role("dialog", name="Paste 2 lines?")
    expect(dialog.locator("pre")).to_have_text("echo tw''o\necho thr''ee")
    assert "two" not in tab.shown
    dialog.get_by_role("button", name="Paste", exact=True).click()
    tab.page.keyboard.press("Enter")
    tab.wait_for("^three$")


def test_refused_paste_types_nothing_and_the_shell_goes_on(tab: Tab) -> None:
    tab.expect_state("Connected")
    tab.page.evaluate(PASTE, "touch a\nrm -rf b\n")
    tab.page.get_by_role("button", name="Cancel").click()
    tab.type("echo cle''an")
    tab.wait_for("^clean$")
    assert "touch" not in tab.shown


def test_pasted_as_one_line_it_waits_for_enter(tab: Tab) -> None:
    tab.expect_state("Connected")
    tab.page.evaluate(PASTE, "echo a\n  b\nc")
    tab.page.get_by_role("button", name="Paste as one line").click()
    tab.page.keyboard.press("Enter")
    tab.wait_for("^a b c$")


def test_pasted_escape_cannot_leave_the_brackets(tab: Tab) -> None:
    tab.expect_state("Connected")
    tab.type(r"printf '\033[?2004hbracketed\n'; cat -v")
    tab.wait_for("^bracketed$")
    tab.page.evaluate(PASTE, "safe\x1b[201~\x1b[Aun\x9bsafe")
    tab.page.keyboard.press("Enter")
    tab.wait_for(r"^\^\[\[200~safe\[201~\[Aunsafe\^\[\[201~$")


def test_program_s_copy_needs_consent_and_reading_is_never_answered(tab: Tab) -> None:
    tab.page.context.grant_permissions(CLIPBOARD)
    tab.expect_state("Connected")
    tab.page.evaluate("navigator.clipboard.writeText('mine')")
    wants_copied(tab, "grüße")
    strip = tab.page.locator(".terminal-strip")
    expect(strip).to_contain_text("asks for it, with 5 characters: grüße")
    assert copied(tab) == "mine"
    strip.get_by_role("button", name="No").click()
    assert copied(tab) == "mine"
    wants_copied(tab, "grüße")
    strip.get_by_role("button", name="Always here").click()
    wait_copied(tab, "grüße")
    wants_copied(tab, "more")
    wait_copied(tab, "more")
    tab.type("printf '\\033]52;c;?\\a'; read -rst 1 ANSWER; echo got-${#ANSWER}")
    tab.wait_for("^got-0$")


def test_link_opens_beside_without_a_way_back(tab: Tab) -> None:
    tab.expect_state("Connected")
    origin = tab.page.url.split("/t/")[0]
    tab.type(f"clear; printf '%s\\n' {origin}/healthz javascript:alert")
    tab.wait_for("^javascript:alert$")
    screen = tab.page.locator(".xterm-screen").bounding_box()
    rows = int(tab.size.split()[0])
    assert screen
    height = screen["height"] / rows
    with tab.page.context.expect_page() as opened:
        tab.page.mouse.move(screen["x"] + 60, screen["y"] + line_of(tab, "^http") * height + height / 2)
        tab.page.wait_for_timeout(200)
        tab.page.mouse.down()
        tab.page.mouse.up()
    opened.value.wait_for_load_state()
    assert opened.value.url == f"{origin}/healthz"
    assert opened.value.evaluate("window.opener") is None


def test_true_colour_and_wide_characters(tab: Tab) -> None:
    tab.expect_state("Connected")
    tab.type(r"printf '\033[38;2;18;52;86mtrue\033[0m\n👍|漢|é\n'")
    assert tab.page.evaluate(CELL, [line_of(tab, "^true$"), 0]) == ["t", 1, True, 0x123456]
    row = line_of(tab, r"^👍\|")
    widths = [tab.page.evaluate(CELL, [row, column])[:2] for column in (0, 2, 3, 5, 6)]
    assert widths == [["👍", 2], ["|", 1], ["漢", 2], ["|", 1], ["é", 1]]


def test_fifty_thousand_lines_are_kept(tab: Tab) -> None:
    tab.expect_state("Connected")
    tab.type("seq 60000; echo al''l")
    for _ in range(300):
        if tab.page.evaluate("terminal.terminal.buffer.active.length") >= 50_000:
            break
        tab.page.wait_for_timeout(100)
    tab.wait_for("^all$")
    tab.wait_for("^11000$")


@pytest.mark.parametrize(
    ("pasted", "shown"), [("a\rb", "echo a\nb"), ("a\r\nb", "echo a\nb")], ids=["mac", "windows"]
)
def test_other_line_ends_are_lines_too(tab: Tab, pasted: str, shown: str) -> None:
    tab.expect_state("Connected")
    tab.page.evaluate(PASTE, f"echo {pasted}")
    expect(tab.page.get_by_role("dialog").locator("pre")).to_have_text(shown)
