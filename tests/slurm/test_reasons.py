"""Why a job waits, in words, for every code that Slurm knows."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from clusters.nodes import parse_state
from clusters.observation import JobSeen, NodeSeen
from slurm.jobs.states import Step, steps
from slurm.reasons import explain, looks_at_nodes, survey, why
from slurm.states import state_word

AT = datetime(2026, 11, 30, 9, 43, tzinfo=UTC)
JOB = JobSeen(
    job_id="7", submit_at=AT, name="train", user="ada", account="ml", partition="slinky", state="PENDING",
    reason="Resources", priority=1, nodes="", node_count=1, cpus=1, gpus=8, memory_mib=100, limit_s=None,
    start_at=None, end_at=None, qos="normal",
)  # fmt: skip


def node(number: int, used: int = 0, state: str = "MIXED", **facts) -> NodeSeen:
    plain = NodeSeen(
        name=f"slinky-{number}", machine="", state=parse_state(state), machine_state="", cpus=8, cpus_allocated=used,
        memory_mib=64000, memory_allocated_mib=0, gpus=8, gpus_allocated=used, partitions=("all", "slinky"),
    )  # fmt: skip
    return replace(plain, **facts)


BUSY = (node(0, 8), node(1, 7), node(2, 6), node(3, 8))


@pytest.mark.parametrize(
    ("job", "sentence"),
    [
        (JOB, "Needs 8 free GPUs on one node; most is 2 (slinky-2)."),
        (replace(JOB, gpus=16), "Asks 16 GPUs on one node; the largest has 8."),
        (replace(JOB, gpus=0, cpus=4), "Needs 4 free CPUs on one node; most is 2 (slinky-2)."),
        (replace(JOB, gpus=16, node_count=2), "Needs 2 nodes with 8 free GPUs each; none of 4 have that."),
        (replace(JOB, gpus=2, node_count=2, cpus=2), "What it asks for is free; it should start soon."),
        (replace(JOB, gpus=4, node_count=2), "Needs 2 nodes with 2 free GPUs each; 1 of 4 has that."),
        (replace(JOB, gpus=40, node_count=5), "Asks 5 nodes; only 4 of its partition are large enough."),
        (
            replace(JOB, memory_mib=65536, gpus=0),
            "Asks 64 GiB of memory on one node; the largest has 62.5 GiB.",
        ),
        (replace(JOB, gpus=1), "What it asks for is free; it should start soon."),
    ],
)
def test_resources_are_explained_by_what_is_free(job, sentence):
    assert why(job, BUSY) == sentence


def test_nodes_that_take_no_jobs_are_named_with_their_reason():
    nodes = (node(0, 8), node(1, 0, "IDLE+DRAIN", reason="bad  fan\n(by ada)"), node(3, 0, "DOWN"))
    job = replace(
        JOB,
        reason="Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions",
    )
    assert why(job, nodes) == (
        "slinky-1 is drained (bad fan (by ada)), slinky-3 is down; needs 8 free GPUs on one node; most is 0 (slinky-0)."
    )
    assert looks_at_nodes(job)


def test_a_job_may_start_in_any_of_its_partitions():
    seen = survey((node(0, 8), replace(node(9, 4), name="big-0", gpus=16, cpus=16, partitions=("big",))))
    assert explain(JOB, seen) == "Needs 8 free GPUs on one node; most is 0 (slinky-0)."
    assert explain(replace(JOB, partition="slinky,big"), seen).startswith("What it asks for is free")
    assert (
        explain(replace(JOB, gpus=12, partition="slinky"), seen)
        == "Asks 12 GPUs on one node; the largest has 8."
    )
    assert (
        explain(replace(JOB, gpus=12, partition="slinky,big"), seen)
        == "What it asks for is free; it should start soon."
    )


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ({"reason": "Priority"}, "Waits behind jobs of higher priority in partition slinky."),
        ({"reason": "JobHeldUser"}, "Held by its owner or an operator. Release to let it compete."),
        ({"reason": "ReqNodeNotAvail, UnavailableNodes:slinky-[0-3],JobHeldAdmin"},
         "Held by an administrator. An operator can release it."),
        ({"reason": "Dependency", "dependency": "afterok:4127(unfulfilled)"}, "After 4127 finishes well (afterok)."),
        ({"reason": "Dependency", "dependency": "afterok:4_*(unfulfilled),afterany:9(unfulfilled)"},
         "After 4 finishes well (afterok) and 9 has ended (afterany)."),
        ({"reason": "Dependency", "dependency": "after:4+5(unfulfilled)?afternotok:9(unfulfilled)"},
         "After 4 has started, 5 minutes later (after) or 9 fails (afternotok)."),
        ({"reason": "Dependency", "dependency": "singleton(unfulfilled)"},
         "After the other jobs of this user with the same name have ended (singleton)."),
        ({"reason": "BeginTime", "start_at": datetime(2026, 12, 1, 14, 5, tzinfo=UTC)},
         "Not before 2026-12-01 14:05 UTC, as asked (--begin) or after a requeue."),
        ({"reason": "QOSMaxGRESPerUser"}, "The limit of QOS normal on GPUs for each user is reached."),
        ({"reason": "AssocGrpCPURunMinutesLimit"},
         "The limit of account ml on running minutes of CPUs is reached."),
        ({"reason": "AssocMaxNodePerJobLimit"}, "Asks more nodes than account ml allows for a job."),
        ({"reason": "QOSMinGRES"}, "Asks fewer GPUs than QOS normal requires."),
        ({"reason": "PartitionDown"}, "Partition slinky is down: it takes jobs and starts none."),
        ({"reason": "something\nnew"}, "Slurm says: something new"),
        ({"state": "RUNNING", "reason": ""}, ""),
        ({"state": "COMPLETED", "reason": ""}, ""),
        ({"state": "FAILED", "reason": "NonZeroExitCode", "exit_code": "3:0"}, "Exited with 3."),
        ({"state": "FAILED", "reason": "", "exit_code": "0:9"}, "Ended by signal 9."),
        ({"state": "TIMEOUT", "reason": "TimeLimit"}, "Reached its time limit."),
    ],
)  # fmt: skip
def test_sentences(facts, sentence):
    assert why(replace(JOB, **facts), BUSY) == sentence


# The pending reasons of libslurm 24.11's own table.
# fmt: off
CODES = [
    "None", "Priority", "Dependency", "Resources", "PartitionNodeLimit", "PartitionTimeLimit",
    "PartitionDown", "PartitionInactive", "JobHeldAdmin", "BeginTime", "Licenses", "JobHeldUser",
    "DependencyNeverSatisfied", "QOSJobLimit", "QOSResourceLimit", "QOSTimeLimit", "Cleaning", "NodeDown",
    "BadConstraints", "SystemFailure", "JobLaunchFailure", "NonZeroExitCode", "TimeLimit", "InactiveLimit",
    "InvalidAccount", "InvalidQOS", "QOSUsageThreshold", "ReqNodeNotAvail", "Reservation",
    "AssociationJobLimit", "AssociationResourceLimit", "AssociationTimeLimit", "Prolog",
    "ReservationDeleted", "ReservationInvalid", "RequiresReservation", "JobArrayTaskLimit",
    "JobHoldMaxRequeue", "AccountNotAllowed", "AccountingPolicy", "QOSNotAllowed", "OutOfMemory",
    "DeadLine", "SchedDefer", "MaxMemPerLimit", "MaxPoweredUpNodes", "MpiPortsBusy", "FedJobLock",
    "BurstBufferResources", "BurstBufferStageIn", "BurstBufferOperation", "PartitionConfig", "RequeueExit",
    "RequeueExitHold", "AssocGrpBB", "AssocGrpBBMinutes", "AssocGrpBBRunMinutes", "AssocGrpBilling",
    "AssocGrpCPUMinutesLimit", "AssocGrpCPURunMinutesLimit", "AssocGrpCpuLimit", "AssocGrpEnergy",
    "AssocGrpGRES", "AssocGrpGRESMinutes", "AssocGrpGRESRunMinutes", "AssocGrpJobsLimit", "AssocGrpLicense",
    "AssocGrpMemLimit", "AssocGrpMemMinutes", "AssocGrpMemRunMinutes", "AssocGrpNodeLimit",
    "AssocGrpNodeMinutes", "AssocGrpSubmitJobsLimit", "AssocGrpUnknown", "AssocGrpWallLimit",
    "AssocMaxBBPerJob", "AssocMaxBillingMinutesPerJob", "AssocMaxCpuMinutesPerJobLimit",
    "AssocMaxCpuPerJobLimit", "AssocMaxCpuPerNode", "AssocMaxGRESPerJob", "AssocMaxGRESPerNode",
    "AssocMaxJobsLimit", "AssocMaxMemPerJob", "AssocMaxNodePerJobLimit", "AssocMaxSubmitJobLimit",
    "AssocMaxWallDurationPerJobLimit", "MaxBBPerAccount", "MaxBillingRunMinsPerUser", "MaxCpuPerAccount",
    "MaxGRESPerAccount", "MaxGRESRunMinsPerUser", "MaxJobsPerAccount", "MaxMemoryPerAccount",
    "MaxNodePerAccount", "MaxSubmitJobsPerAccount", "QOSGrpCPUMinutesLimit", "QOSGrpCpuLimit", "QOSGrpGRES",
    "QOSGrpGRESRunMinutes", "QOSGrpJobsLimit", "QOSGrpMemLimit", "QOSGrpMemoryMinutes", "QOSGrpNodeLimit",
    "QOSGrpSubmitJobsLimit", "QOSGrpWallLimit", "QOSMaxCpuPerJobLimit", "QOSMaxCpuPerUserLimit",
    "QOSMaxGRESPerNode", "QOSMaxGRESPerUser", "QOSMaxJobsPerUserLimit", "QOSMaxMemoryPerUser",
    "QOSMaxNodePerUserLimit", "QOSMaxSubmitJobPerUserLimit", "QOSMaxWallDurationPerJobLimit",
    "QOSMinCpuNotSatisfied", "QOSMinGRES", "QOSMinMemory", "QOSMinNode",
]
# fmt: on


@pytest.mark.parametrize("code", CODES)
def test_every_code_has_a_sentence_of_its_own(code):
    text = why(replace(JOB, reason=code), BUSY)
    assert text.endswith(".") and "Slurm says" not in text and "{" not in text


@pytest.mark.parametrize(
    "reason",
    [
        "launch failed requeued held",
        "launch failure limit exceeded requeued held",
        "user env retrieval failed requeued held",
        "job requeued in held state",
        "job requeued in special exit state",
    ],
)
def test_a_job_that_was_put_back_and_held_is_held_and_can_be_released(reason: str) -> None:
    job = replace(JOB, reason=reason)
    assert state_word(job) == "held"
    assert steps(job.state, job.reason) == {Step.CANCEL, Step.RELEASE}
    assert "elease" in why(job, BUSY) and "Slurm says" not in why(job, BUSY)


def test_state_words():
    assert state_word(JOB) == "waiting"
    assert state_word(replace(JOB, reason="JobHeldUser")) == "held"
    assert state_word(replace(JOB, state="OUT_OF_MEMORY")) == "out of memory"
    assert state_word(replace(JOB, state="SOMETHING_NEW")) == "something new"
