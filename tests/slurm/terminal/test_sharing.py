"""One terminal, two people: who may look on by a link, who types, and what the audit trail says of it."""

import time
from collections.abc import Callable
from typing import Any

from playwright.sync_api import expect

from console.models import Event, Membership, Team, User
from console.roles import Role
from slurm.consumers import ENDED
from tests.slurm.terminal.client import Page
from tests.slurm.terminal.conftest import TabOf
from tests.slurm.terminal.test_socket import wait_for

Open = Callable[..., Page]


def newest(
    page: Page, kind: str, fits: Callable[[dict[str, Any]], bool] = lambda said: True
) -> dict[str, Any]:
    """The last such message that fits, waited for."""
    deadline = time.monotonic() + 8
    while True:
        found = next((said for said in reversed(page.said) if said["kind"] == kind and fits(said)), None)
        if found:
            return found
        assert page.step(deadline), f"no {kind} in {page.said}"


def shared(page: Open) -> tuple[Page, str]:
    """Mo's terminal at its prompt, and the token of its link."""
    mo = page("mo")
    mo.open(columns=90, rows=30)
    mo.read_until("ready> ")
    mo.say(kind="share", on=True)
    return mo, str(newest(mo, "watchers", lambda said: bool(said["token"]))["token"])


def watched(page: Open) -> tuple[Page, Page, dict[str, Any]]:
    """Mo's terminal, Ada who watches it, and how she stands among the watchers."""
    mo, token = shared(page)
    ada = page("ada")
    assert ada.open(share=token)["session"] == ""
    [watcher] = newest(mo, "watchers", lambda said: bool(said["watchers"]))["watchers"]
    return mo, ada, watcher


def verbs(wanted: str, owner: Page) -> list[tuple[str, str, object]]:
    """Who did what with whom in the owner's terminal, once `wanted` has come."""
    # By its session: the end of an earlier test's terminal may be written only now.
    events = Event.objects.filter(target=str(newest(owner, "ready")["session"])[:8])
    deadline = time.monotonic() + 5
    while not events.filter(verb=wanted).exists():
        assert time.monotonic() < deadline, list(Event.objects.values_list("verb", "target"))
        time.sleep(0.05)
    found = events.filter(verb__startswith="terminal.").order_by("pk")
    return [(each.verb, each.who, each.detail.get("whom") or each.detail.get("whose")) for each in found]


def test_watcher_sees_what_was_and_is_printed_at_the_owner_s_size(page: Open) -> None:
    mo, token = shared(page)
    mo.run("echo before-she-came")
    ada = page("ada")
    ada.open(share=token)
    ada.read_until("\nbefore-she-came")
    assert (newest(ada, "size")["columns"], newest(ada, "size")["rows"]) == (90, 30)
    mo.run("echo while-she-watches")
    ada.read_until("\nwhile-she-watches")
    mo.say(kind="resize", columns=100, rows=40)
    assert newest(ada, "size", lambda said: said["columns"] == 100)["rows"] == 40
    assert newest(ada, "watchers")["owner"] == "mo"


def test_watcher_types_only_while_the_owner_lets_them(page: Open) -> None:
    mo, ada, watcher = watched(page)
    assert (watcher["who"], watcher["writes"]) == ("ada", False)
    ada.type("echo for''bidden\n")
    newest(ada, "taken")
    mo.say(kind="allow", watcher=watcher["id"], writes=True)
    newest(ada, "watchers", lambda said: said["watchers"][0]["writes"])
    ada.type("echo al''lowed\n")
    mo.read_until("\nallowed")
    assert b"forbidden" not in mo.screen
    mo.say(kind="allow", watcher=watcher["id"], writes=False)
    newest(ada, "watchers", lambda said: not said["watchers"][0]["writes"] and len(ada.said) > 5)
    assert verbs("terminal.disallow", mo) == [
        ("terminal.share", "mo", None),
        ("terminal.watch", "ada", "mo"),
        ("terminal.allow", "mo", "ada"),
        ("terminal.disallow", "mo", "ada"),
    ]


def test_nobody_types_into_a_terminal_whose_owner_looks_away(page: Open) -> None:
    mo, ada, watcher = watched(page)
    mo.say(kind="allow", watcher=watcher["id"], writes=True)
    newest(ada, "watchers", lambda said: said["watchers"][0]["writes"])
    mo.socket.close()
    newest(ada, "watchers", lambda said: said["away"])
    ada.read_until("ready> ")
    ada.type("echo be''hind\n")
    newest(ada, "taken")
    time.sleep(0.5)
    ada.say(kind="ping")
    newest(ada, "pong")
    assert b"behind" not in ada.screen


def test_link_is_worth_nothing_once_it_is_taken_back(page: Open) -> None:
    mo, ada, _ = watched(page)
    token = str(newest(mo, "watchers")["token"])
    mo.say(kind="share", on=False)
    assert newest(ada, "ended")["code"] == "unshared"
    assert ada.wait_closed() == ENDED
    assert page("ada").open(share=token)["code"] in ("gone", "unshared")
    assert mo.run("echo goes-on").strip() == "goes-on"


def test_watcher_can_be_sent_away_and_leaving_ends_nothing(page: Open) -> None:
    mo, ada, watcher = watched(page)
    mo.say(kind="allow", watcher=watcher["id"], out=True)
    assert newest(ada, "ended")["sentence"] == "mo closed this view."
    token = str(newest(mo, "watchers")["token"])
    again = page("ada")
    again.open(share=token)
    again.say(kind="close")
    assert newest(again, "ended")["code"] == "closed"
    assert mo.run("echo goes-on").strip() == "goes-on"
    wait_for(lambda: ("terminal.unwatch", "ada", "mo") in verbs("terminal.unwatch", mo))


def test_right_is_needed_and_losing_it_closes_the_view_alone(page: Open) -> None:
    mo, token = shared(page)
    assert "member" in str(page("kim").wait_for("refused")["sentence"])
    lin = User.objects.create_user("lin")
    Membership.objects.create(team=Team.objects.get(), user=lin, role=Role.MEMBER)
    watcher = page("lin")
    watcher.open(share=token)
    Membership.objects.filter(user=lin).delete()
    assert watcher.wait_closed(within_s=6)
    assert mo.run("echo goes-on").strip() == "goes-on"


def test_watcher_who_reads_nothing_costs_the_owner_nothing(page: Open) -> None:
    mo, token = shared(page)
    slow = page("ada", stalls=True)
    slow.open(share=token)
    assert mo.run("seq 400000 | tail -n 200000 | md5sum; seq 300000; echo al''l", within_s=60).endswith(
        "all\r\n"
    )
    slow.stalls = False
    slow.say(kind="ack", bytes=slow.received)
    mo.type("echo last''-words\n")
    slow.read_until("\nlast-words", within_s=20)
    assert slow.received < 2_000_000


def test_two_browsers_share_one_session(tab_of: TabOf) -> None:
    mo = tab_of("mo")
    mo.expect_state("Connected")
    mo.page.locator(".terminal-sharing summary").click()
    mo.page.get_by_role("button", name="Share this terminal").click()
    link = mo.page.locator("#terminal-link").inner_text()
    ada = tab_of("ada", link[link.index("/t/") :])
    ada.expect_state("Connected")
    expect(mo.page.locator(".terminal-sharing summary")).to_have_text("ada watches")
    expect(ada.page.locator(".terminal-sharing summary")).to_have_text("mo's, read-only")
    ada.page.keyboard.type("x")
    expect(ada.page.locator(".terminal-strip")).to_contain_text("mo has not let you type here.")
    assert ada.size == mo.size
    assert ada.serious("#terminal") == mo.serious("#terminal") == []
    mo.page.get_by_role("button", name="Let type: ada").click()
    expect(ada.page.locator(".terminal-sharing summary")).to_have_text("mo's, you may type")
    ada.page.locator(".terminal-screen").click()
    ada.type("echo from-''ada")
    mo.wait_for("^from-ada$")
    mo.page.get_by_role("button", name="Stop sharing").click()
    ada.expect_state("Ended")
    expect(ada.page.locator(".terminal-strip")).to_contain_text("mo does not share this terminal any more.")
