"""A job's states: which are final, and the word a page shows. Pure.

States are those of squeue(1), JOB STATE CODES, plus `UNKNOWN`, which is ours: the job left the queue while
nobody looked, and accounting has not said yet how it ended.
"""

from typing import Protocol

UNKNOWN = "UNKNOWN"
FINISHED = frozenset(
    {
        "COMPLETED",
        "FAILED",
        "CANCELLED",
        "TIMEOUT",
        "NODE_FAIL",
        "PREEMPTED",
        "BOOT_FAIL",
        "DEADLINE",
        "OUT_OF_MEMORY",
        "REVOKED",
        UNKNOWN,
    }
)
_WORDS = {
    "PENDING": "waiting",
    "CONFIGURING": "starting",
    "RUNNING": "running",
    "COMPLETING": "ending",
    "SUSPENDED": "suspended",
    "STOPPED": "stopped",
    "SIGNALING": "running",
    "RESIZING": "running",
    "STAGE_OUT": "ending",
    "REQUEUED": "waiting",
    "REQUEUE_FED": "waiting",
    "REQUEUE_HOLD": "held",
    "RESV_DEL_HOLD": "held",
    "SPECIAL_EXIT": "held",
    "COMPLETED": "done",
    "FAILED": "failed",
    "CANCELLED": "cancelled",
    "TIMEOUT": "timed out",
    "NODE_FAIL": "node failed",
    "PREEMPTED": "preempted",
    "BOOT_FAIL": "node failed",
    "DEADLINE": "past its deadline",
    "OUT_OF_MEMORY": "out of memory",
    "REVOKED": "moved away",
    UNKNOWN: "left the queue",
}
# Codes, and what the controller writes instead of one (slurmctld of 22.05 to 26.05), in parts.
HELD_REASONS = (
    "JobHeld",
    "JobHoldMaxRequeue",
    "RequeueExitHold",
    "requeued held",
    "requeued in held state",
    "requeued in special exit state",
)


class HasState(Protocol):
    """A JobSeen or a Job row."""

    @property
    def state(self) -> str: ...

    @property
    def reason(self) -> str: ...


def state_word(job: HasState) -> str:
    """One word or two, lower case; a waiting job that starts only when it is released is `held`."""
    if job.state == "PENDING" and is_held(job.reason):
        return "held"
    return _WORDS.get(job.state, job.state.lower().replace("_", " "))


def is_held(reason: str) -> bool:
    return any(part in reason for part in HELD_REASONS)


def is_finished(state: str) -> bool:
    return state in FINISHED
