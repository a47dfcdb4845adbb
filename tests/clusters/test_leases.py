"""Leases: one worker at a time, and one that was thought dead finds nothing to write to."""

import threading

import pytest
from django.db import connection
from django.utils import timezone

from clusters import changes, leases
from clusters.leases import LEASE_S, Clock, LeaseLost, take
from clusters.machine import ChangeStatus
from clusters.models import Change
from clusters.run import run
from tests.cast import fake, the_cast, tiny_cluster


@pytest.fixture
def change(cluster, cast) -> Change:
    return changes.propose(cluster, cluster.spec.with_slurm_conf("# x"), base=1, by=cast.ada)


def test_a_taken_change_cannot_be_taken(change, hand):
    assert take(change.pk, hand.clock)
    assert take(change.pk, hand.clock) is None


def test_a_lease_that_ran_out_can_be_taken_and_the_first_worker_writes_nothing_more(change, hand):
    first = take(change.pk, hand.clock)
    hand.turn(LEASE_S + 1)
    assert take(change.pk, hand.clock)
    for write in (first.write, lambda: first.say("I am back.")):
        with pytest.raises(LeaseLost):
            write()
    assert not change.lines.filter(text="I am back.").exists()


def test_every_write_prolongs_the_hold(change, hand):
    lease = take(change.pk, hand.clock)
    for _ in range(5):
        hand.turn(LEASE_S - 1)
        lease.say("Still here.")
    assert take(change.pk, hand.clock) is None


def test_a_release_lets_the_next_one_in_at_once(change, hand):
    take(change.pk, hand.clock).release()
    assert take(change.pk, hand.clock)


def test_a_late_release_does_not_take_the_lease_from_another(change, hand):
    first = take(change.pk, hand.clock)
    hand.turn(LEASE_S + 1)
    take(change.pk, hand.clock)
    first.release()
    assert take(change.pk, hand.clock) is None


@pytest.mark.parametrize("status", [ChangeStatus.COMMITTED, ChangeStatus.REJECTED, ChangeStatus.STUCK])
def test_an_ended_change_is_not_taken(change, hand, status):
    Change.objects.update(status=status)
    assert take(change.pk, hand.clock) is None
    assert not leases.free_at(hand.at).exists()


def test_time_without_a_worker_does_not_count_against_the_deadline(change, hand):
    lease = take(change.pk, hand.clock)
    lease.write(status=ChangeStatus.APPLYING, deadline=hand.at)
    hand.turn(LEASE_S + 600)
    assert (
        take(change.pk, hand.clock).change.deadline - lease.change.deadline
    ).total_seconds() == LEASE_S + 600


def test_a_given_up_change_is_held_by_its_worker_until_it_lets_go(change, hand):
    lease = take(change.pk, hand.clock)
    Change.objects.update(status=ChangeStatus.FAILED)
    successor = Change.objects.create(
        cluster=change.cluster, number=2, kind="terminate", summary="Terminate tiny"
    )
    hand.turn(LEASE_S - 1)
    lease.hold()
    hand.turn(LEASE_S - 1)
    assert take(successor.pk, hand.clock) is None
    lease.release()
    assert take(successor.pk, hand.clock)


def test_a_change_that_does_not_exist_is_nobodys(db, hand):
    assert take(0, hand.clock) is None
    run(0, clock=hand.clock)


@pytest.mark.django_db(transaction=True)
def test_the_heart_beats_through_an_effect_that_says_nothing(monkeypatch):
    monkeypatch.setattr(leases, "LEASE_S", 0.6)
    monkeypatch.setattr(leases, "BEAT_S", 0.1)
    cast = the_cast()
    cluster = tiny_cluster(cast.team)
    change = changes.propose(cluster, cluster.spec.with_slurm_conf("# x"), base=1, by=cast.ada)
    stolen = []

    def silence() -> None:
        began = timezone.now()
        while (timezone.now() - began).total_seconds() < 1.5:
            stolen.extend(leases.free_at(timezone.now()))
            threading.Event().wait(0.05)

    fake(cluster).script.during_apply = silence
    run(change.pk, clock=Clock())
    change.refresh_from_db()
    assert (change.status, stolen) == (ChangeStatus.COMMITTED, [])
    connection.close()
