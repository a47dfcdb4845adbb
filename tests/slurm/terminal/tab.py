"""A browser tab at the terminal's page: what one person types and sees."""

import re
from pathlib import Path

from playwright.sync_api import BrowserContext, Page, expect

# What the screen shows, line by line, from xterm's own buffer.
SHOWN = """() => { const b = document.getElementById("terminal").terminal.buffer.active;
return Array.from({length: b.length}, (_, i) => b.getLine(i).translateToString(true)).join("\\n").trimEnd(); }"""
AXE = Path(__file__).resolve().parents[3] / "static/vendor/axe/axe.min.js"
WIDE, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}


class Tab:
    """A browser tab of one person at the terminal's page. Fails at the end if the page complained of anything."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.complaints: list[str] = []
        self.page: Page = context.new_page()
        self.page.on("console", lambda said: said.type == "error" and self.complaints.append(said.text))
        self.page.on("pageerror", lambda error: self.complaints.append(f"{error} {error.stack}"))
        self.page.goto(url)

    def expect_sound(self) -> None:
        """Nothing was complained of but sockets that were cut."""
        expected = re.compile("WebSocket|ERR_CONNECTION_REFUSED")
        unexpected = [text for text in self.complaints if not expected.search(text)]
        assert not unexpected, unexpected

    def serious(self, selector: str) -> list[list[str]]:
        """What axe finds there, of what is serious or critical."""
        self.page.evaluate(AXE.read_text())
        found = self.page.evaluate(
            "s => axe.run(s, {preload: false}).then(r => r.violations.map(v => [v.impact, v.id, v.nodes[0].html]))",
            selector,
        )
        # Axe itself styles elements, which the page's policy complains of.
        self.complaints[:] = [text for text in self.complaints if "Content Security Policy" not in text]
        return [each for each in found if each[0] in ("serious", "critical")]

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
