"""Groups of job states, how each is drawn, and what may be asked of a job in it.

Pure. `slurm.states` says which states there are and which word each has on screen; here are the groups that lists are
filtered by, the tone of each word, and the steps that Slurm takes. Codes are those of squeue(1) and sacct(1), 22.05 to
26.05.
"""

from dataclasses import dataclass
from enum import StrEnum

from slurm.states import FINISHED, UNKNOWN, is_held, state_word


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


@dataclass(frozen=True)
class _Seen:
    state: str
    reason: str


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
HELD_STATES = ("REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT")
WAITING = ("PENDING", "REQUEUED", "REQUEUE_FED", *HELD_STATES)
ON_NODES = (
    *("RUNNING", "COMPLETING", "CONFIGURING", "RESIZING"),
    *("SIGNALING", "STAGE_OUT", "STOPPED", "SUSPENDED"),
)
GOOD_ENDS = ("COMPLETED",)
BAD_ENDS = ("FAILED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL", "BOOT_FAIL", "DEADLINE")
OTHER_ENDS = ("CANCELLED", "PREEMPTED", "REVOKED", UNKNOWN)
ENDED = (*GOOD_ENDS, *BAD_ENDS, *OTHER_ENDS)
# slurmctld forgets an ended job after MinJobAge, 300 s unless set: only until then can it be requeued.
REQUEUE_AFTER_END_S = 300

TONES = {
    **dict.fromkeys(ON_NODES, "busy"),
    **dict.fromkeys(GOOD_ENDS, "ok"),
    **dict.fromkeys(BAD_ENDS, "bad"),
    **dict.fromkeys(("SUSPENDED", "STOPPED", "PREEMPTED", *HELD_STATES), "warn"),
}


def face(state: str, reason: str = "") -> Face:
    """The drawing of a state; `reason` tells the waiting from the held and the hopeless. Never raises."""
    if state == "PENDING" and reason in NEVER:
        return Face("cannot run", "bad")
    return Face(state_word(_Seen(state, reason)) or "unknown", TONES.get(state, "idle"))


def steps(state: str, reason: str = "", *, ended_s: float | None = None) -> frozenset[Step]:
    """What Slurm would take for a job in this state; `ended_s` is how long ago it ended."""
    if state in FINISHED:
        fresh = ended_s is not None and ended_s < REQUEUE_AFTER_END_S
        return frozenset({Step.REQUEUE}) if fresh else frozenset()
    if state in ON_NODES:
        return frozenset({Step.CANCEL, Step.REQUEUE})
    held = is_held(reason) or state in HELD_STATES
    return frozenset({Step.CANCEL, Step.RELEASE if held else Step.HOLD})
