"""One demo console and one Chromium for all tests here; a fresh tab for each that asks. Slow to start, so shared:
tests put back what they change.
"""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.demo.console import DemoConsole, free_port
from tests.demo.tab import PageOf, People, Tab

expect.set_options(timeout=10_000)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Only known when this directory is named on the command line, as `make screens` does."""
    parser.addoption("--screens", default="docs/screens", help="the directory to put the pictures into")


@pytest.fixture(scope="package")
def console() -> Iterator[DemoConsole]:
    """`DEMO_VAR` names the var/ of a console that runs already, to try a test on; else one is started and stopped.

    Its directory may be passed through by others: as root, the database runs as another user.
    """
    if running := os.environ.get("DEMO_VAR"):
        yield DemoConsole.running_at(Path(running))
        return
    with tempfile.TemporaryDirectory(prefix="quarterdeck-demo-", ignore_cleanup_errors=True) as home:
        Path(home).chmod(0o711)
        made = DemoConsole(Path(home) / "var", free_port())
        try:
            made.start()
            yield made
        finally:
            made.stop()


@pytest.fixture(scope="package")
def people(browser: Browser, console: DemoConsole) -> People:
    return People(browser, console)


@pytest.fixture
def page_of(people: People) -> Iterator[PageOf]:
    """`page_of("ada", size="phone")`: a tab of this person. Fails the test when a page complained of anything."""
    opened: list[Tab] = []

    def make(name: str = "", size: str = "wide", scheme: str = "light") -> Tab:
        opened.append(people.tab(name, size, scheme))
        return opened[-1]

    yield make
    for tab in opened:
        tab.page.context.close()
    assert [text for tab in opened for text in tab.unexpected()] == []


@pytest.fixture(params=["wide", "phone"])
def size(request: pytest.FixtureRequest) -> str:
    return str(request.param)
