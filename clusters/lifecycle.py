"""What a cluster's status allows: one table for the page, the API and the task alike.

Pure. The words are those on the page. Rows follow the managed consoles' own table; where they are silent the choice is
ours: a Creating cluster may be terminated (nobody should have to wait for a hopeless one), and Clone works from every
status that still has a spec.
"""

from enum import StrEnum


class Status(StrEnum):
    CREATING = "Creating"
    RUNNING = "Running"
    FAILED = "Failed"
    TERMINATING = "Terminating"
    TERMINATED = "Terminated"
    DELETING = "Deleting"
    DELETED = "Deleted"


class Step(StrEnum):
    """What a person may ask of a whole cluster."""

    CHANGE = "change"
    OPERATE = "operate"
    RECONFIGURE = "reconfigure"
    RESTART = "restart"
    CLONE = "clone"
    TERMINATE = "terminate"
    DELETE = "delete"


PASSIVE: dict[Step, str] = {
    Step.CHANGE: "changed",
    Step.OPERATE: "operated",
    Step.RECONFIGURE: "reconfigured",
    Step.RESTART: "restarted",
    Step.CLONE: "cloned",
    Step.TERMINATE: "terminated",
    Step.DELETE: "deleted",
}
ALLOWED: dict[Status, frozenset[Step]] = {
    Status.CREATING: frozenset({Step.RECONFIGURE, Step.CLONE, Step.TERMINATE}),
    Status.RUNNING: frozenset(
        {Step.CHANGE, Step.OPERATE, Step.RECONFIGURE, Step.RESTART, Step.CLONE, Step.TERMINATE}
    ),
    Status.FAILED: frozenset({Step.RECONFIGURE, Step.CLONE, Step.TERMINATE, Step.DELETE}),
    Status.TERMINATING: frozenset({Step.CLONE}),
    Status.TERMINATED: frozenset({Step.CLONE, Step.DELETE}),
    Status.DELETING: frozenset(),
    Status.DELETED: frozenset(),
}


def allows(status: Status, step: Step) -> bool:
    return step in ALLOWED[status]


def refusal(status: Status, step: Step) -> str:
    """One sentence saying why not, empty when it is allowed."""
    if allows(status, step):
        return ""
    possible = [s.value for s, steps in ALLOWED.items() if step in steps]
    return f"A cluster that is {status.value} cannot be {PASSIVE[step]}; it must be {' or '.join(possible)}."
