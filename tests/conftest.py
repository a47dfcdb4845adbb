"""What all tests may use. PostgreSQL and Redis are the business of `tests.own_services`, a plugin loaded earlier."""

import os
import shutil

import pytest


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """The browser that Playwright drives: `launch(executable_path=chromium_path)`."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    assert found, "no Chromium: `make test` installs it, or set CHROMIUM to one"
    return found
