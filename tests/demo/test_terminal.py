"""The terminal of the demo: a real shell on the login node, in which Slurm's own commands work."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.demo.console import DemoConsole, until
from tests.demo.tab import PageOf, Tab

# What the screen shows, line by line, from xterm's own buffer; a line that was wrapped is one line.
SHOWN = """() => { const b = document.getElementById("terminal").terminal.buffer.active;
return Array.from({length: b.length}, (_, i) => b.getLine(i))
  .reduce((text, line) => text + (line.isWrapped ? "" : "\\n") + line.translateToString(true), ""); }"""
SIZE = "() => { const t = document.getElementById('terminal').terminal; return `${t.rows} ${t.cols}`; }"


class Shell:
    """A tab at the terminal's page."""

    def __init__(self, tab: Tab) -> None:
        self.tab = tab.open("terminal/")
        self.expect_connected()

    def expect_connected(self) -> None:
        expect(self.tab.page.locator(".terminal-state")).to_have_text("Connected", timeout=15_000)

    def run(self, line: str) -> None:
        self.tab.page.keyboard.type(line)
        self.tab.page.keyboard.press("Enter")

    def see(self, pattern: str, within_s: float = 15) -> re.Match[str]:
        """Wait until a line fits and return it."""
        until(lambda: re.search(pattern, self.shown, re.MULTILINE), f"{pattern} is shown", within_s=within_s)
        found = re.search(pattern, self.shown, re.MULTILINE)
        assert found
        return found

    @property
    def shown(self) -> str:
        return str(self.tab.page.evaluate(SHOWN))


@pytest.fixture
def shell(page_of: PageOf, size: str) -> Iterator[Shell]:
    yield Shell(page_of("mo", size))


def test_slurm_s_commands_work_in_it(shell: Shell, console: DemoConsole) -> None:
    shell.run("clear; sinfo -h -o '%R %D' -p slinky")
    shell.see("^slinky 4$")
    shell.run("cd /shared; sbatch -p cpu-workers -J trial-shell -t 5 --wrap 'echo $((6*7))'")
    number = int(shell.see(r"^Submitted batch job (\d+)")[1])
    until(lambda: console.job(number).get("state") == "COMPLETED", "the job is done", within_s=30)
    shell.run(f"cat slurm-{number}.out")
    shell.see("^42$")
    shell.run(f"sacct -n -X -j {number} -o JobName%12,State")
    shell.see(r"^\s*trial-shell\s+COMPLETED")
    shell.run("srun -p cpu-workers -t 1 hostname; scontrol show job | grep -c JobId")
    shell.see(r"^\d+$", within_s=20)
    shell.tab.expect_sound()


def test_window_s_size_is_the_shell_s_size(page_of: PageOf) -> None:
    shell = Shell(page_of("mo"))
    shell.tab.page.set_viewport_size({"width": 950, "height": 640})
    until(lambda: shell.tab.page.evaluate(SIZE) != "24 80", "the screen is fitted")
    shell.tab.page.wait_for_timeout(300)
    shell.run("clear; stty size")
    shell.see(f"^{shell.tab.page.evaluate(SIZE)}$")


def test_refresh_comes_back_to_the_same_shell_with_what_it_printed(page_of: PageOf) -> None:
    shell = Shell(page_of("mo"))
    shell.run("clear; kept=still; echo before-$((1+1))")
    shell.see("^before-2$")
    shell.tab.page.reload()
    shell.expect_connected()
    shell.see("^before-2$")
    shell.run("echo $kept-here")
    shell.see("^still-here$")


def test_viewer_gets_no_terminal(page_of: PageOf) -> None:
    tab = page_of("kim").open("terminal/")
    tab.see("#page", "member")
    assert [text for text in tab.complaints if "403" not in text] == []
    tab.complaints.clear()
