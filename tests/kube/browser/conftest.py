"""One console beside the rig and the double, and one Chromium, for the story of `test_slinky_console`."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.demo.png import with_palette
from tests.demo.screens import still
from tests.demo.tab import PageOf, People, Tab, pages_of
from tests.kube.browser.console import SlinkyConsole
from tests.kube.double.operator import Double

# A console that just started, beside a Kubernetes and a Slurm, is in no hurry.
PATIENCE_MS = 30_000
SCREENS, RUNNING = "SLINKY_SCREENS", "SLINKY_VAR"


class PatientPeople(People):
    def tab(self, name: str = "", size: str = "wide", scheme: str = "light") -> Tab:
        tab = super().tab(name, size, scheme)
        tab.page.context.set_default_timeout(PATIENCE_MS)
        return tab


@pytest.fixture(scope="package", autouse=True)
def patience() -> Iterator[None]:
    expect.set_options(timeout=PATIENCE_MS)
    yield
    expect.set_options(timeout=10_000)


@pytest.fixture(scope="package")
def operator(request: pytest.FixtureRequest) -> Double | None:
    """The double; none beside a console that runs already, as one runs there too (`python -m tests.kube`)."""
    return None if os.environ.get(RUNNING) else request.getfixturevalue("double")


@pytest.fixture(scope="package")
def console() -> Iterator[SlinkyConsole]:
    yield from SlinkyConsole.for_tests(RUNNING)


@pytest.fixture(scope="package")
def people(browser: Browser, console: SlinkyConsole) -> People:
    return PatientPeople(browser, console)


@pytest.fixture
def page_of(people: People) -> Iterator[PageOf]:
    yield from pages_of(people)


@pytest.fixture
def picture() -> Callable[[Tab, str], None]:
    """`picture(tab, "region")`: light and dark, into the directory that SLINKY_SCREENS names; nothing without it."""

    def take(tab: Tab, name: str) -> None:
        if not (where := os.environ.get(SCREENS)):
            return
        for scheme in ("light", "dark"):
            tab.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            still(tab.page)
            shot = with_palette(tab.page.screenshot(animations="disabled", caret="hide"))
            Path(where, f"{name}-{scheme}.png").write_bytes(shot)
        tab.page.emulate_media(color_scheme="light")

    return take
