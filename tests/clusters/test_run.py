"""A change carried through on the fake platform: where it ends, what the cluster is then, and what its log
says."""

from dataclasses import replace
from datetime import timedelta

import pytest

from clusters import changes, leases
from clusters.lifecycle import Status
from clusters.machine import ChangeStatus, Kind
from clusters.models import Change, Cluster
from clusters.observation import Judgement, Verdict
from clusters.run import CHECK_S, CREATE_S, EDIT_S, MOST_ATTEMPTS
from console.errors import Problem, Rejected, Unavailable
from console.models import Event
from tests.cast import a_node, fake, tiny_spec
from tests.fakes import BAD_LINE, DEADLY_LINE

S = ChangeStatus
WAITING = Judgement(Verdict.WAITING, "slinky-2 has not registered yet.")


def edit(cluster: Cluster, cast, **fields) -> Change:
    fields = fields or {"slurm_conf": "SchedulerParameters=bf_max_job_test=500"}
    return changes.propose(
        cluster, replace(cluster.spec, **fields), base=cluster.revision.number, by=cast.ada
    )


def said(change: Change) -> str:
    return "\n".join(line.text for line in change.lines.all())


def runs(cluster: Cluster, spec) -> bool:
    return fake(cluster).judge(spec).verdict is Verdict.DONE


def test_a_good_edit_is_committed_and_runs(cluster, cast, carry):
    change = carry(edit(cluster, cast))
    assert change.status == S.COMMITTED
    assert change.cluster.revision == change.revision
    assert runs(cluster, change.revision.parsed)


def test_the_log_tells_each_step_in_order(cluster, cast, carry):
    lines = said(carry(edit(cluster, cast))).splitlines()
    steps = [
        "ada asked: slurm.conf: 1 line.",
        "Checking",
        "Checked",
        "Wrote nodes.json.",
        "Applied.",
        "Done: revision 2",
    ]
    found = [next(n for n, line in enumerate(lines) if line.startswith(step)) for step in steps]
    assert found == sorted(found)


def test_problems_reject_before_anything_is_touched(cluster, cast, carry):
    change = carry(edit(cluster, cast, slurm_conf=BAD_LINE))
    assert change.status == S.REJECTED
    assert change.problems[0]["path"] == "slurm_conf"
    assert "apply" not in fake(cluster).calls
    assert runs(cluster, cluster.spec)


def test_advice_is_said_and_does_not_stop_a_change(cluster, cast, carry):
    fake(cluster).script.check = [(Problem("slurm_conf", "This needs a restart.", blocking=False),)]
    change = carry(edit(cluster, cast))
    assert change.status == S.COMMITTED
    assert "Note: This needs a restart." in said(change)


def test_a_platform_that_cannot_check_rejects_after_its_deadline(cluster, cast, carry, hand):
    fake(cluster).script.check = [Unavailable("No shadow controller could be started.")] * 1000
    before = hand.at
    change = carry(edit(cluster, cast))
    assert change.status == S.REJECTED
    assert "No shadow controller could be started." in change.why
    assert CHECK_S <= (hand.at - before).total_seconds() < CHECK_S + 2


def test_a_refused_edit_is_rolled_back_with_the_daemons_own_words(cluster, cast, carry):
    change = carry(edit(cluster, cast, slurm_conf=DEADLY_LINE))
    assert change.status == S.ROLLED_BACK
    assert "slurmctld died" in change.why
    assert change.problems[0]["line"] == 1
    assert change.cluster.revision.number == 1
    assert change.cluster.status == Status.RUNNING
    assert runs(cluster, cluster.spec)


def test_a_hopeless_edit_is_rolled_back_at_once(cluster, cast, carry, hand):
    fake(cluster).script.judge = [Judgement(Verdict.HOPELESS, "slurmctld exits at every start.")]
    before = hand.at
    change = carry(edit(cluster, cast))
    assert change.status == S.ROLLED_BACK
    assert change.why == "slurmctld exits at every start."
    assert (hand.at - before).total_seconds() < 2
    assert runs(cluster, cluster.spec)


def test_an_edit_that_never_shows_is_rolled_back_at_its_deadline(cluster, cast, carry, hand):
    before = hand.at
    fake(cluster).script.judge = [WAITING] * (EDIT_S * 2 + 2)
    change = carry(edit(cluster, cast))
    assert change.status == S.ROLLED_BACK
    assert change.why == "Not done in time. slinky-2 has not registered yet."
    assert EDIT_S <= (hand.at - before).total_seconds() < EDIT_S + 5


def test_an_apply_that_took_too_long_and_worked_is_not_undone(cluster, cast, carry, hand):
    fake(cluster).script.during_apply = lambda: hand.turn(EDIT_S + 60)
    assert carry(edit(cluster, cast)).status == S.COMMITTED


def test_what_is_awaited_is_said_once_not_at_every_look(cluster, cast, carry):
    fake(cluster).script.judge = [WAITING] * 20
    assert said(carry(edit(cluster, cast))).count("has not registered yet") == 1


def test_an_apply_that_cannot_tell_is_tried_again(cluster, cast, carry):
    fake(cluster).script.apply = [Unavailable("The API server does not answer.")] * 3
    change = carry(edit(cluster, cast))
    assert change.status == S.COMMITTED
    assert said(change).count("The API server does not answer. Trying again.") == 1


def test_a_restore_that_is_refused_is_stuck_and_the_cluster_says_so(cluster, cast, carry):
    fake(cluster).script.apply = [Rejected("The new file was refused."), Rejected("The old one too.")]
    change = carry(edit(cluster, cast))
    assert change.status == S.STUCK
    assert "The old one too." in change.cluster.status_why
    assert change.cluster.status == Status.RUNNING
    assert change.cluster.revision.number == 1


def test_a_restore_writes_once_and_then_only_looks(cluster, cast, carry):
    platform = fake(cluster)
    platform.script.judge = [Judgement(Verdict.HOPELESS, "No."), WAITING, WAITING, WAITING]
    applied = []
    platform.script.during_apply = lambda: applied.append(1)
    assert carry(edit(cluster, cast)).status == S.ROLLED_BACK
    assert len(applied) == 2


def test_a_good_commit_clears_an_old_complaint(cluster, cast, carry):
    cluster.enter(Status.RUNNING, "Change 1 is stuck.")
    assert carry(edit(cluster, cast)).cluster.status_why == ""


def test_a_created_cluster_is_running_at_revision_one(cast, region, carry):
    cluster = changes.create_cluster(cast.team, region, tiny_spec("fresh"), by=cast.ada)
    change = carry(cluster.changes.get())
    assert change.status == S.COMMITTED
    assert change.cluster.status == Status.RUNNING
    assert change.cluster.revision.number == 1


def test_a_creation_has_five_minutes_and_then_fails_the_cluster(cast, region, carry, hand):
    cluster = changes.create_cluster(cast.team, region, tiny_spec("fresh"), by=cast.ada)
    fake(cluster).script.judge = [WAITING] * (CREATE_S * 3)
    before = hand.at
    change = carry(cluster.changes.get())
    assert change.status == S.FAILED
    assert change.cluster.status == Status.FAILED
    assert "slinky-2 has not registered yet." in change.cluster.status_why
    assert CREATE_S <= (hand.at - before).total_seconds() < CREATE_S + 5


def test_a_rejected_creation_fails_the_cluster(cast, region, carry):
    spec = tiny_spec("fresh", slurm_conf=BAD_LINE)
    cluster = changes.create_cluster(cast.team, region, spec, by=cast.ada)
    change = carry(cluster.changes.get())
    assert (change.status, change.cluster.status) == (S.REJECTED, Status.FAILED)


def test_a_failed_creation_can_be_tried_again(cast, region, carry):
    cluster = changes.create_cluster(cast.team, region, tiny_spec("fresh"), by=cast.ada)
    fake(cluster).script.apply = [Rejected("No port is free.")]
    assert carry(cluster.changes.get()).status == S.FAILED
    again = carry(changes.reconfigure(cluster, by=cast.ada))
    assert (again.kind, again.status) == (Kind.CREATE, S.COMMITTED)
    assert again.cluster.status == Status.RUNNING


def test_reconfigure_applies_the_current_revision_again(cluster, cast, carry):
    change = carry(changes.reconfigure(cluster, by=cast.ada))
    assert (change.kind, change.status) == (Kind.RECONFIGURE, S.COMMITTED)
    assert change.cluster.revisions.count() == 1


def test_a_terminated_cluster_has_no_nodes_and_keeps_its_record(cluster, cast, carry):
    a_node(cluster, "slinky-0")
    change = carry(changes.terminate(cluster, by=cast.ada))
    assert change.cluster.status == Status.TERMINATED
    assert not cluster.nodes.exists()
    assert cluster.revisions.exists()


def test_a_termination_that_fails_can_be_asked_for_again(cluster, cast, carry):
    fake(cluster).script.terminate = [Rejected("A daemon cannot be stopped.")]
    change = carry(changes.terminate(cluster, by=cast.ada))
    assert (change.status, change.cluster.status) == (S.STUCK, Status.FAILED)
    assert carry(changes.terminate(cluster, by=cast.ada)).cluster.status == Status.TERMINATED


def test_deleting_a_failed_cluster_stops_it_first(cluster, cast, carry):
    cluster.enter(Status.FAILED)
    change = carry(changes.delete(cluster, by=cast.ada))
    assert change.cluster.status == Status.DELETED
    assert fake(cluster).world.destroyed


def test_a_creating_cluster_is_terminated_over_its_creation(cast, region, carry, hand):
    cluster = changes.create_cluster(cast.team, region, tiny_spec("fresh"), by=cast.ada)
    creation = cluster.changes.get()
    fake(cluster).script.during_apply = lambda: ended.append(changes.terminate(cluster, by=cast.ada))
    ended: list[Change] = []
    creation = carry(creation)
    assert creation.status == S.FAILED
    assert "ada asked to terminate" in creation.why
    assert carry(ended[0]).cluster.status == Status.TERMINATED
    assert not fake(cluster).world.running


def test_the_next_change_waits_for_the_worker_of_a_given_up_one(cast, region, carry, hand):
    cluster = changes.create_cluster(cast.team, region, tiny_spec("fresh"), by=cast.ada)

    def give_up() -> None:
        ending = changes.terminate(cluster, by=cast.ada)
        assert carry(ending).status == S.PROPOSED

    fake(cluster).script.during_apply = give_up
    assert carry(cluster.changes.get()).status == S.FAILED
    assert carry(cluster.changes.first()).status == S.COMMITTED


def test_nodes_with_jobs_that_go_are_named_beforehand(cluster, cast, carry):
    a_node(cluster, "slinky-1", machine="e2e_node_7", cpus_allocated=4)
    change = edit(cluster, cast, groups=tiny_spec(nodes=1).groups)
    assert "Jobs run on e2e_node_7 (slinky-1), which this change takes away." in said(carry(change))


def test_a_change_that_kills_every_worker_is_given_up(cluster, cast, carry, hand):
    change = edit(cluster, cast)
    Change.objects.filter(pk=change.pk).update(attempts=MOST_ATTEMPTS, status=S.APPLYING)
    change = carry(change)
    assert change.status == S.ROLLED_BACK
    assert "interrupted" in change.why


def test_a_fault_of_ours_leaves_the_change_to_the_next_attempt(cluster, cast, carry):
    def fault() -> None:
        fake(cluster).script.during_apply = lambda: None
        raise ZeroDivisionError

    fake(cluster).script.during_apply = fault
    change = carry(edit(cluster, cast))
    assert (change.status, change.lease_until) == (S.APPLYING, None)
    assert carry(change).status == S.COMMITTED


@pytest.mark.parametrize("outcome", [S.COMMITTED, S.ROLLED_BACK])
def test_every_end_is_in_the_audit_trail(cluster, cast, carry, outcome):
    conf = DEADLY_LINE if outcome is S.ROLLED_BACK else "# fine"
    carry(edit(cluster, cast, slurm_conf=conf))
    event = Event.objects.filter(verb=f"change.{outcome}").get()
    assert (event.who, event.target, event.cluster) == ("ada", "change 1", "tiny")


def test_the_time_of_a_dead_worker_does_not_reject_a_change_that_was_being_checked(
    cluster, cast, carry, hand
):
    change = edit(cluster, cast)
    lease = leases.take(change.pk, hand.clock)
    lease.write(status=S.CHECKING, deadline=hand.at + timedelta(seconds=CHECK_S))
    hand.turn(leases.LEASE_S + 1)
    assert carry(change).status == S.COMMITTED
