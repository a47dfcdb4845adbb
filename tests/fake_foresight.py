"""What the fake platform says that an act touches. Pure."""

from collections.abc import Iterator

from clusters.acts import (
    Act,
    Delete,
    Does,
    Edit,
    Fate,
    PartKind,
    Reapply,
    Reboot,
    RestartPart,
    Terminate,
    Touch,
)
from clusters.scaling import coming, leaving


def foreseen(act: Act) -> tuple[Touch, ...]:
    """Workers have a /tmp of their own here, and the login node its homes; another image restarts everything."""
    if isinstance(act, Edit):
        return tuple(_foreseen_edit(act))
    if isinstance(act, RestartPart | Reboot):
        nodes = act.nodes if isinstance(act, Reboot) else act.spec.node_names
        if isinstance(act, RestartPart) and act.part is not PartKind.WORKERS:
            return (
                Touch(act.part, Does.RESTARTS, loses=("/home", "/tmp") if act.part is PartKind.LOGIN else ()),
            )
        jobs = Fate.AWAITED if act.when_idle else Fate.QUEUED
        return (Touch(PartKind.WORKERS, Does.RESTARTS, nodes, jobs, ("/tmp", "/dev/shm")),)
    if isinstance(act, Terminate | Delete):
        workers = Touch(PartKind.WORKERS, Does.STOPS, act.spec.node_names, Fate.ENDS, ("/tmp",))
        return (
            Touch(PartKind.LOGIN, Does.STOPS, loses=("/tmp",)),
            workers,
            Touch(PartKind.CONTROLLER, Does.STOPS),
        )
    return (Touch(PartKind.CONTROLLER, Does.READS),) if isinstance(act, Reapply) else ()


def _foreseen_edit(act: Edit) -> Iterator[Touch]:
    gone, new = leaving(act.before, act.after), coming(act.before, act.after)
    if gone:
        jobs = Fate.ENDS if act.force else Fate.AWAITED
        yield Touch(PartKind.WORKERS, Does.GOES, gone, jobs, ("/tmp",))
    if act.before.image != act.after.image:
        stays = tuple(name for name in act.after.node_names if name not in new)
        yield Touch(PartKind.CONTROLLER, Does.RESTARTS)
        yield Touch(PartKind.WORKERS, Does.RESTARTS, stays, Fate.QUEUED, ("/tmp",))
    elif act.before != act.after:
        yield Touch(PartKind.CONTROLLER, Does.READS)
    if new:
        yield Touch(PartKind.WORKERS, Does.COMES, new)
