"""A script on its way through the console to real nodes: tried first, applied, failing, and taken back."""

import pytest

from clusters.access import Door
from clusters.machine import ChangeStatus
from clusters.models import Change, Cluster
from clusters.spec import LifeScripts
from console.errors import Conflict
from slurm.scripts.failures import failures, revert
from slurm.scripts.life import propose_script
from slurm.scripts.trial import try_script
from tests.slurm.truth.stage import Stage

pytestmark = pytest.mark.timeout(300)
GOOD, BAD = "#!/bin/bash\necho ready\n", "#!/bin/bash\necho no disk\nexit 1\n"


def door_of(stage: Stage) -> Door:
    return Door(Cluster.objects.get(pk=stage.cluster.pk), stage.cast.ada)


def applied(stage: Stage, text: str) -> Change:
    change = stage.carry(propose_script(door_of(stage), "worker_prolog", text, stage.number))
    assert change.status == ChangeStatus.COMMITTED, change.why
    stage.look()
    return change


def test_a_prolog_that_drains_nodes_is_taken_back_and_they_take_jobs_again(stage: Stage) -> None:
    applied(stage, GOOD)
    kept = stage.runs("slinky-1")
    applied(stage, BAD)
    job = stage.ask("sbatch", "--parsable", "-o", "/dev/null", "-w", "slinky-0", "--wrap", "true").strip()

    def found() -> list[tuple[str, ...]]:
        stage.look()
        return [failure.names for failure in failures(stage.cluster)]

    stage.until(lambda: found() == [("slinky-0",)], "the failure seen", found)
    stage.ask("scancel", job)
    change = stage.carry(revert(door_of(stage), "worker_prolog", stage.number))
    assert change.status == ChangeStatus.COMMITTED, change.why
    assert stage.spec.scripts == LifeScripts(worker_prolog=GOOD)
    stage.until(lambda: stage.states()["slinky-0"] == "idle", "a node that takes jobs", stage.states)
    assert stage.state(kept) == "RUNNING" and found() == []


def test_a_script_is_tried_on_a_drained_node_and_on_no_other(stage: Stage) -> None:
    with pytest.raises(Conflict):
        try_script(door_of(stage), "worker_prolog", BAD, "slinky-2")
    stage.ask("scontrol", "update", "nodename=slinky-2", "state=drain", "reason=to try")
    trial = try_script(door_of(stage), "worker_prolog", BAD, "slinky-2")
    assert (trial.code, trial.output) == (1, "no disk\n")
    shown = try_script(
        door_of(stage), "worker_prolog", "#!/usr/bin/env -S bash -u\necho $SLURM_JOB_ID\n", "slinky-2"
    )
    assert (shown.code, shown.output) == (0, "0\n")
    assert stage.spec.scripts == LifeScripts()
