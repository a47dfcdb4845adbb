"""What a cluster's status allows: one table for the page, the API and the task alike.

Pure. The words are those on the page. Rows follow the managed consoles' own table; where they are silent or in doubt
the choice is ours, and `WHY` says why. docs/cluster-life.md shows both.
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
    Status.DELETING: frozenset({Step.CLONE}),
    Status.DELETED: frozenset(),
}
# What each step is made of, as people call it.
ABOUT: dict[Step, str] = {
    Step.CHANGE: "Scale, update image, mount and unmount, slurm.conf, partitions, SSH keys, go back to a revision",
    Step.OPERATE: "Drain, resume and reboot nodes; cancel, hold, release, requeue and submit jobs",
    Step.RECONFIGURE: "Reconfigure",
    Step.RESTART: "Restart the controller, the login node, the workers",
    Step.CLONE: "Clone",
    Step.TERMINATE: "Terminate",
    Step.DELETE: "Delete",
}
# Decisions that are not plain from the words.
WHY: dict[tuple[Status, Step], str] = {
    (
        Status.CREATING,
        Step.RECONFIGURE,
    ): "The remedy for a creation that does not move on: it is tried again.",
    (
        Status.CREATING,
        Step.CLONE,
    ): "Clone reads the desired state alone, and that is there from the first moment.",
    (Status.CREATING, Step.TERMINATE): "Nobody should have to wait for a hopeless one.",
    (Status.CREATING, Step.DELETE): "Terminate it first: what has come up is then stopped in order.",
    (
        Status.RUNNING,
        Step.DELETE,
    ): "Two steps for what cannot be undone: Terminate keeps the record and the accounting.",
    (
        Status.FAILED,
        Step.RECONFIGURE,
    ): "A failed creation is tried again with what is there; nothing is typed anew.",
    (Status.FAILED, Step.TERMINATE): "What came up of it still runs, and its record may be wanted.",
    (Status.FAILED, Step.DELETE): "There is nothing to keep; Delete ends what still runs of it as well.",
    (Status.TERMINATING, Step.CLONE): "It reads the desired state alone.",
    (
        Status.TERMINATING,
        Step.DELETE,
    ): "One end after the other: it can be deleted as soon as it is Terminated.",
    (Status.DELETING, Step.CLONE): "It reads the desired state alone, for as long as there is a record.",
}


def allows(status: Status, step: Step) -> bool:
    return step in ALLOWED[status]


def refusal(status: Status, step: Step) -> str:
    """One sentence saying why not, empty when it is allowed."""
    if allows(status, step):
        return ""
    possible = [s.value for s, steps in ALLOWED.items() if step in steps]
    return f"A cluster that is {status.value} cannot be {PASSIVE[step]}; it must be {' or '.join(possible)}."
