"""An operator that is dead or frozen, and a controller that dies of what it is given."""

import pytest

from clusters import run
from clusters.machine import ChangeStatus
from clusters.models import Change
from slurm.kube.kinds import NODE_SET
from slurm.provisioners.slinky.adapter import Slinky
from tests.kube.trouble.ground import SPEC, Ground, limited, said, scaled

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(240, func_only=True)]
S = ChangeStatus
# Shadow checks find it; nothing else does but the controller itself.
FATAL = "SchedulerType=sched/nonsense"


def test_an_operator_that_does_nothing_is_named_and_the_change_is_rolled_back(ground: Ground, monkeypatch):
    monkeypatch.setattr(run, "EDIT_S", 6)
    monkeypatch.setattr(run, "RESTORE_S", 30)
    ground.flip(dead=True)

    def revive(change: Change) -> None:
        if change.status == S.ROLLING_BACK:
            ground.flip(dead=None)

    change = ground.edit(scaled(3), revive)
    assert change.status == S.ROLLED_BACK, said(change)
    assert "Not done in time." in change.why
    assert "Is slurm-operator running" in change.why
    assert ground.get(NODE_SET, ground.names.node_set("slinky"))["spec"]["replicas"] == 2
    assert ground.cluster.revision.number == 1


def test_a_rollback_that_the_operator_never_looks_at_is_stuck_and_says_so(ground: Ground, monkeypatch):
    monkeypatch.setattr(run, "EDIT_S", 4)
    monkeypatch.setattr(run, "RESTORE_S", 4)
    ground.flip(dead=True)
    change = ground.edit(scaled(3))
    assert change.status == S.STUCK, said(change)
    assert "Is slurm-operator running" in change.why
    assert ground.get(NODE_SET, ground.names.node_set("slinky"))["spec"]["replicas"] == 2


def test_a_controller_that_dies_of_its_file_gets_the_old_one_and_jobs_go_on(ground: Ground, monkeypatch):
    monkeypatch.setattr(Slinky, "check", lambda self, spec, shadow=True: ())
    job = ground.a_job_on("slinky-0")
    change = ground.edit(SPEC.with_slurm_conf(f"{SPEC.slurm_conf}{FATAL}\n"))
    assert change.status == S.ROLLED_BACK, said(change)
    assert "does not live with this configuration" in change.why
    assert "sched/nonsense" in change.why or "sched_nonsense" in change.why
    assert ground.job_state(job) == "RUNNING"
    assert ground.cluster.provisioner.judge(SPEC).verdict == "done"
    ground.end_job(job)


def test_scaling_says_that_the_operator_is_frozen_and_goes_on_when_rest_is_back(ground: Ground):
    ground.flip(rest_away=True)
    frozen: list[str] = []

    def heal(change: Change) -> None:
        if "the operator" in said(change) and "updates no worker" in said(change):
            frozen.append(said(change))
            ground.flip(rest_away=None)

    change = ground.edit(scaled(3), heal)
    assert frozen, said(change)
    assert "REST service does not answer" in frozen[0]
    assert change.status == S.COMMITTED, said(change)
    assert "slinky-2" in ground.ask("sinfo", "-h", "-N", "-o", "%N")


def test_an_edit_of_a_partition_reaches_the_controller(ground: Ground):
    """What the other tests start from: without trouble a change commits."""
    change = ground.edit(limited(90))
    assert change.status == S.COMMITTED, said(change)
    assert "MaxTime=01:30:00" in ground.ask("scontrol", "show", "partition", "debug")
