"""Changes that start when nothing runs any more that they would end, and ends of a cluster that come at a time."""

from datetime import timedelta

import pytest
from django.utils import timezone

from clusters import answers, changes
from clusters.lifecycle import Status
from clusters.machine import ChangeStatus, Kind
from clusters.models import Change, Cluster
from clusters.schedule import HOLDS, hold, start_due, with_holds
from clusters.when import WHEN_IDLE
from console.errors import Conflict, Unavailable
from tests.cast import a_node, fake
from tests.clusters.test_run import said
from tests.clusters.test_schedule import fresh, runs

S = ChangeStatus
NODES = ("slinky-0", "slinky-1", "cpu-workers-0")


@pytest.fixture
def busy(cluster: Cluster) -> Cluster:
    """One job runs, and the cluster was just looked at."""
    for name in NODES:
        a_node(cluster, name)
    runs(cluster, 5, "slinky-0")
    Cluster.objects.filter(pk=cluster.pk).update(observed_at=timezone.now())
    return cluster


def held(cluster: Cluster) -> dict[str, str]:
    return fake(cluster).world.drained


def seen(cluster: Cluster) -> None:
    """What the watcher writes of the nodes."""
    for node in cluster.nodes.all():
        node.reason = held(cluster).get(node.name, "")
        node.save()


def ended(cluster: Cluster) -> None:
    cluster.jobs.update(is_finished=True)
    Cluster.objects.filter(pk=cluster.pk).update(observed_at=timezone.now())


def test_it_waits_for_what_it_would_end_and_says_for_what(busy, cast):
    change = changes.terminate(busy, by=cast.ada, start_at=WHEN_IDLE)
    assert (change.status, change.when_idle, change.start_at) == (S.SCHEDULED, True, None)
    assert start_due(timezone.now()) == ()
    assert fresh(change).waits_for == "Waits for 5 of mo to end."
    assert Cluster.objects.get().status == Status.RUNNING


def test_meanwhile_its_nodes_take_no_new_jobs_and_those_of_others_keep_their_reason(busy, cast):
    busy.nodes.filter(name="slinky-1").update(reason="bad fan (by ben)")
    change = changes.terminate(busy, by=cast.ada, start_at=WHEN_IDLE)
    assert with_holds() == (busy.pk,)
    hold(busy)
    assert set(held(busy)) == {"slinky-0", "cpu-workers-0"}
    assert set(held(busy).values()) == {f"{HOLDS}{change.number} starts when their jobs have ended"}
    fake(busy).calls.clear()
    busy.nodes.exclude(name="slinky-1").update(reason=held(busy)["slinky-0"])
    hold(busy)
    assert not held(busy).keys() & {"slinky-1"}


def test_it_starts_as_soon_as_nothing_runs(busy, cast, carry):
    change = changes.terminate(busy, by=cast.ada, start_at=WHEN_IDLE)
    ended(busy)
    assert start_due(timezone.now()) == (change.pk,)
    assert Cluster.objects.get().status == Status.TERMINATING
    assert carry(change).status == S.COMMITTED
    assert Cluster.objects.get().status == Status.TERMINATED
    assert "Nothing runs in its way." in said(change)


@pytest.mark.parametrize(
    "sight",
    [
        {"observed_at": timezone.now() - timedelta(minutes=5)},
        {"observed_at": timezone.now(), "observed_problem": "The controller does not answer."},
    ],
    ids=["old", "troubled"],
)
def test_what_cannot_be_seen_is_not_taken_for_idle(busy, cast, sight):
    change = changes.terminate(busy, by=cast.ada, start_at=WHEN_IDLE)
    ended(busy)
    Cluster.objects.filter(pk=busy.pk).update(**sight)
    assert start_due(timezone.now()) == ()
    assert fresh(change).waits_for == "Waits until the cluster can be looked at."


def test_cancelled_it_gives_the_nodes_back(busy, cast):
    change = changes.terminate(busy, by=cast.ada, start_at=WHEN_IDLE)
    hold(busy)
    seen(busy)
    answers.cancel(change, by=cast.ada)
    assert with_holds() == (busy.pk,)
    hold(busy)
    seen(busy)
    assert held(busy) == {} and with_holds() == ()


def test_an_outage_holds_nothing_up_and_the_next_look_goes_on(busy, cast, monkeypatch):
    changes.terminate(busy, by=cast.ada, start_at=WHEN_IDLE)

    def away(*_: object) -> None:
        raise Unavailable("The controller does not answer.")

    with monkeypatch.context() as patched:
        patched.setattr("tests.fakes.FakeProvisioner.drain", away)
        with pytest.raises(Unavailable):
            hold(busy)
    hold(busy)
    assert set(held(busy)) == set(NODES)


def test_what_would_end_nothing_starts_now(cluster, cast):
    change = changes.propose(
        cluster, cluster.spec.with_slurm_conf("# x"), base=1, by=cast.ada, start_at=WHEN_IDLE
    )
    assert (change.status, change.when_idle) == (S.PROPOSED, False)


def test_there_is_one_wait_at_a_time(busy, cast):
    changes.terminate(busy, by=cast.ada, start_at=WHEN_IDLE)
    with pytest.raises(Conflict, match="is scheduled already"):
        changes.terminate(busy, by=cast.ada, start_at=WHEN_IDLE)
    assert changes.terminate(busy, by=cast.ada).status == S.PROPOSED
    assert Change.objects.get(number=1).status == S.STOPPED


# At a time


@pytest.mark.parametrize(
    ("kind", "after"), [(Kind.TERMINATE, Status.TERMINATING), (Kind.RECONFIGURE, Status.RUNNING)]
)
def test_more_than_edits_start_at_a_time(busy, cast, carry, kind, after):
    at = timezone.now() + timedelta(hours=1)
    ask = {Kind.TERMINATE: changes.terminate, Kind.RECONFIGURE: changes.reconfigure}[kind]
    change = ask(busy, by=cast.ada, start_at=at)
    assert change.status == S.SCHEDULED and Cluster.objects.get().status == Status.RUNNING
    assert start_due(at - timedelta(seconds=1)) == ()
    assert start_due(at) == (change.pk,)
    assert Cluster.objects.get().status == after
    assert carry(change).status == S.COMMITTED


def test_an_end_comes_whatever_became_current_meanwhile(cluster, cast, carry):
    at = timezone.now() + timedelta(hours=1)
    change = changes.terminate(cluster, by=cast.ada, start_at=at)
    other = changes.propose(cluster, cluster.spec.with_slurm_conf("# now"), base=1, by=cast.ada)
    assert carry(other).status == S.COMMITTED
    assert start_due(at) == (change.pk,)


def test_who_may_no_longer_end_it_ends_nothing(busy, cast):
    at = timezone.now() + timedelta(hours=1)
    change = changes.terminate(busy, by=cast.ada, start_at=at)
    cast.ada.role = "operator"
    cast.ada.save()
    assert start_due(at) == ()
    assert fresh(change).status == S.REJECTED and Cluster.objects.get().status == Status.RUNNING
