"""The dialogs of a cluster's life in Chromium, each from its button to its change: what it costs stands there before it
is confirmed, a mistake is told at its field with what was typed still in it, and the confirmed act is a change.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Locator, Page, expect

from clusters.models import Change, Cluster
from slurm import operations, restarts
from slurm.scripts import trial as script_trial
from slurm.scripts.trial import Trial
from tests.browser.conftest import PHONE, WIDE, Console
from tests.browser.lived_in import PROLOG, ask_again, live_in, without_cpu_workers
from tests.clusters.keys import OTHER_ED25519

TEAM = "/t/research/"
CLUSTER = f"{TEAM}c/llama-pretrain/"
BETTER = "#!/bin/bash\nexit 0\n"
Look = Callable[..., Page]
pytestmark = pytest.mark.timeout(300)


@dataclass(frozen=True)
class Typed:
    """Into the field of that label; what is told there when it is a mistake, and what the impact shows of it before."""

    label: str
    text: str
    says: str = ""
    shows: str = ""


@dataclass(frozen=True)
class Act:
    """`page` is below the cluster; `opener` and `confirm` are names of a link and a button. `costs` is some of what the
    dialog says that it does, `summary` some of the change's own sentence."""

    page: str
    opener: str
    costs: str
    confirm: str
    summary: str
    mistake: Typed | None = None
    right: Typed | None = None


LOGIN_RULE = "Use 1 to 32 lower-case letters"
ACTS = {
    "scale up": Act(
        "", "Scale", "slinky-4, slinky-5", "Scale", "slinky: 4 to 6 nodes",
        Typed("slinky", "99", "16", "95 nodes"), Typed("slinky", "6"),
    ),
    "remove a group": Act(
        "", "Scale", "(cpu-workers-0), e2e_node_714 (cpu-workers-1)", "Scale", "cpu-workers: removed",
        Typed("cpu-workers", "99", "16", "97 nodes"), Typed("cpu-workers", "0"),
    ),
    "update the image": Act("", "Update image…", "the controller", "Update image", "26.05"),
    "reconfigure": Act("", "Reconfigure…", "without a restart", "Reconfigure", "Apply revision 2 again"),
    "terminate": Act(
        "", "Terminate…", "all 6 nodes", "Terminate", "Terminate",
        Typed("Type llama-pretrain to confirm", "llama", "That is not the name"),
        Typed("Type llama-pretrain to confirm", "llama-pretrain"),
    ),
    "login users off": Act(
        "users/", "Settings of login users", "no file", "Apply", "Login users: off",
        right=Typed("Everybody signs in as themselves", ""),
    ),
    "move the homes": Act(
        "users/", "Settings of login users", "No file is moved", "Apply", "/shared",
        Typed("Homes", "On the cluster itself, at /home", "/home"),
        Typed("Homes", "On checkpoints, at /shared"),
    ),
    "add a login user": Act(
        "users/", "Add a login user", "no job", "Add", "add ada",
        Typed("Login", "Ada L.", LOGIN_RULE), Typed("Login", "ada"),
    ),
    "change a login user": Act(
        "users/", "Edit mo", "neither can change", "Save", "mo groups vision",
        Typed("Further groups", "Vision!", LOGIN_RULE), Typed("Further groups", "vision"),
    ),
    "remove a login user": Act(
        "users/", "Remove mo", "with every file in it: /home/mo", "Remove mo", "remove mo",
        right=Typed("Delete it, with every file in it", "on"),
    ),
    "add a key of the cluster": Act(
        "users/", "Add a key", "no job", "Add the key", "add ben@desk",
        Typed("Public key", "ssh-ed25519 nonsense", "key"), Typed("Public key", OTHER_ED25519),
    ),
    "remove a key of the cluster": Act(
        "users/", "Remove ada@laptop", "It signs nobody in any more", "Remove the key", "remove ada@laptop",
    ),
    "revert a script": Act(
        "scripts/", "Revert the script and resume it", "slinky-3", "Revert and resume",
        "Worker prolog: taken away, and 1 node resumed",
    ),
    "delete a partition": Act("partitions/", "Delete debug", "no job", "Delete", "Partition debug: removed"),
    "unmount a volume": Act("volumes/", "Unmount checkpoints", "no job", "Unmount", "unmount checkpoints"),
}  # fmt: skip


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS.keys())
def test_an_act_is_read_corrected_and_confirmed(look: Look, console: Console, act: Act) -> None:
    live_in(console.made)
    page = look(f"{CLUSTER}{act.page}", size=PHONE if act.page == "users/" else WIDE)
    dialog = open_dialog(page, act.opener)
    if act.mistake:
        fill(dialog, act.mistake)
        expect(dialog).to_contain_text(act.mistake.shows)
        confirm(dialog, act.confirm)
        told = dialog.locator(".field.bad", has=page.get_by_label(act.mistake.label, exact=True))
        expect(told.locator(".problem")).to_contain_text(act.mistake.says, timeout=20_000)
        expect(told.locator("input, textarea, select")).to_be_focused()
        assert value(field(dialog, act.mistake.label)) == act.mistake.text
        assert not Change.objects.filter(number=4, cluster=console.made.cluster).exists()
    if act.right:
        fill(dialog, act.right)
    expect(dialog).to_contain_text(act.costs)
    confirm(dialog, act.confirm)
    page.wait_for_url(f"**{CLUSTER}changes/4/")
    expect(page.locator("#change-log")).to_contain_text(act.summary)


def open_dialog(page: Page, opener: str) -> Locator:
    """From a link of the page, or from the cluster's menu where that holds it."""
    link = page.get_by_role("link", name=opener, exact=True)
    if not link.count():
        page.locator("#cluster-head summary").click()
    link.first.click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    return dialog


def confirm(dialog: Locator, name: str) -> None:
    dialog.get_by_role("button", name=re.compile(f"^{re.escape(name)}")).click()


def field(dialog: Locator, label: str) -> Locator:
    return dialog.get_by_label(label, exact=True)


def fill(dialog: Locator, typed: Typed) -> None:
    """Text is typed, a choice is chosen, a box is checked for any text and cleared for none."""
    control = field(dialog, typed.label)
    kind = control.evaluate("one => one.type")
    if kind in ("checkbox", "radio"):
        control.set_checked(bool(typed.text))
    elif kind == "select-one":
        control.select_option(label=typed.text)
    else:
        control.fill(typed.text)


def value(control: Locator) -> str:
    """What stands in it for a reader."""
    return str(control.evaluate("one => one.selectedOptions ? one.selectedOptions[0].text : one.value"))


def test_a_group_is_added_to_a_cluster_that_had_none(look: Look, console: Console) -> None:
    without_cpu_workers(console.made.cluster)
    page = look(CLUSTER, size=PHONE)
    dialog = open_dialog(page, "Scale")
    expect(dialog.get_by_label("Machines of cpu-workers")).to_have_value("cpu-64")
    fill(dialog, Typed("cpu-workers", "2"))
    expect(dialog.locator("#scale-impact")).to_contain_text("cpu-workers-0, cpu-workers-1")
    confirm(dialog, "Scale")
    page.wait_for_url(f"**{CLUSTER}changes/4/")
    expect(page.locator("#change-log")).to_contain_text("cpu-workers: added, 2 × cpu-64")


def test_an_image_that_cannot_follow_says_why_and_cannot_be_chosen(look: Look) -> None:
    page = look(CLUSTER, size=PHONE)
    dialog = open_dialog(page, "Update image…")
    here = dialog.get_by_role("radio", name=re.compile("Slurm 24.11"))
    expect(here).to_be_disabled()
    expect(dialog.get_by_role("radio", name=re.compile("Slurm 26.05"))).to_be_checked()


def test_a_time_that_has_passed_is_told_at_its_field(look: Look) -> None:
    page = look(CLUSTER)
    dialog = open_dialog(page, "Reconfigure…")
    dialog.get_by_text("Start later").click()
    when = dialog.get_by_label("Start at")
    when.fill("2020-01-31T18:30")
    confirm(dialog, "Reconfigure")
    told = dialog.locator(".field.bad")
    expect(told.locator(".problem")).to_have_count(1)
    expect(when).to_have_value("2020-01-31T18:30")
    expect(when).to_be_focused()
    when.fill(f"{timezone.now().year + 1}-01-31T18:30")
    confirm(dialog, "Reconfigure")
    page.wait_for_url(f"**{CLUSTER}changes/4/")
    expect(page.locator("#change-facts")).to_contain_text("Starts")


@pytest.mark.parametrize(
    ("opener", "part", "costs", "button"),
    [
        ("Restart controller…", "controller", "do not answer for some seconds", "Restart controller"),
        ("Restart login node…", "login", "every ssh session", "Restart login node"),
        ("Restart workers…", "workers", "4127 train-70b", "Restart workers, ending 3 jobs"),
    ],
)
def test_restarts_are_asked_for_after_their_cost_was_read(
    look: Look, monkeypatch: pytest.MonkeyPatch, opener: str, part: str, costs: str, button: str
) -> None:
    asked = []
    monkeypatch.setattr(
        restarts, "restart", lambda door, which, *, when_idle: asked.append((str(which), when_idle))
    )
    page = look(CLUSTER, name="ops")
    dialog = open_dialog(page, opener)
    if part == "workers":
        dialog.get_by_label("How many at a time").fill("")
        expect(dialog.get_by_role("button", name="Restart workers when idle")).to_be_visible()
        dialog.get_by_role("radio", name=re.compile("^Now")).check()
    expect(dialog).to_contain_text(costs)
    dialog.get_by_role("button", name=button, exact=True).click()
    expect(page.locator(".qd-strip.info")).to_contain_text("being restarted")
    assert asked == [(part, False)]


def test_workers_restart_some_at_a_time_and_the_wait_for_their_jobs_is_given_up(
    look: Look, console: Console
) -> None:
    page = look(CLUSTER, name="ops")
    dialog = open_dialog(page, "Restart workers…")
    expect(dialog.get_by_role("radio", name=re.compile("^When their jobs have ended"))).to_be_checked()
    dialog.get_by_label("How many at a time").fill("2")
    expect(dialog).to_contain_text("in this order, 2 at a time")
    expect(dialog.get_by_label("How many at a time")).to_be_focused()
    dialog.get_by_role("button", name="Restart workers, 2 at a time", exact=True).click()
    page.wait_for_url(f"**{CLUSTER}changes/4/")
    change = Change.objects.get(cluster=console.made.cluster, number=4)
    rests = {"status": "applying", "time_left": timedelta(60), "waits_for": "Waits for 1 job on slinky-0."}
    Change.objects.filter(pk=change.pk).update(**rests)
    page.reload()
    dialog = open_dialog(page, "Wait no longer…")
    expect(dialog).to_contain_text("4127 train-70b")
    expect(dialog.get_by_role("link", name="Go on waiting")).to_be_focused()
    confirm(dialog, "Wait no longer, ending")
    expect(dialog).to_be_hidden()
    change.refresh_from_db()
    assert change.force


def test_resuming_says_what_it_forgets(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(operations, "resume", lambda door, names: asked.append(list(names)))
    page = look(f"{CLUSTER}nodes/slinky-3/", name="ops", size=PHONE)
    dialog = open_dialog(page, "Resume")
    expect(dialog).to_contain_text("XID 79 on GPU 2")
    expect(dialog.get_by_role("button", name="Resume")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".qd-strip.info")).to_be_visible()
    assert asked == [["slinky-3"]]


def test_a_script_is_corrected_tried_on_one_node_and_applied(
    look: Look, console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    live_in(console.made)
    tried = []

    def try_script(door: object, hook: str, text: str, node: str) -> Trial:
        tried.append((hook, text, node))
        return Trial(node, 3, "no disk\n", 0.4, "0123456789ab")

    monkeypatch.setattr(script_trial, "try_script", try_script)
    page = look(f"{CLUSTER}scripts/worker_prolog/")
    type_script(page, "exit 0\n")
    dialog = review(page)
    expect(dialog).to_contain_text("The first line must name the program")
    dialog.get_by_role("button", name="Back to the text").click()
    assert script_of(page) == "exit 0\n"
    type_script(page, BETTER)
    dialog = review(page)
    expect(dialog).to_contain_text("What applying it does")
    dialog.get_by_role("button", name="Run it there once").click()
    expect(dialog.locator("#script-trial .note.bad")).to_contain_text("with status 3")
    expect(dialog.locator("#script-trial pre")).to_have_text("no disk\n")
    assert tried == [("worker_prolog", BETTER, "cpu-workers-0")]
    dialog.get_by_role("button", name="Apply").click()
    page.wait_for_url(f"**{CLUSTER}changes/4/")
    asked = Change.objects.get(cluster=console.made.cluster, number=4).revision
    assert asked and asked.parsed.scripts.worker_prolog == BETTER


def test_a_script_is_taken_away(look: Look, console: Console) -> None:
    live_in(console.made)
    page = look(f"{CLUSTER}scripts/worker_prolog/", size=PHONE)
    page.get_by_role("button", name="Take it away").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("What goes")
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Take it away")).to_be_focused()
    assert script_of(page) == PROLOG
    page.get_by_role("button", name="Take it away").click()
    dialog.get_by_role("button", name="Take it away").click()
    page.wait_for_url(f"**{CLUSTER}changes/4/")


def type_script(page: Page, text: str) -> None:
    page.wait_for_selector(".qd-ace")
    page.evaluate("text => ace.edit(document.querySelector('.qd-ace')).setValue(text, 1)", text)


def script_of(page: Page) -> str:
    return page.locator("#script-text").input_value()


def review(page: Page) -> Locator:
    page.get_by_role("button", name="Review and apply").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    return dialog


def test_an_earlier_revision_comes_back_as_a_change(look: Look) -> None:
    page = look(f"{CLUSTER}changes/1/", size=PHONE)
    dialog = open_dialog(page, "Roll back to revision 1…")
    expect(dialog).to_contain_text("What is on the volume stays there")
    confirm(dialog, "Roll back")
    page.wait_for_url(f"**{CLUSTER}changes/4/")
    expect(page.locator("#change-log")).to_contain_text("Back to revision 1")


def test_a_change_that_costs_more_by_now_is_confirmed(look: Look, console: Console) -> None:
    change = ask_again(console.made.cluster)
    page = look(f"{CLUSTER}changes/4/")
    dialog = open_dialog(page, "See what it costs by now…")
    expect(dialog).to_contain_text("1 more job would end: 4133 notebook.")
    expect(dialog.get_by_role("link", name="Decide later")).to_be_focused()
    confirm(dialog, "Go on")
    expect(dialog).to_be_hidden()
    change.refresh_from_db()
    assert change.is_confirmed


def test_a_failed_cluster_is_cloned_into_a_form_that_says_what_is_left_out(look: Look) -> None:
    page = look(f"{TEAM}c/asr-nightly/")
    page.locator("#cluster-head summary").click()
    page.get_by_role("link", name="Clone…").click()
    expect(page.get_by_role("heading", name="New cluster, like asr-nightly")).to_be_visible()
    expect(page.locator(".left-out")).to_be_visible()
    name = page.get_by_label("Name", exact=True)
    name.fill("ASR 2")
    page.get_by_role("button", name="Create cluster").click()
    expect(page.locator("[data-field=name] .problem")).to_be_visible()
    expect(name).to_have_value("ASR 2")
    name.fill("asr-2")
    page.get_by_label("Copy its slurm.conf").uncheck()  # its partition names a node that it does not have
    page.get_by_role("button", name="Create cluster").click()
    page.wait_for_url(f"**{TEAM}c/asr-2/")
    assert Cluster.objects.get(slug="asr-2").changes.get().kind == "create"


def test_a_terminated_cluster_is_deleted_by_its_name(look: Look) -> None:
    page = look(f"{TEAM}c/old-sweeps/", size=PHONE)
    dialog = open_dialog(page, "Delete…")
    expect(dialog).to_contain_text("nobody can bring them back")
    label = "Type old-sweeps to confirm"
    fill(dialog, Typed(label, "old"))
    confirm(dialog, "Delete for good")
    expect(dialog.locator(".field.bad .problem")).to_contain_text("That is not the name")
    expect(field(dialog, label)).to_have_value("old")
    fill(dialog, Typed(label, "old-sweeps"))
    confirm(dialog, "Delete for good")
    page.wait_for_url(f"**{TEAM}")
    assert Cluster.objects.get(slug="old-sweeps").changes.latest("number").kind == "delete"


def test_ones_own_key_is_added_and_removed(look: Look, console: Console) -> None:
    live_in(console.made)
    page = look("/profile/", name="mo", size=PHONE)
    dialog = open_dialog(page, "Add a key")
    fill(dialog, Typed("Public key", "ssh-ed25519 nonsense"))
    confirm(dialog, "Add the key")
    expect(dialog.locator(".field.bad .problem")).to_be_visible()
    expect(field(dialog, "Public key")).to_have_value("ssh-ed25519 nonsense")
    fill(dialog, Typed("Public key", OTHER_ED25519))
    expect(dialog).to_contain_text("research/llama-pretrain")
    confirm(dialog, "Add the key")
    expect(page.locator("#ssh-keys")).to_contain_text("ben@desk")
    dialog = open_dialog(page, "Remove ben@desk")
    expect(dialog).to_contain_text("a session that it opened")
    confirm(dialog, "Remove")
    expect(page.locator("#ssh-keys")).to_contain_text("No SSH key")
