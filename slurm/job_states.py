"""Job states as people speak of them: a word and a tone for each, and what may be asked of a job in it.

Pure: the words of the page, of the filter box and of the API come from here. States and reasons are those of
squeue and sacct (src/common/slurm_protocol_defs.c, `job_state_string` and `job_reason_string`, 22.05 to
26.05), upper case.
"""

from dataclasses import dataclass
from enum import StrEnum


class Step(StrEnum):
    """What a person may ask of a job."""

    CANCEL = "cancel"
    HOLD = "hold"
    RELEASE = "release"
    REQUEUE = "requeue"


@dataclass(frozen=True)
class Face:
    """How a state is drawn. `tone` is ok, busy, warn, bad or idle: a shape and a colour belong to each."""

    word: str
    tone: str


HELD = frozenset({"JobHeldUser", "JobHeldAdmin"})
# Slurm goes on trying for ever; nothing but an edit of the job, or of the cluster, lets these start.
NEVER = frozenset(
    {
        "AccountNotAllowed",
        "BadConstraints",
        "DependencyNeverSatisfied",
        "InvalidAccount",
        "InvalidQOS",
        "PartitionNodeLimit",
        "PartitionTimeLimit",
        "QOSNotAllowed",
    }
)
WAITING = ("PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD", "SPECIAL_EXIT")
ON_NODES = (
    "RUNNING",
    "COMPLETING",
    "CONFIGURING",
    "RESIZING",
    "SIGNALING",
    "STAGE_OUT",
    "STOPPED",
    "SUSPENDED",
)
GOOD_ENDS = ("COMPLETED",)
BAD_ENDS = (
    "FAILED",
    "TIMEOUT",
    "OUT_OF_MEMORY",
    "NODE_FAIL",
    "BOOT_FAIL",
    "DEADLINE",
    "LAUNCH_FAILED",
    "RECONFIG_FAIL",
)
OTHER_ENDS = ("CANCELLED", "PREEMPTED", "REVOKED")
ENDED = (*GOOD_ENDS, *BAD_ENDS, *OTHER_ENDS)
# slurmctld forgets an ended job after MinJobAge, 300 s unless set: only until then can it be requeued.
REQUEUE_AFTER_END_S = 300

FACES = {
    "RUNNING": Face("running", "busy"),
    "COMPLETING": Face("ending", "busy"),
    "CONFIGURING": Face("starting", "busy"),
    "SUSPENDED": Face("suspended", "warn"),
    "STOPPED": Face("stopped", "warn"),
    "PENDING": Face("waiting", "idle"),
    "REQUEUED": Face("requeued", "idle"),
    "REQUEUE_HOLD": Face("held", "warn"),
    "SPECIAL_EXIT": Face("held", "warn"),
    "RESV_DEL_HOLD": Face("held", "warn"),
    "COMPLETED": Face("finished", "ok"),
    "FAILED": Face("failed", "bad"),
    "TIMEOUT": Face("timed out", "bad"),
    "OUT_OF_MEMORY": Face("out of memory", "bad"),
    "NODE_FAIL": Face("node failed", "bad"),
    "BOOT_FAIL": Face("boot failed", "bad"),
    "LAUNCH_FAILED": Face("launch failed", "bad"),
    "DEADLINE": Face("missed deadline", "bad"),
    "CANCELLED": Face("cancelled", "idle"),
    "PREEMPTED": Face("preempted", "warn"),
    "REVOKED": Face("revoked", "idle"),
}


def face(state: str, reason: str = "") -> Face:
    """The drawing of a state; `reason` tells the waiting from the held and the hopeless. Never raises."""
    if state == "PENDING" and reason in HELD:
        return Face("held", "idle")
    if state == "PENDING" and reason in NEVER:
        return Face("cannot run", "bad")
    return FACES.get(state, Face(state.lower().replace("_", " ") or "unknown", "idle"))


def steps(state: str, reason: str = "", *, ended_s: float | None = None) -> frozenset[Step]:
    """What Slurm would take for a job in this state; `ended_s` is how long ago it ended."""
    if state in ENDED:
        fresh = ended_s is not None and ended_s < REQUEUE_AFTER_END_S
        return frozenset({Step.REQUEUE}) if fresh else frozenset()
    if state in ON_NODES:
        return frozenset({Step.CANCEL, Step.REQUEUE})
    held = reason in HELD or state in {"REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"}
    return frozenset({Step.CANCEL, Step.RELEASE if held else Step.HOLD})
