"""The terminal's page in a real browser: what a person types, sees and gets back."""

import re
import signal
import time

import pytest
from playwright.sync_api import expect

from clusters.lifecycle import Status
from clusters.models import Cluster
from console.models import Membership
from console.roles import Role
from tests.slurm.terminal.conftest import Console, TabOf
from tests.slurm.terminal.tab import PHONE, WIDE, Tab


def test_typing_a_sum_shows_its_answer(tab: Tab) -> None:
    tab.expect_state("Connected")
    tab.type("echo $((6*7))")
    tab.wait_for("^42$")


def test_reload_shows_the_same_shell_with_what_it_printed(tab: Tab) -> None:
    tab.expect_state("Connected")
    tab.type("here=again; seq 3")
    tab.wait_for("^3$")
    tab.page.reload()
    tab.expect_state("Connected")
    tab.wait_for("^3$")
    tab.type("echo once-$here")
    tab.wait_for("^once-again$")


def test_killed_web_process_loses_nothing_on_the_screen(tab: Tab, console: Console) -> None:
    tab.expect_state("Connected")
    tab.type("seq 3; sleep 1; echo wh''ile-away")
    tab.wait_for("^3$")
    console.kill("web", signal.SIGKILL)
    tab.expect_state("Reconnecting")
    console.start("web")
    tab.expect_state("Connected")
    tab.wait_for("^while-away$")
    assert tab.shown.count("\n3\n") == 1


def test_window_s_size_reaches_the_shell(tab: Tab) -> None:
    tab.expect_state("Connected")
    before = tab.size
    tab.page.set_viewport_size({"width": 900, "height": 600})
    smaller = tab.size_after(before)
    tab.type("stty size")
    tab.wait_for(f"^{smaller}$")
    tab.page.locator("[data-act=larger]").click()
    larger = tab.size_after(smaller)
    tab.type("stty size")
    tab.wait_for(f"^{larger}$")


def test_search_finds_and_counts(tab: Tab) -> None:
    tab.expect_state("Connected")
    tab.type("printf 'needle\\n%.0s' 1 2 3")
    tab.wait_for("^needle$")
    tab.page.keyboard.press("Control+Shift+F")
    tab.page.locator(".terminal-search input").fill("needle")
    expect(tab.page.locator(".terminal-search span")).to_have_text(re.compile(r"^\d of 4$"))
    tab.page.keyboard.press("Escape")
    tab.type("echo still-typing")
    tab.wait_for("^still-typing$")


def test_ended_shell_offers_a_new_one(tab: Tab) -> None:
    tab.expect_state("Connected")
    tab.type("exit 4")
    tab.expect_state("Ended")
    expect(tab.page.locator(".terminal-strip")).to_contain_text("The shell ended with status 4.")
    tab.page.keyboard.press("Enter")
    tab.expect_state("Connected")
    tab.type("echo anew")
    tab.wait_for("^anew$")


def test_removed_member_is_cut_off_with_the_reason(tab: Tab) -> None:
    tab.expect_state("Connected")
    Membership.objects.filter(user__username="mo").update(role=Role.VIEWER)
    tab.expect_state("Not connected", within_s=6)
    expect(tab.page.locator(".terminal-strip")).to_contain_text("you need to be member")


def test_removed_member_s_terminal_closes_within_five_seconds(tab: Tab, tab_of: TabOf) -> None:
    tab.expect_state("Connected")
    admin = tab_of("ada", "/t/research/members/removal/?name=mo").page
    admin.get_by_role("button", name="Remove").click()
    admin.wait_for_url("**/members/")
    began = time.monotonic()
    tab.expect_state("Not connected", within_s=5)
    assert time.monotonic() - began < 5
    expect(tab.page.locator(".terminal-strip")).to_contain_text("There is no team research here")


def test_reload_after_the_end_says_why_over_a_new_terminal(tab: Tab) -> None:
    tab.expect_state("Connected")
    tab.type("sleep 0.5; exit 7")
    tab.page.goto("about:blank")
    tab.page.wait_for_timeout(1500)
    tab.page.go_back()
    tab.expect_state("Connected")
    expect(tab.page.locator(".terminal-strip")).to_contain_text(
        "The shell ended with status 7. This is a new one."
    )


def test_terminal_opens_by_itself_when_the_cluster_is_up(tab: Tab, cluster: Cluster) -> None:
    tab.expect_state("Connected")
    Cluster.objects.filter(pk=cluster.pk).update(status=Status.CREATING)
    tab.type("exit")
    tab.expect_state("Ended")
    tab.page.get_by_role("button", name="New terminal").click()
    tab.expect_state("Reconnecting")
    expect(tab.page.locator(".terminal-strip")).to_contain_text("still being created")
    Cluster.objects.filter(pk=cluster.pk).update(status=Status.RUNNING)
    tab.expect_state("Connected")
    expect(tab.page.locator(".terminal-strip")).to_be_hidden()


def test_page_that_answers_old_questions_types_nothing(tab: Tab) -> None:
    """A program asked where the cursor is; drawn again, the screen must not answer into the shell."""
    tab.expect_state("Connected")
    tab.type("printf '\\033[6n'; read -rsd R -t 1; echo asked; exec bash --norc -i")
    tab.wait_for("^asked$")
    tab.page.reload()
    tab.expect_state("Connected")
    tab.type("echo clean")
    tab.wait_for("^clean$")
    assert ";1R" not in tab.shown and "R: command" not in tab.shown


@pytest.mark.parametrize("tab", [WIDE, PHONE], indirect=True)
def test_axe_finds_nothing_serious(tab: Tab) -> None:
    tab.expect_state("Connected")
    assert tab.serious("#terminal") == []


@pytest.mark.parametrize("tab", [PHONE], indirect=True)
def test_phone_has_the_keys_that_its_keyboard_lacks(tab: Tab) -> None:
    tab.expect_state("Connected")
    tab.type("echo first")
    tab.wait_for("^first$")
    tab.page.keyboard.type("cat")
    tab.page.get_by_role("button", name="Ctrl").tap()
    tab.page.keyboard.type("u")
    tab.page.get_by_role("button", name="Up", exact=True).tap()
    tab.page.keyboard.press("Enter")
    tab.wait_for("^first$", times=2)
    assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("tab", [PHONE], indirect=True)
def test_ctrl_pressed_twice_holds_and_alt_puts_an_escape_before(tab: Tab) -> None:
    tab.expect_state("Connected")
    tab.type("cat -v")
    ctrl = tab.page.get_by_role("button", name="Ctrl")
    ctrl.tap()
    ctrl.tap()
    tab.page.keyboard.type("ab")
    ctrl.tap()
    tab.page.get_by_role("button", name="Alt").tap()
    tab.page.keyboard.type("xy")
    tab.page.get_by_role("button", name="Alt").tap()
    tab.page.get_by_role("button", name="Left").tap()
    tab.page.keyboard.press("Enter")
    tab.wait_for(r"^\^A\^B\^\[xy\^\[\[1;3D$")


@pytest.mark.parametrize("tab", [PHONE], indirect=True)
def test_terminal_and_its_keys_stay_above_a_phone_s_keyboard(tab: Tab) -> None:
    """No emulation shows a keyboard: the browser's word for what it leaves to see is replaced."""
    tab.expect_state("Connected")
    before = tab.size
    tab.page.evaluate(
        "Object.defineProperty(visualViewport, 'height', {get: () => 430}); "
        "visualViewport.dispatchEvent(new Event('resize'))"
    )
    assert int(tab.size_after(before).split()[0]) > 8
    keys = tab.page.locator(".terminal-keys").bounding_box()
    assert keys and keys["y"] + keys["height"] <= 430
    tab.type("echo se''en")
    tab.wait_for("^seen$")


def test_last_seconds_are_counted_down_and_a_key_stops_that(tab_of: TabOf, console: Console) -> None:
    restart_worker(console, idle_s="16")
    try:
        tab = tab_of("mo")
        tab.expect_state("Connected")
        strip = tab.page.locator(".terminal-strip")
        expect(strip).to_contain_text("Press a key to keep this terminal", timeout=20_000)
        first, second = clock_of(tab), ""
        while not second or second == first:
            tab.page.wait_for_timeout(250)
            second = clock_of(tab)
        assert re.fullmatch(r"0:0\d", first) and second < first
        tab.type("echo st''ill-here")
        expect(strip).to_be_hidden()
        tab.wait_for("^still-here$")
        tab.expect_state("Ended", within_s=40)
        expect(strip).to_contain_text("Nothing was typed for 16 seconds.")
    finally:
        restart_worker(console)


def clock_of(tab: Tab) -> str:
    return tab.page.locator(".terminal-strip time").inner_text()


def restart_worker(console: Console, idle_s: str = "") -> None:
    console.environment.pop("QUARTERDECK_TERMINAL_IDLE", "")
    if idle_s:
        console.environment["QUARTERDECK_TERMINAL_IDLE"] = idle_s
    console.kill("terminals", signal.SIGTERM)
    console.start("terminals")
