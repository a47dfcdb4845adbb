"""Dialogs in Chromium, each opened from a page that offers it: focus goes in, Escape leaves, and focus comes back.

Every template of a dialog is opened here, or by the test that is named for it below. What each then does is told where
its subject is.
"""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.template import Context, Template
from django.test.signals import template_rendered
from django.urls import resolve
from playwright.sync_api import Locator, Page, expect

from clusters.models import Change
from console.admission import CONFIRMED
from tests.browser import test_accounts
from tests.browser.conftest import PHONE, WIDE, Console, session_of
from tests.browser.lived_in import (
    ask_again,
    keep_factors,
    keep_keys_and_tokens,
    live_in,
    trust_people,
    wait_for_jobs,
)
from tests.browser.test_accounts import hands as hands
from tests.slurm.recorded_accounts import Recorded
from tests.slurm.terminal import test_files_page, test_host_key

TEAM = "/t/research/"
CLUSTER = f"{TEAM}c/llama-pretrain/"
CHANGE = f"{CLUSTER}changes/4/"
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
    f"{CLUSTER}scripts/worker_prolog/",
    f"{CLUSTER}conf/",
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
# Links, and the buttons of the two editors that send their text to be looked at.
OPENERS = "[hx-get][hx-target='#dialog']:not([aria-disabled=true]), form[hx-target='#dialog'] button.primary:enabled"
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


@dataclass(frozen=True)
class Onward:
    """A dialog that opens from another's button: what is typed into fields of these labels first, and the template."""

    button: str
    template: str
    typed: dict[str, str] = field(default_factory=dict)


# By the names of the routes that they go on from.
ONWARD = {
    "token-new": Onward("Make it", "console/token_made.html", {"What it is for": "weekly report"}),
    "invitation-new": Onward("Make the link", "console/invitation_made.html"),
    "recovery-codes": Onward("Make them", "console/codes_made.html"),
    "account-new": Onward("Preview", "slurm/account_preview.html", {"Name": "bio"}),
}
# Also in Chromium: those that need a login node, beside a real one, and one that a silent controller leads to, of which
# the browser itself complains.
ELSEWHERE = {
    "slurm/account_again.html": test_accounts.test_what_was_typed_outlives_a_silence,
    "slurm/file_text.html": test_files_page.test_folders_are_walked_and_a_hostile_file_is_read_as_text,
    "slurm/file_folder.html": test_files_page.test_new_folder_rename_and_deletion_by_keyboard,
    "slurm/file_rename.html": test_files_page.test_new_folder_rename_and_deletion_by_keyboard,
    "slurm/file_delete.html": test_files_page.test_new_folder_rename_and_deletion_by_keyboard,
    "slurm/host_key.html": test_host_key.test_admin_compares_and_accepts_in_the_browser,
}
TEMPLATES = Path(settings.BASE_DIR, "templates")
REFUSAL = re.compile("^(Not here|Not allowed|Not now|No answer|)$")
Look = Callable[..., Page]
pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def rendered() -> Iterator[set[str]]:
    """Names of the templates that were answered into a page's dialog so far."""
    names: set[str] = set()

    def note(template: Template, context: Context, **_: object) -> None:
        if context.get("base") == "dialog.html":
            names.add(str(template.name))

    template_rendered.connect(note)
    yield names
    template_rendered.disconnect(note)


@pytest.mark.parametrize(("size", "theme"), [(WIDE, "light"), (PHONE, "dark")], ids=["wide", "phone"])
def test_every_dialog_takes_the_focus_and_gives_it_back(
    look: Look,
    console: Console,
    request: pytest.FixtureRequest,
    rendered: set[str],
    size: tuple[int, int],
    theme: str,
) -> None:
    cluster = live_in(console.made)
    keep_keys_and_tokens(console.made)
    keep_factors(console.made)
    trust_people(console.made)
    console.made.users["ada"].is_staff = True
    console.made.users["ada"].save()
    page, opened = look(CLUSTER, size=size, theme=theme), set[str]()
    home = _by_name(console, page)
    for path in PAGES:
        _open_all(page, home + path, opened)
    change = ask_again(cluster)
    _open_all(page, home + CHANGE, opened)
    wait_for_jobs(change)
    _open_all(page, home + CHANGE, opened)
    _be_refused(page, change)
    hands: Recorded = request.getfixturevalue("hands")
    hands.enforce = "none"
    for path in ACCOUNTS:
        _open_all(page, home + path, opened)
    assert opened >= ESSENTIAL, ESSENTIAL - opened
    assert rendered.isdisjoint(ELSEWHERE), "no longer elsewhere"
    missed = dialogs() - rendered - ELSEWHERE.keys()
    assert not missed, (
        "no page of the seed offers these: say how to get to them, here or in tests.browser.lived_in"
    )


def dialogs() -> set[str]:
    """Every template that may be a page's dialog: it fills the heading of whatever frame it gets."""
    found = {str(path.relative_to(TEMPLATES)) for path in TEMPLATES.rglob("*.html") if _is_dialog(path)}
    assert found >= ELSEWHERE.keys(), "gone: take it out of ELSEWHERE"
    return found


def _is_dialog(path: Path) -> bool:
    text = path.read_text()
    return re.match(r"{% extends base\b", text) is not None and "{% block heading %}" in text


def _by_name(console: Console, page: Page) -> str:
    """The console's address with a name in it, for which a browser keeps passkeys, and Ada as one who has just signed
    in there: factors are not offered to others."""
    home, key = console.url.replace("127.0.0.1", "localhost"), session_of(console, "ada")
    page.context.add_cookies([{"name": "sessionid", "value": key, "url": home}])
    session = import_module(settings.SESSION_ENGINE).SessionStore(key)
    session[CONFIRMED] = time.time()
    session.save()
    return home


def _open_all(page: Page, url: str, opened: set[str]) -> None:
    """What the page offers and none before it did; anew after a dialog that went on, since the page may offer more."""
    page.goto(url)
    _select_rows(page)
    for opener in page.locator(OPENERS).all():
        name = _route_of(opener)
        if name not in opened and _can_be_pressed(opener):
            opened.add(name)
            _open_and_leave(page, opener, name)
            if name in ONWARD:
                _open_all(page, url, opened)
                return


def _route_of(opener: Locator) -> str:
    address = opener.evaluate("one => one.getAttribute('hx-get') ?? one.form.getAttribute('hx-post')")
    return resolve(urlsplit(address).path).url_name or ""


def _open_and_leave(page: Page, opener: Locator, name: str) -> None:
    dialog = page.locator("dialog#dialog")
    menu = opener.locator("xpath=ancestor::details[contains(@class, 'qd-menu')]/summary")
    if menu.count():
        menu.click()
    opener.click()
    _expect_whole(dialog, name)
    if name in ONWARD:
        _go_on(dialog, name)
    page.keyboard.press("Escape")
    expect(dialog, name).to_be_hidden()
    expect(menu if menu.count() else opener, name).to_be_focused()


def _expect_whole(dialog: Locator, name: str) -> None:
    expect(dialog, name).to_be_visible()
    expect(dialog.locator("h1"), name).not_to_have_text(REFUSAL)
    body = dialog.locator(".dlg-body")
    assert body.evaluate("box => box.contains(document.activeElement)"), name
    assert body.evaluate("box => box.scrollWidth <= box.clientWidth"), f"{name} is too wide"


def _go_on(dialog: Locator, name: str) -> None:
    onward, before = ONWARD[name], dialog.locator("h1").inner_text()
    for label, text in onward.typed.items():
        dialog.get_by_label(label).fill(text)
    dialog.get_by_role("button", name=onward.button, exact=True).click()
    expect(dialog.get_by_role("button", name=onward.button, exact=True)).to_have_count(0)
    _expect_whole(dialog, f"{name}, onward from {before}")


def _be_refused(page: Page, change: Change) -> None:
    """By a change that has ended since its page was opened."""
    Change.objects.filter(pk=change.pk).update(status="committed", time_left=None)
    page.get_by_role("link", name="Wait no longer…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("heading", name="Not now")).to_be_visible()
    assert dialog.locator(".dlg-body").evaluate("box => box.contains(document.activeElement)")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def _select_rows(page: Page) -> None:
    """What acts on chosen rows can be pressed then."""
    box = page.locator("table[data-select] tbody .pick input").first
    if box.count():
        box.check()


def _can_be_pressed(opener: Locator) -> bool:
    inside = opener.locator("xpath=ancestor::details[contains(@class, 'qd-menu')]")
    return opener.is_enabled() and (opener.is_visible() or inside.locator("summary").is_visible())
