"""What all tests may use. PostgreSQL and Redis are the business of `tests.own_services`, a plugin loaded earlier."""

import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.dispatch import receiver
from playwright.sync_api import Browser, sync_playwright
from pytest_django import DjangoDbBlocker

KUBE = Path(__file__).parent / "kube"
FLAGS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests come last: from its first use Playwright keeps an event loop in this thread, beside which no test
    could run one of its own. Before them come those of Kubernetes, which is being built beside the first tests.
    """
    items.sort(key=lambda item: ("browser" in getattr(item, "fixturenames", ()), KUBE in item.path.parents))


@pytest.fixture(autouse=True)
def umask_stays() -> Iterator[None]:
    """What a test leaves behind in its process meets every later test: daemons under another user could not even find
    their programs.
    """
    before = _umask()
    yield
    assert _umask() == before


def _umask() -> str:
    [line] = [
        line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("Umask:")
    ]
    return line


@receiver(connection_created)
def _let_others_give_way(connection: BaseDatabaseWrapper, **kwargs: object) -> None:
    """Emptying all tables after a test may meet a console of the tests that still reads: that one is to be refused, and
    the one that notices a deadlock first is. A console's connections are of other threads than the tests' own.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    with connection.cursor() as cursor:
        cursor.execute("SET deadlock_timeout = '30s'")


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> None:
    """Tests that commit clear every table afterwards, which the audit trail refuses like any other deletion."""
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute("ALTER TABLE console_event DISABLE TRIGGER events_stay")


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """The browser that Playwright drives: `launch(executable_path=chromium_path)`."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    assert found, "no Chromium: `make test` installs it, or set CHROMIUM to one"
    return found


@pytest.fixture(scope="session")
def browser(chromium_path: str) -> Iterator[Browser]:
    """The one Chromium of a test run; each test opens contexts of its own in it."""
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        # Django suspects every query beside Playwright's event loop of blocking it.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        chromium = playwright.chromium.launch(executable_path=chromium_path, args=FLAGS)
        yield chromium
        chromium.close()
