"""Dialogs in Chromium, each opened from a page that offers it: focus goes in, Escape leaves, and focus comes back.

What each then does is told where its subject is.
"""

import re
import time
from collections.abc import Callable
from importlib import import_module
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.urls import resolve
from playwright.sync_api import Locator, Page, expect

from console.admission import CONFIRMED
from tests.browser.conftest import PHONE, WIDE, Console
from tests.browser.lived_in import ask_again, keep_keys_and_tokens, live_in
from tests.browser.test_accounts import hands as hands

TEAM = "/t/research/"
CLUSTER = f"{TEAM}c/llama-pretrain/"
PAGES = (
    f"{CLUSTER}changes/1/",  # before a change asks, or nothing can be rolled back to
    CLUSTER,
    f"{CLUSTER}nodes/",
    f"{CLUSTER}partitions/",
    f"{CLUSTER}jobs/",
    f"{CLUSTER}volumes/",
    f"{CLUSTER}users/",
    f"{CLUSTER}people/",
    f"{CLUSTER}scripts/",
    f"{CLUSTER}changes/4/",
    f"{TEAM}c/old-sweeps/",
    f"{TEAM}volumes/",
    f"{TEAM}members/",
    f"{TEAM}recordings/",
    "/teams/",
    "/regions/lab/",
    "/profile/",
)
# Over recorded answers of sacctmgr.
ACCOUNTS = tuple(
    f"{CLUSTER}accounting/{page}" for page in ("accounts/", "accounts/llm/", "users/", "qos/", "dump/")
)
OPENERS = "[hx-get][hx-target='#dialog']:not([aria-disabled=true])"
# By the names of their routes: those of a cluster's life, which must be among what the pages offer.
ESSENTIAL = {
    "scale",
    "upgrade",
    "reconfigure",
    "restart",
    "terminate",
    "delete",
    "rollback",
    "change-confirmation",
    "change-cancellation",
    "script-revert",
    "login-settings",
    "login-new",
    "login-edit",
    "login-removal",
    "cluster-key-new",
    "cluster-key-removal",
    "ssh-key-new",
    "ssh-key-removal",
    "mount-new",
    "mount-removal",
    "volume-new",
    "volume-growth",
    "volume-name",
    "volume-deletion",
    "node-drain",
    "node-resume",
    "node-reboot",
    "partition-new",
    "partition-edit",
    "partition-deletion",
    "job-cancellation",
    "grant-give",
    "account-new",
    "qos-new",
}
Look = Callable[..., Page]
pytestmark = pytest.mark.timeout(600)


@pytest.mark.parametrize(("size", "theme"), [(WIDE, "light"), (PHONE, "dark")], ids=["wide", "phone"])
def test_every_dialog_takes_the_focus_and_gives_it_back(
    look: Look,
    console: Console,
    request: pytest.FixtureRequest,
    size: tuple[int, int],
    theme: str,
) -> None:
    cluster = live_in(console.made)
    keep_keys_and_tokens(console.made)
    console.made.users["ada"].is_staff = True
    console.made.users["ada"].save()
    page, opened = look(CLUSTER, size=size, theme=theme), set[str]()
    _confirm_person(page)
    for path in PAGES + ACCOUNTS:
        if path == f"{CLUSTER}changes/4/":
            ask_again(cluster)
        if path == ACCOUNTS[0]:
            request.getfixturevalue("hands")
        page.goto(console.url + path)
        _select_rows(page)
        for opener in page.locator(OPENERS).all():
            name = resolve(urlsplit(opener.get_attribute("hx-get") or "").path).url_name or ""
            if name not in opened and _can_be_pressed(opener):
                opened.add(name)
                _open_and_leave(page, opener, name)
    assert opened >= ESSENTIAL, ESSENTIAL - opened


def _open_and_leave(page: Page, opener: Locator, name: str) -> None:
    dialog = page.locator("dialog#dialog")
    menu = opener.locator("xpath=ancestor::details[contains(@class, 'qd-menu')]/summary")
    if menu.count():
        menu.click()
    opener.click()
    expect(dialog, name).to_be_visible()
    expect(dialog.locator("h1"), name).not_to_have_text(
        re.compile("^(Not here|Not allowed|Not now|No answer|)$")
    )
    assert page.evaluate("document.querySelector('#dialog .dlg-body').contains(document.activeElement)"), name
    assert dialog.locator(".dlg-body").evaluate("box => box.scrollWidth <= box.clientWidth"), (
        f"{name} is too wide"
    )
    page.keyboard.press("Escape")
    expect(dialog, name).to_be_hidden()
    expect(menu if menu.count() else opener, name).to_be_focused()


def _confirm_person(page: Page) -> None:
    """As one who has just signed in: factors are not offered to others."""
    [key] = [one["value"] for one in page.context.cookies() if one["name"] == "sessionid"]
    session = import_module(settings.SESSION_ENGINE).SessionStore(key)
    session[CONFIRMED] = time.time()
    session.save()


def _select_rows(page: Page) -> None:
    """What acts on chosen rows can be pressed then."""
    box = page.locator("table[data-select] tbody .pick input").first
    if box.count():
        box.check()


def _can_be_pressed(opener: Locator) -> bool:
    inside = opener.locator("xpath=ancestor::details[contains(@class, 'qd-menu')]")
    return opener.is_enabled() and (opener.is_visible() or inside.locator("summary").is_visible())
