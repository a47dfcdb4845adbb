"""One demo console and one Chromium for all tests here; a fresh tab for each that asks. Slow to start, so shared:
tests put back what they change.
"""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.demo.console import DemoConsole
from tests.demo.tab import PageOf, People, pages_of

expect.set_options(timeout=10_000)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Only known when this directory is named on the command line, as `make screens` does."""
    parser.addoption("--screens", default="docs/screens", help="the directory to put the pictures into")


@pytest.fixture(scope="package")
def console() -> Iterator[DemoConsole]:
    yield from DemoConsole.for_tests("DEMO_VAR")


@pytest.fixture(scope="package")
def people(browser: Browser, console: DemoConsole) -> People:
    return People(browser, console)


@pytest.fixture
def page_of(people: People) -> Iterator[PageOf]:
    yield from pages_of(people)


@pytest.fixture(params=["wide", "phone"])
def size(request: pytest.FixtureRequest) -> str:
    return str(request.param)
