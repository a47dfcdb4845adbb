"""The pages of accounts in Chromium, over recorded answers of sacctmgr: dialogs, commands before they run, and axe."""

from collections.abc import Callable, Iterator

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect

from slurm.accounts.usage import DAYS
from tests.browser.conftest import PHONE, WIDE, Console, session_of
from tests.browser.test_axe import findings
from tests.slurm.hands import Handed
from tests.slurm.recorded_accounts import Recorded

BASE = "/t/research/c/llama-pretrain/accounting/"
PAGES = (
    "",
    "accounts/",
    "accounts/llm/",
    "users/",
    "users/nobody/",
    "qos/",
    "dump/",
    "new-account/",
    "accounts/llm/users/",
    "accounts/llm/coordinators/",
    "qos/allset/",
    "qos/short/removal/",
    "accounts/allset/removal/",
    "restore/",
)
Look = Callable[..., Page]


@pytest.fixture
def hands(console: Console, settings) -> Iterator[Recorded]:
    before = dict(settings.PROVISIONERS)
    for kind in before:
        settings.PROVISIONERS[kind] = "tests.slurm.hands.Handed"
    Handed.hands = Recorded()
    yield Handed.hands
    settings.PROVISIONERS.update(before)


def test_an_account_is_added_by_commands_that_were_shown_first(look: Look, hands: Recorded) -> None:
    page = look(f"{BASE}accounts/")
    page.get_by_role("link", name="Add account").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("bio")
    dialog.get_by_label("Below").select_option("vision")
    dialog.get_by_label("GPUs at once").fill("many")
    dialog.get_by_role("button", name="Preview").click()
    expect(dialog.locator(".problem")).to_contain_text("is not a resource")
    dialog.get_by_label("GPUs at once").fill("12")
    dialog.get_by_role("button", name="Preview").click()
    command = "sacctmgr -i add account bio cluster=2411 parent=vision GrpTRES=gres/gpu=12"
    expect(dialog.locator(".acc-commands code")).to_have_text(command)
    dialog.get_by_role("button", name="Back to the form").click()
    expect(dialog.get_by_label("GPUs at once")).to_have_value("12")
    assert hands.told == []
    dialog.get_by_role("button", name="Preview").click()
    dialog.get_by_role("button", name="Run it").click()
    expect(page.locator(".qd-strip.info")).to_contain_text("The account bio is there.")
    assert hands.told == [command.split()]


def test_a_qos_in_use_says_why_it_stays_and_offers_no_button(look: Look, hands: Recorded) -> None:
    page = look(f"{BASE}qos/", size=PHONE)
    page.get_by_role("link", name="Remove short").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("nobody in llm may use it")
    expect(dialog.get_by_role("button", name="Remove")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_a_file_is_read_in_after_a_look_at_what_it_would_do(look: Look, hands: Recorded) -> None:
    page = look(f"{BASE}dump/")
    page.get_by_role("link", name="Choose a file").click()
    dialog = page.get_by_role("dialog")
    text = "Cluster - '2411'\nParent - 'llm'\nUser - 'kim':Fairshare=2\n"
    dialog.get_by_label("File").set_input_files(
        {"name": "a.cfg", "mimeType": "text/plain", "buffer": text.encode()}
    )
    dialog.get_by_role("button", name="Show what it would do").click()
    expect(dialog.locator(".acc-diff")).to_contain_text("user kim in llm")
    dialog.get_by_role("button", name="Read it in").click()
    expect(page.locator(".qd-strip.info")).to_contain_text("The file was read in.")
    assert hands.told == [["sacctmgr", "-i", "load", "file=/dev/stdin"]]


def test_what_was_typed_outlives_a_silence(browser: Browser, console: Console, hands: Recorded) -> None:
    """Of the controller, between a form and its preview. Not by `look`: browsers complain of a 503."""
    context = browser.new_context()
    context.add_cookies([{"name": "sessionid", "value": session_of(console, "ada"), "url": console.url}])
    page = context.new_page()
    page.goto(f"{console.url}{BASE}accounts/")
    page.get_by_role("link", name="Add account").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("bio")
    hands.silent = True
    dialog.get_by_role("button", name="Preview").click()
    expect(dialog.get_by_role("heading")).to_have_text("The accounts cannot be read now")
    expect(dialog.get_by_role("button", name="Try again")).to_be_focused()
    hands.silent = False
    page.keyboard.press("Enter")
    expect(dialog.locator(".acc-commands code")).to_contain_text("add account bio")
    context.close()


def test_ones_own_page_draws_a_priority_and_fetches_the_last_days(
    console: Console, look: Look, hands: Recorded
) -> None:
    console.made.cluster.jobs.create(
        key="5",
        number=5,
        job_id="5",
        submit_at=timezone.now(),
        user="root",
        state="PENDING",
        reason="Resources",
    )
    page = look(BASE)
    expect(page.locator(".pf-bar")).to_be_visible()
    expect(page.locator(".pf-key")).to_contain_text("Fair share 1667 / 10000")
    expect(page.locator("#usage-days tbody tr")).to_have_count(DAYS)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("size", "theme"), [(WIDE, "light"), (PHONE, "dark")], ids=["wide", "phone"])
def test_pages_have_no_serious_finding(
    browser: Browser, console: Console, hands: Recorded, size: tuple[int, int], theme: str
) -> None:
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme=theme,  # type: ignore[arg-type]
        bypass_csp=True,
        reduced_motion="reduce",
    )
    context.add_cookies([{"name": "sessionid", "value": session_of(console, "ada"), "url": console.url}])
    page, wrong = context.new_page(), []
    for path in PAGES:
        page.goto(console.url + BASE + path)
        wrong += [f"{path}: {line}" for line in findings(page)]
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wrong.append(f"{path}: wider than the window")
    context.close()
    assert wrong == []
