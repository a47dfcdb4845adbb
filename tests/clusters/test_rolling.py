"""Restarts that take their course: some at a time, when their jobs have ended, at a time, stopped, hurried, killed."""

from datetime import UTC, datetime, timedelta

import pytest

from clusters import answers, changes, schedule
from clusters.acts import Reboot, RestartPart
from clusters.conflicts import Busy
from clusters.impact import Impact
from clusters.impact_words import rows_of
from clusters.impacts import act_of, preview
from clusters.lifecycle import Status
from clusters.machine import ChangeStatus, Kind
from clusters.models import Change, Cluster
from clusters.nodes import NodeState
from clusters.observation import NodeSeen, Observation, Part, PartState
from clusters.rolling import Begun, Course, begun, from_json, hurried, look, moved_on, title, to_json
from clusters.watch import watch_once
from console.activity import about
from console.errors import Conflict, Forbidden, Missing, Rejected
from console.models import Event
from tests.cast import fake
from tests.clusters.test_pages import words as text_of
from tests.clusters.test_run import said
from tests.fakes import RESTARTS, FakeProvisioner

S = ChangeStatus
NODES = ("slinky-0", "slinky-1", "cpu-workers-0")
THEN = datetime(2030, 1, 1, tzinfo=UTC)
LATER = THEN + timedelta(seconds=9)


def seen(**nodes: tuple[datetime | None, str, str]) -> Observation:
    """Nodes `n1=(since, state, reason)`, up unless there is no since."""
    parts = [
        Part("worker", name, PartState.UP if since else PartState.STARTING, since)
        for name, (since, _, _) in nodes.items()
    ]
    rows = [_node(name, state, reason) for name, (_, state, reason) in nodes.items()]
    return Observation(THEN, tuple(parts), tuple(rows), ())


def _node(name: str, state: str, reason: str) -> NodeSeen:
    base, *flags = state.split("+")
    return NodeSeen(name, "", NodeState(base, frozenset(flags)), "", 4, 0, 1, 0, 0, 0, (), reason=reason)


IDLE, WAITS = (THEN, "IDLE", ""), (THEN, "MIXED+DRAIN", RESTARTS)
TOLD = Begun(THEN, is_told=True)


def test_no_more_are_told_than_may_be_out():
    course = Course(("n1", "n2", "n3"), at_once=2)
    found = look(course, seen(n1=IDLE, n2=IDLE, n3=IDLE))
    assert dict(found.tell) == {"n1": Begun(THEN), "n2": Begun(THEN)}
    course = begun(begun(course, "n1", TOLD, is_told=True), "n2", TOLD, is_told=True)
    assert not look(course, seen(n1=IDLE, n2=IDLE, n3=IDLE)).tell
    found = look(course, seen(n1=(LATER, "IDLE", ""), n2=IDLE, n3=IDLE))
    assert (found.back, found.starting) == (("n1",), ("n2",))
    assert list(look(moved_on(course, found), seen(n1=IDLE, n2=IDLE, n3=IDLE)).tell) == ["n3"]


@pytest.mark.parametrize(
    ("sight", "where"),
    [
        (WAITS, "waiting"),
        ((None, "DOWN", ""), "starting"),
        ((LATER, "IDLE+DRAIN", "quarterdeck: restarts now"), "starting"),
        ((LATER, "DOWN+NOT_RESPONDING", ""), "starting"),
        ((LATER, "IDLE", ""), "back"),
        ((LATER, "MIXED", ""), "back"),
    ],
)
def test_where_a_node_is_is_told_from_when_it_came_up_and_whether_it_takes_jobs(sight, where):
    course = Course(("n1",), when_idle=True, begun={"n1": TOLD})
    assert getattr(look(course, seen(n1=sight)), where) == ("n1",)


def test_whoever_was_killed_before_it_told_a_node_has_it_told_again_but_not_twice():
    course = Course(("n1",), when_idle=True, begun={"n1": Begun(THEN)})
    assert list(look(course, seen(n1=IDLE)).tell) == ["n1"]
    assert look(course, seen(n1=(None, "DOWN", ""))).starting == ("n1",)
    assert look(course, seen(n1=(LATER, "IDLE", ""))).back == ("n1",)


def test_a_node_that_somebody_drained_is_left_out_of_a_wait_and_keeps_its_drain_otherwise():
    held = (THEN, "IDLE+DRAIN", "XID 79 (by ben)")
    assert look(Course(("n1",), when_idle=True), seen(n1=held)).left_out == ("n1",)
    found = look(Course(("n1",)), seen(n1=held))
    assert found.tell["n1"].reason == "XID 79 (by ben)"
    course = begun(Course(("n1",)), "n1", found.tell["n1"], is_told=True)
    assert look(course, seen(n1=(LATER, "IDLE+DRAIN", "XID 79 (by ben)"))).back == ("n1",)
    assert look(course, seen(n1=(LATER, "IDLE+DRAIN", "Prolog error"))).starting == ("n1",)


def test_nothing_is_begun_while_nobody_tells_of_the_nodes():
    assert look(Course(("n1",)), Observation(THEN, problem="The controller is down.")) == look(
        Course(("n1",)), Observation(THEN)
    )
    assert not look(Course(("n1",)), Observation(THEN)).tell


def test_what_waits_is_told_anew_when_nobody_waits_any_more():
    course = hurried(Course(("n1", "n2"), 1, when_idle=True, begun={"n1": TOLD}))
    assert list(look(course, seen(n1=WAITS, n2=IDLE)).tell) == ["n1"]


def test_a_course_is_kept_as_plain_json():
    course = Course(("n1", "n2"), 1, when_idle=True, begun={"n1": TOLD}, left_out=("n2",))
    assert from_json(to_json(course)) == course


# On its way


def roll(cluster, cast, **how):
    how = {"at_once": 1, "when_idle": True} | how
    return changes.restart(cluster, how.pop("targets", NODES), by=cast.ben, **how)


def world(cluster):
    return fake(cluster).world


def occupy(cluster, *names: str) -> None:
    now = world(cluster)
    now.busy = list(names)
    fake(cluster).save(now)


def look_at(cluster) -> None:
    watch_once(Cluster.objects.get(pk=cluster.pk))


@pytest.fixture
def until_rest(carry, cluster, hand):
    """Carry the change with the watcher looking in between, as it restarts nodes that are idle."""
    hand.on_sleep = lambda: look_at(cluster)
    return lambda change: carry(change)


def test_workers_restart_one_at_a_time_in_their_order_and_wait_for_their_jobs(cluster, cast, until_rest):
    occupy(cluster, "slinky-0")
    change = until_rest(roll(cluster, cast))
    assert (change.kind, change.status, change.rests) == (Kind.RESTART, S.APPLYING, True)
    assert (
        change.summary
        == "Restart slinky-0, slinky-1 and cpu-workers-0, 1 at a time, each when its jobs have ended"
    )
    assert set(world(cluster).drained) == {"slinky-0"} and world(cluster).restarts == []
    assert change.waits_for == "0 of 3 have restarted. Waits for the jobs on slinky-0 to end."
    occupy(cluster)
    for _ in range(9):
        look_at(cluster)
        change = until_rest(change)
    assert change.status == S.COMMITTED, said(change)
    assert world(cluster).restarts == list(NODES) and not world(cluster).drained
    assert said(change).endswith("Done: 3 of 3 have restarted.")
    cluster.refresh_from_db()
    assert (cluster.status, cluster.revision.number, cluster.revisions.count()) == (Status.RUNNING, 1, 1)


def test_without_a_wait_the_next_ones_begin_when_those_before_are_back(cluster, cast, until_rest):
    occupy(cluster, "slinky-0")
    change = until_rest(roll(cluster, cast, when_idle=False, at_once=2))
    assert change.status == S.COMMITTED, said(change)
    assert world(cluster).restarts == list(NODES) and world(cluster).busy == []


@pytest.mark.parametrize("status", [S.APPLYING, S.ROLLING_BACK])
def test_nodes_are_brought_back_while_it_goes_on(cluster, cast, status):
    change = roll(cluster, cast)
    Change.objects.filter(pk=change.pk).update(status=status)
    fake(cluster).restart("slinky-0", lambda text: None, when_idle=True)
    look_at(cluster)
    assert world(cluster).restarts == ["slinky-0"] and not world(cluster).drained


def test_a_service_may_restart_at_a_time(cluster, cast, until_rest, hand):
    at = datetime.now(UTC) + timedelta(hours=1)
    change = roll(cluster, cast, targets=("login",), at_once=0, when_idle=False, start_at=at)
    assert (change.status, change.summary) == (S.SCHEDULED, "Restart the login node")
    assert isinstance(act_of(change), RestartPart)
    assert schedule.start_due(at) == (change.pk,)
    assert until_rest(change).status == S.COMMITTED and world(cluster).restarts == ["login"]


def test_a_node_that_has_gone_by_then_is_told_and_nothing_restarts(cluster, cast):
    at = datetime.now(UTC) + timedelta(hours=1)
    change = roll(cluster, cast, start_at=at)
    Change.objects.update(course=to_json(Course(("slinky-7",))))
    assert schedule.start_due(at) == ()
    change.refresh_from_db()
    assert (change.status, change.why) == (S.REJECTED, "slinky-7 is not there any more.")


def test_who_stops_it_gives_back_what_waits_and_undoes_nothing(cluster, cast, until_rest):
    occupy(cluster, "slinky-1")
    change = roll(cluster, cast)
    for _ in range(4):
        change = until_rest(change)
        look_at(cluster)
    assert set(world(cluster).drained) == {"slinky-1"}
    answers.cancel(change, by=cast.ben)
    change = until_rest(change)
    assert (change.status, change.why) == (S.STOPPED, "Cancelled by ben.")
    did = "1 of 3 has restarted (slinky-0). Not restarted: slinky-1,cpu-workers-0."
    assert said(change).splitlines()[-2:] == ["slinky-1 takes jobs as before.", f"Stopped: {did}"]
    event = Event.objects.get(verb="change.stopped")
    assert (event.outcome, about(event)) == ("done", f"{change.summary}; Cancelled by ben.; {did}")
    assert not world(cluster).drained and world(cluster).restarts == ["slinky-0"]
    cluster.refresh_from_db()
    assert cluster.status == Status.RUNNING


def test_the_page_and_the_api_tell_what_was_restarted_and_what_was_not(client, cluster, cast):
    change = roll(cluster, cast)
    course = Course(NODES, 1, when_idle=True, begun={"slinky-0": TOLD}, done=("slinky-0",))
    Change.objects.update(status=S.STOPPED, course=to_json(course), ended_at=THEN, why="Cancelled by ben.")
    client.force_login(cast.cy.user)
    page = f"/t/research/c/tiny/changes/{change.number}/"
    html = text_of(client.get(page).content.decode())
    assert "Restarted slinky-0 Not restarted slinky-1,cpu-workers-0" in html
    assert "Nothing else restarts." in html and "stopped" in html
    answer = client.get(f"/api/v1/teams/research/clusters/tiny/changes/{change.number}").json()
    assert (answer["status"], answer["cancelled_by"], answer["restart"]["done"]) == (
        "stopped",
        None,
        ["slinky-0"],
    )
    assert answer["restart"]["untouched"] == ["slinky-1", "cpu-workers-0"]


def test_who_waits_no_longer_ends_the_jobs_and_sees_it_before(cluster, cast, until_rest):
    occupy(cluster, "slinky-0", "slinky-1")
    change = until_rest(roll(cluster, cast))
    act = answers.forced(change)
    assert isinstance(act, Reboot) and not act.when_idle and act.nodes == NODES
    answers.force(change, by=cast.ben)
    change = until_rest(change)
    assert change.status == S.COMMITTED, said(change)
    assert world(cluster).restarts == list(NODES) and world(cluster).busy == []
    with pytest.raises(Conflict, match="waits for no job"):
        answers.force(change, by=cast.ben)


def test_one_that_does_not_come_back_stops_the_rest(cluster, cast, until_rest, monkeypatch):
    def breaks(self: FakeProvisioner, part: str, say, *, when_idle: bool = False) -> None:
        self.kill(part)

    monkeypatch.setattr(FakeProvisioner, "restart", breaks)
    monkeypatch.setattr(FakeProvisioner, "revive", lambda self: ())
    change = until_rest(roll(cluster, cast, when_idle=False))
    assert (change.status, change.cancelled_by) == (S.FAILED, None)
    assert said(change).endswith("On the way: slinky-0. Not restarted: slinky-1,cpu-workers-0.")
    assert "Not done in time" in change.why and "slinky-0 is coming up" in change.why
    assert world(cluster).down == ["slinky-0"]


def test_an_outage_stops_no_wait(cluster, cast, until_rest, monkeypatch):
    occupy(cluster, "slinky-0")
    change = until_rest(roll(cluster, cast))

    with monkeypatch.context() as away:
        away.setattr(FakeProvisioner, "observe", lambda self: Observation(THEN, problem="Away."))
        change = until_rest(change)
    assert (change.status, change.rests) == (S.APPLYING, True)


def test_the_impact_tells_the_order_and_the_pace(cluster):
    impact: Impact = preview(cluster, Reboot(cluster.spec, NODES, when_idle=True, at_once=2))
    row = next(row for row in rows_of(impact) if row.label == "Restarts")
    assert row.text == (
        "3 workers, in this order, 2 at a time: each takes no new jobs, and restarts when its own have ended"
    )
    assert row.names == NODES and impact.sort == "rolling restart"


def test_the_impact_says_that_jobs_may_come_until_it_is_a_nodes_turn(cluster):
    now = datetime.now(UTC)
    cluster.jobs.create(
        key="7", number=7, job_id="7", submit_at=now, user="mo", state="RUNNING", nodes="slinky-0", end_at=now
    )
    for when_idle, words in (
        (True, "takes new jobs until it is its turn"),
        (False, "that they have by then"),
    ):
        rows = rows_of(preview(cluster, Reboot(cluster.spec, NODES, when_idle, at_once=1)))
        assert any(words in f"{row.text} {row.note}" for row in rows), rows


def test_one_thing_at_a_time_and_only_by_who_may(cluster, cast):
    with pytest.raises(Forbidden):
        changes.restart(cluster, NODES, by=cast.mo)
    for targets, at_once, error in (
        (("slinky-9",), 1, Missing),
        (("login", "slinky-0"), 1, Missing),
        (NODES, 4, Rejected),
        ((), 0, Rejected),
    ):
        with pytest.raises(error):
            changes.restart(cluster, targets, by=cast.ben, at_once=at_once)
    change = roll(cluster, cast)
    with pytest.raises(Busy):
        roll(cluster, cast)
    with pytest.raises(Forbidden):
        answers.cancel(change, by=cast.mo)


def test_titles_are_short():
    assert title(Course(("controller",))) == "Restart the controller"
    assert title(Course(tuple(f"n{n}" for n in range(9)), 9)) == "Restart 9 workers"
