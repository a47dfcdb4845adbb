"""A browser's tab of one person at the demo. It keeps what the page complained of, for the fixture to judge."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, expect

from tests.demo.console import ROOT, DemoConsole

SIZES = {"wide": (1280, 800), "phone": (390, 844)}
CLUSTER = "/t/research/c/demo/"
AXE = Path(ROOT, "static", "vendor", "axe", "axe.min.js")
# What a browser says by itself of a server that the test has stopped.
OF_A_LOST_CONNECTION = re.compile("ERR_CONNECTION|ERR_EMPTY_RESPONSE|WebSocket|status of 50[0-9]")


@dataclass
class Tab:
    page: Page
    url: str
    size: str
    complaints: list[str] = field(default_factory=list)
    may_lose_connection: bool = False

    def listen(self) -> None:
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on(
            "console",
            lambda said: (
                self.complaints.append(f"{said.text} ({said.location['url']})")
                if said.type == "error"
                else None
            ),
        )

    def open(self, path: str = "") -> "Tab":
        """A page of the demo's cluster, or any other when the path begins with a slash."""
        self.page.goto(self.url + (path if path.startswith("/") else CLUSTER + path))
        return self

    def see(self, what: str, text: str | re.Pattern[str], within_s: float = 10) -> Locator:
        """Wait until the element shows the text."""
        found = self.page.locator(what)
        expect(found).to_contain_text(text, timeout=within_s * 1000)
        return found

    def expect_live(self, within_s: float = 10) -> None:
        expect(self.page.locator("#live")).to_have_text("live", timeout=within_s * 1000)

    @property
    def dialog(self) -> Locator:
        return self.page.locator("dialog[open]")

    def row(self, key: str) -> Locator:
        return self.page.locator(f'tr[data-key="{key}"]')

    def expect_sound(self) -> None:
        """No serious finding of axe-core, and nothing wider than the screen."""
        before, found = len(self.complaints), serious_findings(self.page)
        # axe-core tries styles of its own, which the page's policy refuses, and says so a moment later.
        self.page.wait_for_timeout(150)
        self.complaints[before:] = [text for text in self.complaints[before:] if "inline style" not in text]
        assert found == [], "\n".join(found)
        wide = self.page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{self.page.url} is {wide} px wider than the screen"

    def unexpected(self) -> list[str]:
        return [
            text
            for text in self.complaints
            if not (self.may_lose_connection and OF_A_LOST_CONNECTION.search(text))
        ]


def serious_findings(page: Page) -> list[str]:
    """axe-core's serious and critical findings, one line each. Injected past the page's policy, which stays on."""
    page.evaluate(AXE.read_text() + "\n;0")
    page.evaluate("() => Promise.all(document.getAnimations().map((one) => one.finished.catch(() => 0)))")
    result = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{found['id']}: {node['html'][:160]} {node['failureSummary'][:200]}"
        for found in result["violations"]
        if found["impact"] in ("serious", "critical")
        for node in found["nodes"]
    ]


class People:
    """Signs each person in once, through the form, and opens tabs for them."""

    def __init__(self, browser: Browser, console: DemoConsole) -> None:
        self.browser = browser
        self.console = console
        self._sessions: dict[str, object] = {}

    def tab(self, name: str = "", size: str = "wide", scheme: str = "light") -> Tab:
        """A tab of its own context; nobody is signed in when no name is given."""
        width, height = SIZES[size]
        context = self.browser.new_context(
            viewport={"width": width, "height": height},
            has_touch=size == "phone",
            is_mobile=size == "phone",
            color_scheme=scheme,  # type: ignore[arg-type]
            reduced_motion="reduce",
            storage_state=self._session(name) if name else None,  # type: ignore[arg-type]
        )
        context.set_default_timeout(10_000)
        tab = Tab(context.new_page(), self.console.url, size)
        tab.listen()
        return tab

    def _session(self, name: str) -> object:
        if name not in self._sessions:
            tab = self.tab().open("/sign-in/")
            sign_in(tab.page, name, self.console.run["users"][name]["password"])
            tab.page.wait_for_url(re.compile("/t/research/"))
            self._sessions[name] = tab.page.context.storage_state()
            tab.page.context.close()
        return self._sessions[name]


def sign_in(page: Page, name: str, password: str) -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in", exact=True).click()


PageOf = Callable[..., Tab]


def pages_of(people: People) -> Iterator[PageOf]:
    """For a fixture: `page_of("ada", size="phone")` is a tab of this person. Fails the test when a page complained."""
    opened: list[Tab] = []

    def make(name: str = "", size: str = "wide", scheme: str = "light") -> Tab:
        opened.append(people.tab(name, size, scheme))
        return opened[-1]

    yield make
    for tab in opened:
        tab.page.context.close()
    complaints = [text for tab in opened for text in tab.unexpected()]
    assert complaints == [], complaints
