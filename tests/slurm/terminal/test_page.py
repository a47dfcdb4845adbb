"""The terminal's page in a real browser: what a person types, sees and gets back."""

import re
import signal
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from clusters.lifecycle import Status
from clusters.models import Cluster
from console.models import Membership
from console.roles import Role
from tests.slurm.terminal.conftest import ROOT, Console, session_of

# What the screen shows, line by line, from xterm's own buffer.
SHOWN = """() => { const b = document.getElementById("terminal").terminal.buffer.active;
return Array.from({length: b.length}, (_, i) => b.getLine(i).translateToString(true)).join("\\n").trimEnd(); }"""
WIDE, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}


class Tab:
    """A browser tab of one person at the terminal's page. Fails at the end if the page complained of anything."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.complaints: list[str] = []
        self.page: Page = context.new_page()
        self.page.on("console", lambda said: said.type == "error" and self.complaints.append(said.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(url)

    def expect_state(self, word: str, within_s: float = 10) -> None:
        expect(self.page.locator(".terminal-state")).to_have_text(word, timeout=within_s * 1000)

    def type(self, text: str) -> None:
        self.page.keyboard.type(text)
        self.page.keyboard.press("Enter")

    def wait_for(self, pattern: str, times: int = 1) -> None:
        """Until that many lines match. Polled from here: the page's policy lets nobody evaluate strings in it."""
        for _ in range(200):
            if len(re.findall(pattern, self.shown, re.MULTILINE)) >= times:
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"no {pattern} in:\n{self.shown}")

    @property
    def size(self) -> str:
        return str(self.page.evaluate("[terminal.terminal.rows, terminal.terminal.cols].join(' ')"))

    def size_after(self, before: str) -> str:
        """The size once it is another and has come to rest: fitting follows the window with a delay."""
        last = before
        for _ in range(60):
            self.page.wait_for_timeout(150)
            now = self.size
            if now == last != before:
                return now
            last = now
        raise AssertionError(f"the terminal stayed at {before}")

    @property
    def shown(self) -> str:
        return str(self.page.evaluate(SHOWN))


@pytest.fixture
def tab(browser: Browser, console: Console, request: pytest.FixtureRequest) -> Iterator[Tab]:
    wide = getattr(request, "param", WIDE) is WIDE
    context = browser.new_context(viewport=WIDE if wide else PHONE, has_touch=not wide)
    context.add_cookies([{"name": "sessionid", "value": session_of("mo"), "url": console.url}])
    tab = Tab(context, f"{console.url}/t/research/c/demo/terminal/")
    yield tab
    context.close()
    unexpected = [text for text in tab.complaints if not re.search("WebSocket|ERR_CONNECTION_REFUSED", text)]
    assert unexpected == []


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
    tab.page.evaluate((ROOT / "static/vendor/axe/axe.min.js").read_text())
    found = tab.page.evaluate(
        "axe.run('#terminal', {preload: false}).then(r => r.violations.map(v => [v.impact, v.id, v.nodes[0].html]))"
    )
    tab.complaints.clear()  # of axe itself, which styles elements
    assert [each for each in found if each[0] in ("serious", "critical")] == []


@pytest.mark.parametrize("tab", [PHONE], indirect=True)
def test_phone_has_the_keys_that_its_keyboard_lacks(tab: Tab) -> None:
    tab.expect_state("Connected")
    tab.type("echo first")
    tab.wait_for("^first$")
    tab.page.keyboard.type("cat")
    tab.page.get_by_role("button", name="Ctrl").tap()
    tab.page.keyboard.type("u")
    tab.page.get_by_role("button", name="Up").tap()
    tab.page.keyboard.press("Enter")
    tab.wait_for("^first$", times=2)
    assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
