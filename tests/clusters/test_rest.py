"""Changes of several phases, changes that wait for days, and changes that somebody cancels."""

from datetime import timedelta

import pytest

from clusters import answers, changes, leases, opening
from clusters.machine import ChangeStatus
from clusters.models import Change
from clusters.observation import Judgement, Verdict
from clusters.run import EDIT_S, MOST_ATTEMPTS, run
from clusters.watch import watch_once
from console.errors import Conflict, Forbidden, Rejected, Unavailable
from console.models import Event
from tests.cast import fake
from tests.clusters.test_run import edit, said

S = ChangeStatus
DAY_S = 24 * 3600
AGAIN = Judgement(Verdict.APPLY_AGAIN, "slinky-2 has registered.")
NO = Judgement(Verdict.HOPELESS, "No.")
WAITING = Judgement(Verdict.WAITING, "slinky-1 is being removed.")


def patient(text: str = "Waits for 2 jobs on slinky-1.") -> Judgement:
    return Judgement(Verdict.WAITING, text, patient=True)


def applies(cluster) -> list[int]:
    """Grows with every apply of the cluster from now on."""
    counted: list[int] = []
    fake(cluster).script.during_apply = lambda: counted.append(1)
    return counted


def test_a_phase_that_is_over_is_followed_by_another_apply(cluster, cast, carry):
    fake(cluster).script.judge = [WAITING, AGAIN, WAITING]
    applied = applies(cluster)
    change = carry(edit(cluster, cast))
    assert change.status == S.COMMITTED
    assert len(applied) == 2
    assert said(change).count("Applying the next step.") == 1


def test_phases_share_one_deadline(cluster, cast, carry, hand):
    phase_s = 10
    fake(cluster).script.judge = [AGAIN] * (EDIT_S // phase_s + 1)
    fake(cluster).script.during_apply = lambda: hand.turn(phase_s)
    before = hand.at
    change = carry(edit(cluster, cast))
    assert change.status == S.ROLLED_BACK
    assert EDIT_S <= (hand.at - before).total_seconds() < EDIT_S + 3 * phase_s


def test_a_way_back_may_have_phases_too(cluster, cast, carry):
    fake(cluster).script.judge = [NO, AGAIN]
    applied = applies(cluster)
    assert carry(edit(cluster, cast)).status == S.ROLLED_BACK
    assert len(applied) == 3


def test_a_patient_wait_holds_no_worker_and_is_taken_up_again(cluster, cast, carry, hand):
    fake(cluster).script.judge = [patient()] * 3
    change = carry(edit(cluster, cast))
    for _ in range(2):
        assert (change.status, change.lease_until, change.rests) == (S.OBSERVING, None, True)
        assert change.waits_for == "Waits for 2 jobs on slinky-1."
        assert change in leases.free_at(hand.at)
        change = carry(change)
    change = carry(change)
    assert (change.status, change.waits_for) == (S.COMMITTED, "")


def test_a_patient_wait_of_days_is_said_once_and_counts_neither_time_nor_attempts(cluster, cast, carry, hand):
    looks = MOST_ATTEMPTS * 3
    fake(cluster).script.judge = [patient(f"Waits for {n} jobs.") for n in range(looks, 0, -1)] + [
        WAITING,
        AGAIN,
    ]
    change = edit(cluster, cast)
    for left in range(looks, 0, -1):
        change = carry(change)
        assert change.waits_for == f"Waits for {left} jobs."
        hand.turn(DAY_S)
    change = carry(change)
    assert change.status == S.COMMITTED
    assert [line.text for line in change.lines.all() if "Waits for" in line.text] == [
        f"Waits for {looks} jobs."
    ]


def test_what_comes_after_the_wait_has_its_deadline(cluster, cast, carry, hand):
    fake(cluster).script.judge = [patient()]
    change = carry(edit(cluster, cast))
    hand.turn(DAY_S)
    fake(cluster).script.judge = [WAITING] * (EDIT_S * 2 + 2)
    before = hand.at
    change = carry(change)
    assert change.status == S.ROLLED_BACK
    assert EDIT_S - 10 <= (hand.at - before).total_seconds() < EDIT_S + 5


def test_a_wait_that_begins_late_leaves_time_for_what_follows(cluster, cast, carry, hand):
    fake(cluster).script.during_apply = lambda: hand.turn(EDIT_S + 60)
    fake(cluster).script.judge = [patient()]
    change = carry(edit(cluster, cast))
    fake(cluster).script.judge = [AGAIN]
    fake(cluster).script.during_apply = lambda: None
    assert carry(change).status == S.COMMITTED


def test_a_platform_that_is_away_during_the_wait_costs_no_time(cluster, cast, carry, hand):
    fake(cluster).script.judge = [patient()]
    change = carry(edit(cluster, cast))
    for _ in range(5):
        fake(cluster).script.judge = [Unavailable("The API server does not answer.")]
        change = carry(change)
        assert (change.status, change.waits_for) == (S.OBSERVING, "The API server does not answer.")
        hand.turn(DAY_S)
    assert carry(change).status == S.COMMITTED


def test_a_worker_killed_while_it_looks_leaves_the_wait_as_it_was(cluster, cast, carry, hand):
    fake(cluster).script.judge = [patient()]
    change = carry(edit(cluster, cast))
    for _ in range(3):
        leases.take(change.pk, hand.clock)
        hand.turn(leases.LEASE_S + 1)
    fake(cluster).script.judge = [patient()]
    change = carry(change)
    assert (change.status, change.rests, change.attempts, change.deadline) == (S.OBSERVING, True, 0, None)
    assert carry(change).status == S.COMMITTED


def test_a_way_back_waits_as_well_without_being_written_again(cluster, cast, carry):
    fake(cluster).script.judge = [NO, patient("Waits for a job on slinky-2.")]
    applied = applies(cluster)
    change = carry(edit(cluster, cast))
    assert (change.status, change.why, change.rests) == (S.ROLLING_BACK, "No.", True)
    change = carry(change)
    assert (change.status, change.why) == (S.ROLLED_BACK, "No.")
    assert len(applied) == 2


def test_a_cluster_whose_change_rests_is_still_revived(cluster, cast, carry):
    fake(cluster).script.judge = [patient()]
    carry(edit(cluster, cast))
    fake(cluster).kill("slinky-1")
    watch_once(cluster, fake(cluster))
    assert not fake(cluster).world.down


def test_a_cancelled_wait_goes_back(cluster, cast, carry):
    fake(cluster).script.judge = [patient()]
    change = carry(edit(cluster, cast))
    answers.cancel(change, by=cast.ada)
    change = carry(change)
    assert (change.status, change.why) == (S.STOPPED, "Cancelled by ada.")
    assert change.cluster.revision.number == 1
    assert said(change).endswith("Stopped and undone: revision 1 runs again.")
    assert Event.objects.get(verb="change.stopped").outcome == "done"
    assert "ada asked to cancel." in said(change)
    assert "Cancelled by ada. Going back to revision 1." in said(change)


@pytest.mark.parametrize("status", [S.PROPOSED, S.CHECKING])
def test_what_was_not_begun_is_cancelled_untouched(cluster, cast, carry, status):
    change = edit(cluster, cast)
    Change.objects.update(status=status)
    answers.cancel(change, by=cast.ada)
    applied = applies(cluster)
    change = carry(change)
    assert (change.status, change.why, applied) == (S.STOPPED, "Cancelled by ada.", [])


def test_a_change_is_cancelled_while_a_worker_applies_it(cluster, cast, carry, hand):
    change = edit(cluster, cast)

    def meanwhile() -> None:
        fake(cluster).script.during_apply = lambda: None
        answers.cancel(Change.objects.get(), by=cast.ada)

    fake(cluster).script.during_apply = meanwhile
    assert carry(change).status == S.STOPPED


def test_a_change_that_failed_before_the_wish_was_heard_was_stopped_by_nobody(cluster, cast, carry):
    change = edit(cluster, cast)

    def meanwhile() -> None:
        fake(cluster).script.during_apply = lambda: None
        answers.cancel(Change.objects.get(), by=cast.ada)

    fake(cluster).script.during_apply = meanwhile
    fake(cluster).script.apply = [Rejected("slurmctld died of it.")]
    change = carry(change)
    assert (change.status, change.cancelled_by) == (S.ROLLED_BACK, None)
    assert change.why == "slurmctld died of it."


def test_a_cancelled_change_whose_worker_died_goes_back(cluster, cast, carry, hand):
    change = edit(cluster, cast)
    leases.take(change.pk, hand.clock).write(status=S.APPLYING, deadline=hand.at + timedelta(seconds=EDIT_S))
    answers.cancel(change, by=cast.ada)
    hand.turn(leases.LEASE_S + 1)
    assert carry(change).status == S.STOPPED


def test_a_stop_whose_worker_died_on_the_way_back_stays_one(cluster, cast, carry, hand):
    fake(cluster).script.judge = [patient()]
    change = carry(edit(cluster, cast))
    answers.cancel(change, by=cast.ada)
    fake(cluster).script.judge = [patient()]
    change = carry(change)
    assert (change.status, change.rests) == (S.ROLLING_BACK, True)
    assert carry(change).status == S.STOPPED


def test_a_cancellation_is_in_the_audit_trail_and_wakes_a_worker(
    cluster, cast, carry, monkeypatch, django_capture_on_commit_callbacks
):
    fake(cluster).script.judge = [patient()]
    change = carry(edit(cluster, cast))
    called = []
    monkeypatch.setattr(opening.apply_change, "apply_async", lambda args, **options: called.append(args))
    with django_capture_on_commit_callbacks(execute=True):
        answers.cancel(change, by=cast.ada)
    event = Event.objects.get(verb="change.cancelled")
    assert (event.who, event.target) == ("ada", "change 1")
    assert called == [(change.pk,)]


def test_a_change_is_cancelled_once(cluster, cast, hand):
    change = edit(cluster, cast)
    answers.cancel(change, by=cast.ada)
    with pytest.raises(Conflict, match="being cancelled already"):
        answers.cancel(change, by=cast.ada)


@pytest.mark.parametrize(
    "status", [S.COMMITTED, S.REJECTED, S.ROLLING_BACK, S.ROLLED_BACK, S.STOPPED, S.STUCK]
)
def test_what_is_over_or_goes_back_cannot_be_cancelled(cluster, cast, status):
    change = edit(cluster, cast)
    Change.objects.update(status=status)
    with pytest.raises(Conflict, match=status):
        answers.cancel(change, by=cast.ada)


def test_applying_again_what_should_be_cannot_be_cancelled(cluster, cast):
    change = changes.reconfigure(cluster, by=cast.ada)
    with pytest.raises(Conflict, match="nothing to go back to"):
        answers.cancel(change, by=cast.ada)


@pytest.mark.parametrize("who", ["ben", "mo", "cy"])
def test_only_who_may_change_the_cluster_may_cancel(cluster, cast, who):
    change = edit(cluster, cast)
    with pytest.raises(Forbidden):
        answers.cancel(change, by=getattr(cast, who))
    change.refresh_from_db()
    assert change.cancelled_by is None


def test_a_forced_change_tells_the_platform_so_and_its_way_back_does_not(cluster, cast, hand, monkeypatch):
    asked = []
    kind, apply = type(fake(cluster)), type(fake(cluster)).apply
    monkeypatch.setattr(
        kind, "apply", lambda self, spec, say, *, force=False: (asked.append(force), apply(self, spec, say))
    )
    fake(cluster).script.judge = [NO]
    change = changes.propose(cluster, cluster.spec.with_slurm_conf("# x"), base=1, by=cast.ada, force=True)
    run(change.pk, clock=hand.clock)
    assert asked == [True, False]
