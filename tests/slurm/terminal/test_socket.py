"""The whole path from a page's socket to a real login node and back."""

import re
import time
from collections.abc import Callable

import pytest

from clusters.consumers import DENIED, GONE
from clusters.lifecycle import Status
from clusters.models import Cluster, Region
from console.models import BrowserSession, Event, Membership, User
from console.roles import Role
from console.socket_limits import MESSAGES_AT_ONCE, TOO_MUCH
from slurm.consumers import BROKEN, ENDED
from tests.slurm.terminal.client import Page
from tests.slurm.terminal.conftest import Console

Open = Callable[..., Page]


def test_member_gets_a_shell_of_the_page_s_size(page: Open) -> None:
    mo = page("mo")
    assert mo.open(columns=101, rows=33)["fresh"] is True
    mo.read_until("ready> ")
    assert mo.run("stty size").strip() == "33 101"
    mo.say(kind="resize", columns=120, rows=40)
    assert mo.run("stty size; echo $TERM").split() == ["40", "120", "xterm-256color"]


def test_utf_8_passes_both_ways(page: Open) -> None:
    mo = page("mo")
    mo.open()
    mo.read_until("ready> ")
    assert mo.run("printf '%s\\n' 'grüße 漢字 🛠'").strip() == "grüße 漢字 🛠"


def test_viewer_is_denied_and_stranger_sees_nothing(page: Open) -> None:
    assert page("kim").wait_closed() == DENIED
    assert page("dee").wait_closed() == GONE
    assert page("mo", cluster="nothing").wait_closed() == GONE


def test_refresh_shows_what_was_printed_and_the_same_shell(page: Open) -> None:
    first = page("mo")
    session = first.open()["session"]
    first.read_until("ready> ")
    first.run("mark=seven; echo before-the-cut")
    first.socket.close()
    second = page("mo")
    ready = second.open(session=session)
    assert (ready["fresh"], ready["whole"]) == (False, True)
    second.read_until("\nbefore-the-cut")
    second.read_until("ready> ")
    assert second.run("echo $mark").strip() == "seven"


def test_page_that_kept_its_screen_gets_only_what_it_missed(page: Open) -> None:
    first = page("mo")
    ready = first.open()
    first.read_until("ready> ")
    first.type("sleep 0.5; echo mis''sed\n")
    first.read_until("\n")
    seen = first.received
    first.socket.close()
    time.sleep(1)
    second = page("mo")
    again = second.open(session=ready["session"], seen=seen)
    assert again["whole"] is False
    assert second.read_until("missed").count(b"ready> ") == 0


def test_page_that_comes_back_is_told_why_its_terminal_ended(page: Open) -> None:
    first = page("mo")
    session = first.open()["session"]
    first.read_until("ready> ")
    first.type("exit 5\n")
    first.wait_closed()
    refused = page("mo").open(session=session)
    assert (refused["code"], refused["sentence"]) == (
        "gone",
        "The earlier terminal has ended. The shell ended with status 5.",
    )
    assert "status 5" not in str(page("ada").open(session=session)["sentence"])


def test_page_ends_its_terminal_when_it_is_closed(page: Open) -> None:
    mo = page("mo")
    mo.open()
    mo.read_until("ready> ")
    mo.say(kind="close")
    assert mo.wait_for("ended")["code"] == "closed"


def test_unseen_terminal_ends_with_the_membership(page: Open) -> None:
    mo = page("mo")
    session = mo.open()["session"]
    mo.read_until("ready> ")
    mo.socket.close()
    Membership.objects.filter(user__username="mo").update(role=Role.VIEWER)
    # Those that earlier tests left behind end for the same reason, so it is asked for by its name.
    ended = Event.objects.filter(verb="closed a terminal", detail__reason="revoked", target=str(session)[:8])
    wait_for(ended.exists)
    Membership.objects.filter(user__username="mo").update(role=Role.MEMBER)
    assert "To open a terminal you need to be member" in str(page("mo").open(session=session)["sentence"])


def test_only_the_owner_is_shown_a_session_again(page: Open) -> None:
    mo = page("mo")
    session = mo.open()["session"]
    ada = page("ada")
    assert ada.open(session=session)["code"] == "gone"


def test_second_window_takes_over_and_the_first_is_told(page: Open) -> None:
    first = page("mo")
    session = first.open()["session"]
    second = page("mo")
    second.open(session=session)
    assert first.wait_for("ended")["code"] == "taken"
    assert first.wait_closed() == ENDED


def test_exit_ends_the_terminal_with_its_status(page: Open) -> None:
    mo = page("mo")
    mo.open()
    mo.read_until("ready> ")
    mo.type("exit 3\n")
    assert mo.wait_for("ended") == {
        "kind": "ended", "code": "exit", "sentence": "The shell ended with status 3.", "status": 3,
    }  # fmt: skip
    assert mo.wait_closed() == ENDED


@pytest.mark.parametrize("announced", [True, False])
def test_member_who_becomes_a_viewer_is_cut_off(page: Open, announced: bool) -> None:
    mo = page("mo")
    session = mo.open()["session"]
    Membership.objects.filter(user__username="mo").update(role=Role.VIEWER)
    began = time.monotonic()
    if announced:
        announce(User.objects.get(username="mo"))
    assert mo.wait_closed(within_s=6) == DENIED
    assert time.monotonic() - began < 5
    assert "member" in str(mo.said[-1]["sentence"])
    Membership.objects.filter(user__username="mo").update(role=Role.MEMBER)
    assert page("mo").open(session=session)["code"] == "gone"


def announce(user: User) -> None:
    from asgiref.sync import async_to_sync
    from channels.layers import get_channel_layer

    from console import live

    async_to_sync(get_channel_layer().group_send)(live.user_topic(user.pk), {"type": "rights.changed"})


def test_signing_out_closes_the_terminal(page: Open, console: Console) -> None:
    mo = page("mo")
    mo.open()
    BrowserSession.objects.all().delete()
    assert mo.wait_closed(within_s=6) == GONE


def test_killed_web_process_loses_no_session(page: Open, console: Console) -> None:
    mo = page("mo")
    session = mo.open()["session"]
    mo.read_until("ready> ")
    mo.run("mark=kept")
    console.kill("web")
    console.start("web")
    again = page("mo")
    assert again.open(session=session)["fresh"] is False
    again.read_until("<done>\r\nready> ")
    assert again.run("echo $mark").strip() == "kept"


def test_without_a_worker_the_page_is_told_what_to_do(page: Open, console: Console) -> None:
    console.kill("terminals")
    refused = page("mo").open()
    assert refused["retry"] is True
    assert "manage.py terminals" in str(refused["hint"])


@pytest.mark.parametrize(
    ("status", "retry", "words"),
    [(Status.CREATING, True, "still being created"), (Status.TERMINATED, False, "is terminated"),
     (Status.FAILED, False, "could not be brought up")],
)  # fmt: skip
def test_cluster_that_does_not_run_says_what_to_do(
    page: Open, cluster: Cluster, status: Status, retry: bool, words: str
) -> None:
    Cluster.objects.filter(pk=cluster.pk).update(status=status)
    refused = page("mo").open()
    assert refused["retry"] is retry
    assert words in str(refused["sentence"])
    assert refused["hint"]


def test_login_node_that_is_down_is_tried_again(page: Open, cluster: Cluster) -> None:
    Region.objects.update(config={"is_down": True})
    assert page("mo").open()["retry"] is True


def test_everything_is_in_the_audit_trail_but_the_content(page: Open) -> None:
    mo = page("mo")
    mo.open()
    mo.read_until("ready> ")
    mo.run("echo not-for-the-audit")
    mo.type("exit\n")
    mo.wait_closed()
    opened, closed = wait_for_events(2)
    assert (opened.verb, opened.who, opened.cluster, opened.address) == (
        "opened a terminal",
        "mo",
        "demo",
        "127.0.0.1",
    )
    assert closed.verb == "closed a terminal"
    assert closed.detail["reason"] == "exit"
    assert (
        closed.detail["bytes_in"] > 10 and closed.detail["bytes_out"] > 10 and closed.detail["lasted_s"] >= 0
    )
    assert not re.search(
        "not-for-the-audit", f"{opened.detail} {closed.detail} {opened.target} {closed.target}"
    )


def wait_for(is_so: Callable[[], bool], within_s: float = 20) -> None:
    deadline = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def wait_for_events(count: int) -> list[Event]:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        found = list(Event.objects.order_by("pk"))
        if len(found) >= count:
            return found
        time.sleep(0.05)
    raise AssertionError(f"only {Event.objects.count()} events")


def test_page_that_types_past_its_credit_is_cut_off(page: Open) -> None:
    mo = page("mo")
    mo.open()
    mo.read_until("ready> ")
    mo.socket.send(b"x" * 300_000)
    assert mo.wait_closed() == BROKEN


def test_page_that_floods_is_closed_and_its_terminal_and_another_s_go_on(page: Open) -> None:
    ada = page("ada")
    ada.open()
    ada.read_until("ready> ")
    mo = page("mo")
    session = mo.open()["session"]
    mo.read_until("ready> ")
    for _ in range(3 * MESSAGES_AT_ONCE):
        mo.say(kind="ping")
    assert mo.wait_closed(within_s=20) == TOO_MUCH
    assert "messages a second" in mo.close_reason
    assert ada.run("echo still-$((1+1))").strip() == "still-2"
    time.sleep(2)
    again = page("mo")
    assert again.open(session=session)["fresh"] is False


def test_message_larger_than_any_of_a_page_is_refused_by_the_server(page: Open) -> None:
    mo = page("mo")
    mo.open()
    mo.socket.send(b"x" * 600_000)
    assert mo.wait_closed() == 1009
