"""A scale-in that waits for jobs, in a browser: chosen, followed, and cancelled; the reboot that waits."""

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from playwright.sync_api import Page, expect

from clusters.models import Change
from clusters.show import show_change
from slurm import operations
from tests.browser.conftest import PHONE, WIDE, Console

CLUSTER = "/t/research/c/llama-pretrain/"
CHANGE = f"{CLUSTER}changes/4/"
Look = Callable[..., Page]


def shrink(page: Page) -> None:
    """Ask for three nodes instead of four, from the overview."""
    page.get_by_role("link", name="Scale").first.click()
    page.get_by_label("slinky", exact=True).fill("3")
    expect(page.locator("#scale-impact")).to_contain_text("4131 eval-sweep")


def rest(console: Console, text: str) -> Change:
    """What a worker does when the platform waits for jobs."""

    def write() -> None:
        Change.objects.filter(number=4).update(status="observing", time_left=timedelta(60), waits_for=text)
        show_change(Change.objects.select_related("cluster__team").get(number=4))

    console.elsewhere(write)
    return Change.objects.get(number=4)


def is_within(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"))


@pytest.mark.parametrize("size", [WIDE, PHONE])
def test_a_scale_in_is_chosen_waits_in_the_open_and_is_cancelled(look: Look, console: Console, size) -> None:
    page = look(CLUSTER, size=size)
    shrink(page)
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("When the jobs there have ended")).to_be_checked()
    dialog.get_by_role("button", name="Scale").click()
    page.wait_for_url(f"**{CHANGE}")
    assert rest(console, "Waits for 1 job on slinky-3.").force is False
    wait = page.locator("#change-log")
    expect(wait).to_contain_text("Waits for 1 job on slinky-3. This wait has no deadline.")
    expect(wait.get_by_role("link", name="4131")).to_be_visible()
    assert is_within(page)
    page.goto(console.url + CLUSTER)
    strip = page.locator("#strips")
    expect(strip).to_contain_text("Waits for job 4131 on slinky-3 until")
    assert is_within(page)
    strip.get_by_role("link", name="Cancel").click()
    expect(dialog).to_contain_text("revision 2 is what the cluster is then")
    dialog.get_by_role("button", name="Cancel the change").click()
    page.wait_for_url(f"**{CHANGE}")
    expect(page.locator("#change-facts")).to_contain_text("Cancelled by")
    assert Change.objects.get(number=4).cancelled_by.username == "ada"


def test_what_is_waited_for_is_kept_true(look: Look, console: Console) -> None:
    page = look(CLUSTER)
    shrink(page)
    page.get_by_role("dialog").get_by_role("button", name="Scale").click()
    page.wait_for_url(f"**{CHANGE}")
    rest(console, "Waits for 2 jobs on slinky-3.")
    expect(page.locator("#change-log")).to_contain_text("Waits for 2 jobs")
    rest(console, "Waits for 1 job on slinky-3.")
    expect(page.locator("#change-log")).to_contain_text("Waits for 1 job")


def test_the_choice_to_end_jobs_is_kept_while_numbers_are_typed(look: Look) -> None:
    page = look(CLUSTER)
    shrink(page)
    impact = page.locator("#scale-impact")
    now = impact.get_by_role("radio", name=re.compile("^Now"))
    now.check()
    page.get_by_label("slinky", exact=True).fill("2")
    expect(impact).to_contain_text("slinky-2")
    expect(now).to_be_checked()
    page.get_by_role("dialog").get_by_role("button", name="Scale").click()
    page.wait_for_url(f"**{CHANGE}")
    assert Change.objects.get(number=4).force


@pytest.mark.parametrize(
    ("choice", "button", "is_later"),
    [("When their jobs have ended", "Reboot when idle", True), ("Now", "Reboot now, ending 2 jobs", False)],
)
def test_a_reboot_waits_or_not_as_the_button_says(
    look: Look, console: Console, monkeypatch, choice: str, button: str, is_later: bool
) -> None:
    asked = []
    monkeypatch.setattr(
        operations, "reboot", lambda door, names, *, when_idle: asked.append((names, when_idle))
    )
    page = look(f"{CLUSTER}nodes/slinky-2/", name="ops")
    page.get_by_role("link", name="Reboot").click()
    page.get_by_role("dialog").get_by_role("radio", name=re.compile(f"^{choice}")).check()
    page.get_by_role("dialog").get_by_role("button", name=button).click()
    expect(page.get_by_text("the reboot comes when" if is_later else "is being rebooted")).to_be_visible()
    assert asked == [(("slinky-2",), is_later)]
