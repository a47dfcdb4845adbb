"""The kinds of volume, and the words for how one is. Pure."""

from enum import StrEnum


class Kind(StrEnum):
    """What a volume is made of. A dataset is somebody else's files, to read only."""

    PFS = "pfs"
    SFS = "sfs"
    WEKA = "weka"
    DATASET = "dataset"


TITLES = {
    Kind.PFS: "Parallel file system (PFS)",
    Kind.SFS: "Shared file system (SFS)",
    Kind.WEKA: "Weka",
    Kind.DATASET: "Dataset, read-only",
}


class Phase(StrEnum):
    """How the platform says a volume is. Nobody but the worker that looks at volumes writes it."""

    UNSEEN = ""
    PENDING = "pending"
    READY = "ready"
    LOST = "lost"
    FAILED = "failed"


class Status(StrEnum):
    """The word on the page."""

    CREATING = "Creating"
    READY = "Ready"
    GROWING = "Growing"
    LOST = "Lost"
    FAILED = "Failed"
    DELETING = "Deleting"


def status_of(phase: Phase, *, is_going: bool, wanted_gib: int, seen_gib: int | None) -> Status:
    """From what is wanted and what was seen. `seen_gib` is None where the platform keeps no size."""
    if is_going:
        return Status.DELETING
    if phase is Phase.FAILED:
        return Status.FAILED
    if phase is Phase.LOST:
        return Status.LOST
    if phase is Phase.READY:
        return Status.GROWING if seen_gib is not None and seen_gib < wanted_gib else Status.READY
    return Status.CREATING


def may_be_mounted(status: Status) -> bool:
    """One that is still being made is waited for by the pods or processes that mount it."""
    return status in (Status.CREATING, Status.READY, Status.GROWING)
