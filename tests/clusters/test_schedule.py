"""Changes that start at a time, and changes that ask again because they cost more than was promised."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from clusters import answers, changes
from clusters.acts import Edit
from clusters.impact import from_json
from clusters.impacts import took_s
from clusters.machine import ChangeStatus
from clusters.models import Change
from clusters.run import run
from clusters.schedule import start_due
from console.errors import Conflict, Forbidden, Rejected
from console.models import Event
from tests.cast import fake, tiny_spec
from tests.clusters.test_run import said

S = ChangeStatus
SOON = timedelta(hours=1)


@pytest.fixture
def at():
    return timezone.now() + SOON


def schedule(cluster, cast, at, spec=None, **how) -> Change:
    spec = spec or tiny_spec(nodes=1)
    return changes.propose(cluster, spec, base=1, by=cast.ada, start_at=at, **how)


def runs(cluster, number: int, nodes: str, gpus: int = 8) -> None:
    cluster.jobs.create(
        key=str(number), number=number, job_id=str(number), submit_at=timezone.now(), user="mo", name="train",
        state="RUNNING", nodes=nodes, partition="all", gpus=gpus,
    )  # fmt: skip


def fresh(change: Change) -> Change:
    return Change.objects.select_related("cluster__revision", "base", "revision").get(pk=change.pk)


def test_nothing_happens_before_its_time(cluster, cast, at):
    change = schedule(cluster, cast, at)
    assert (change.status, change.is_live) == (S.SCHEDULED, False)
    assert start_due(at - timedelta(seconds=1)) == ()
    run(change.pk)
    assert fresh(change).status == S.SCHEDULED
    assert said(change).endswith(f"It starts on {at:%Y-%m-%d} at {at:%H:%M} UTC.")


def test_it_starts_when_its_time_comes_and_once(cluster, cast, at, carry):
    change = schedule(cluster, cast, at)
    assert start_due(at) == (change.pk,)
    assert start_due(at) == ()
    assert carry(change).status == S.COMMITTED
    assert "Its time has come." in said(change)
    assert fresh(change).cluster.spec == tiny_spec(nodes=1)


def test_others_go_on_meanwhile_and_it_waits_for_them_at_its_time(cluster, cast, at, carry):
    change = schedule(cluster, cast, at, spec=cluster.spec.with_slurm_conf("# later"))
    other = changes.reconfigure(cluster, by=cast.ada)
    assert start_due(at) == () and fresh(change).status == S.SCHEDULED
    assert carry(other).status == S.COMMITTED
    assert start_due(at) == (change.pk,)


def test_what_was_made_on_a_revision_that_is_no_longer_current_is_rejected_at_its_time(
    cluster, cast, at, carry
):
    change = schedule(cluster, cast, at)
    other = changes.propose(cluster, cluster.spec.with_slurm_conf("# now"), base=1, by=cast.ada)
    assert carry(other).status == S.COMMITTED
    assert start_due(at) == ()
    change = fresh(change)
    assert change.status == S.REJECTED and "Revision 3 became current" in change.why
    assert Event.objects.latest("pk").verb == "change.rejected"


def test_one_is_scheduled_at_a_time(cluster, cast, at):
    change = schedule(cluster, cast, at)
    with pytest.raises(Conflict, match="is scheduled already"):
        schedule(cluster, cast, at, spec=cluster.spec.with_slurm_conf("# x"))
    with pytest.raises(IntegrityError), transaction.atomic():
        cluster.changes.create(number=9, kind="edit", status=S.SCHEDULED, summary="x")
    answers.cancel(change, by=cast.ada)
    assert schedule(cluster, cast, at, spec=cluster.spec.with_slurm_conf("# x")).status == S.SCHEDULED


@pytest.mark.parametrize("away", [timedelta(seconds=-5), timedelta(days=400)])
def test_a_time_that_is_past_or_far_away_is_refused_at_its_field(cluster, cast, away):
    with pytest.raises(Rejected) as refused:
        schedule(cluster, cast, timezone.now() + away)
    assert refused.value.problems[0].path == "start_at"
    assert not Change.objects.exists()


def test_cancelled_before_its_time_it_is_over_at_once(cluster, cast, at):
    change = answers.cancel(schedule(cluster, cast, at), by=cast.ada)
    assert (change.status, change.why) == (S.STOPPED, "Cancelled by ada.")
    assert change.ended_at and said(change).endswith("Cancelled by ada. Nothing was touched.")
    with pytest.raises(Conflict):
        answers.cancel(change, by=cast.ada)


def test_who_lost_the_right_meanwhile_starts_nothing(cluster, cast, at):
    change = schedule(cluster, cast, at)
    cast.ada.role = "viewer"
    cast.ada.save()
    assert start_due(at) == ()
    assert fresh(change).status == S.REJECTED


def test_terminating_the_cluster_withdraws_it(cluster, cast, at):
    change = schedule(cluster, cast, at)
    changes.terminate(cluster, by=cast.ada)
    assert fresh(change).status == S.STOPPED
    assert "asked to terminate" in fresh(change).why


def forced(cluster, cast, **how) -> Change:
    return changes.propose(cluster, tiny_spec(nodes=1), base=1, by=cast.ada, force=True, **how)


def test_a_change_that_would_end_more_jobs_than_promised_touches_nothing_and_asks(cluster, cast, hand):
    runs(cluster, 7, "slinky-1")
    change = forced(cluster, cast)
    runs(cluster, 8, "slinky-1")
    run(change.pk, clock=hand.clock)
    change = fresh(change)
    assert (change.status, change.rests) == (S.ASKING, True)
    assert change.waits_for == "8 of mo would end now, too."
    assert "apply" not in fake(cluster).calls and set(fake(cluster).world.running) == {
        "nodes.json",
        "slurm.conf",
    }
    run(change.pk, clock=hand.clock)
    assert fresh(change).waits_for == "8 of mo would end now, too."


def asking(cluster, cast, hand) -> Change:
    change = forced(cluster, cast)
    runs(cluster, 8, "slinky-1")
    run(change.pk, clock=hand.clock)
    assert fresh(change).status == S.ASKING
    return fresh(change)


def test_a_yes_lets_it_go_on_and_is_the_new_promise(cluster, cast, hand, carry):
    change = asking(cluster, cast, hand)
    hand.turn(24 * 3600)
    answers.confirm(change, by=cast.ada)
    change = carry(change)
    assert change.status == S.COMMITTED
    assert [job.key for job in from_json(change.impact).ends] == ["8"]
    assert "Confirmed. Checking again." in said(change)
    assert Event.objects.filter(verb="change.confirmed").exists()
    act = Edit(change.base.parsed, change.revision.parsed)
    assert took_s(cluster, act)[0] < 3600, "the time of asking is no time of working"


def test_a_yes_does_not_cover_what_comes_after_it(cluster, cast, hand):
    change = asking(cluster, cast, hand)
    answers.confirm(change, by=cast.ada)
    runs(cluster, 9, "slinky-1")
    run(change.pk, clock=hand.clock)
    change = fresh(change)
    assert (change.status, change.waits_for, change.is_confirmed) == (
        S.ASKING,
        "9 of mo would end now, too.",
        False,
    )


def test_a_no_ends_it_with_nothing_touched(cluster, cast, hand, carry):
    change = carry(answers.cancel(asking(cluster, cast, hand), by=cast.ada))
    assert (change.status, change.why) == (S.STOPPED, "Cancelled by ada.")
    assert said(change).endswith("Stopped, and nothing was touched. Cancelled by ada.")
    assert changes.reconfigure(cluster, by=cast.ada).is_live


def test_an_asking_change_gives_way_to_the_end_of_its_cluster(cluster, cast, hand, carry):
    change = asking(cluster, cast, hand)
    assert carry(changes.terminate(cluster, by=cast.ada)).status == S.COMMITTED
    assert fresh(change).status == S.STOPPED


def test_only_who_may_change_the_cluster_says_yes_and_only_to_what_asks(cluster, cast, hand):
    change = asking(cluster, cast, hand)
    with pytest.raises(Forbidden):
        answers.confirm(change, by=cast.ben)
    answers.cancel(change, by=cast.ada)
    with pytest.raises(Conflict):
        answers.confirm(change, by=cast.ada)


def test_other_jobs_than_a_day_ago_are_no_reason_to_ask_but_more_of_them_are(cluster, cast, at, hand, carry):
    runs(cluster, 7, "slinky-1")
    change = forced(cluster, cast, start_at=at)
    cluster.jobs.update(is_finished=True)
    runs(cluster, 8, "slinky-1")
    assert start_due(at) == (change.pk,)
    assert carry(change).status == S.COMMITTED


def test_more_jobs_than_were_promised_a_day_ago_are_asked_about(cluster, cast, at, hand):
    runs(cluster, 7, "slinky-1")
    change = forced(cluster, cast, start_at=at)
    runs(cluster, 8, "slinky-1", gpus=0)
    start_due(at)
    run(change.pk, clock=hand.clock)
    assert fresh(change).waits_for == "2 jobs with 8 GPUs would end now, where 1 with 8 were promised."
