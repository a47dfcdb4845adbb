"""What the sandbox touches at each act. Pure; the order is that of `apply` and of the adapter's restarts."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

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
    mounted,
    unmounted,
    upgrades,
)
from clusters.scaling import coming, leaving
from clusters.spec import ClusterSpec
from slurm.foresight import conf_differs, everything_stops, fate_with_node, needs_restart

# What a machine of a room has to itself (`daemons.worker_machine`, `login_machine`) and loses as it restarts. The homes
# of the login node are the room's, and stay until its end: nobody signs in afterwards. Where there are no rooms, all is
# this machine's own.
OF_WORKER = ("/tmp", "/dev/shm", "/root", "/home")
OF_LOGIN = ("/tmp", "/dev/shm")
# From here on a reconfigure starts slurmctld and slurmd afresh in place (Slurm's release notes, 23.11).
FRESH_AT_RECONFIGURE = (23, 11)


def foresee(act: Act, *, has_rooms: bool) -> tuple[Touch, ...]:
    found = tuple(_foreseen(act))
    return found if has_rooms else tuple(replace(touch, loses=()) for touch in found)


def _foreseen(act: Act) -> Iterable[Touch]:
    if isinstance(act, Edit):
        return _edit(act)
    if isinstance(act, Reapply):
        return _read_again(act.spec, act.spec.node_names)
    if isinstance(act, RestartPart):
        return _restart(act)
    if isinstance(act, Reboot):
        return (_renewed(act.spec, act.nodes, when_idle=act.when_idle),)
    if isinstance(act, Terminate):
        return everything_stops(act.spec, worker_loses=_of_worker(act.spec), login_loses=OF_WORKER)
    if isinstance(act, Delete):
        return everything_stops(act.spec, worker_loses=_of_worker(act.spec), login_loses=OF_WORKER)
    return ()


def _edit(act: Edit) -> Iterator[Touch]:
    gone, new = leaving(act.before, act.after), coming(act.before, act.after)
    stays = tuple(name for name in act.after.node_names if name not in new)
    if gone:
        jobs = Fate.ENDS if act.force else Fate.AWAITED
        yield Touch(PartKind.WORKERS, Does.GOES, gone, jobs, _of_worker(act.before))
    if upgrades(act):
        yield from (
            Touch(part, Does.UPGRADES, stays if part is PartKind.WORKERS else ()) for part in PartKind
        )
    if mounted(act) or unmounted(act) or act.before.logins.on != act.after.logins.on:
        yield Touch(PartKind.WORKERS, Does.MOUNTS, stays)
        yield Touch(PartKind.LOGIN, Does.MOUNTS)
    if act.before.logins != act.after.logins:
        yield Touch(PartKind.LOGIN, Does.READS)
    yield from _inits(act, stays)
    if conf_differs(act):
        yield from _conf(act, stays)
    if new:
        yield Touch(PartKind.WORKERS, Does.COMES, new)


def _conf(act: Edit, stays: tuple[str, ...]) -> Iterator[Touch]:
    old = _release(act.after) < FRESH_AT_RECONFIGURE
    if old or needs_restart(act):
        yield Touch(PartKind.CONTROLLER, Does.RESTARTS)
        yield Touch(PartKind.WORKERS, Does.READS, stays)
    else:
        yield from _read_again(act.after, stays)


def _inits(act: Edit, stays: tuple[str, ...]) -> Iterator[Touch]:
    """A new init script runs as soon as it is there; that there is none any more is noticed at the next start."""
    before, after = act.before.scripts, act.after.scripts
    if after.worker_init and after.worker_init != before.worker_init:
        yield Touch(PartKind.WORKERS, Does.RUNS, stays)
    if after.login_init and after.login_init != before.login_init:
        yield Touch(PartKind.LOGIN, Does.RUNS)


def _read_again(spec: ClusterSpec, nodes: tuple[str, ...]) -> tuple[Touch, ...]:
    return (Touch(PartKind.CONTROLLER, Does.READS), Touch(PartKind.WORKERS, Does.READS, nodes))


def _restart(act: RestartPart) -> tuple[Touch, ...]:
    if act.part is PartKind.WORKERS:
        return (_renewed(act.spec, act.spec.node_names, when_idle=act.when_idle),)
    return (Touch(act.part, Does.RESTARTS, loses=OF_LOGIN if act.part is PartKind.LOGIN else ()),)


def _renewed(spec: ClusterSpec, nodes: tuple[str, ...], *, when_idle: bool) -> Touch:
    jobs = Fate.AWAITED if when_idle else fate_with_node(spec)
    return Touch(PartKind.WORKERS, Does.RESTARTS, nodes, jobs, _of_worker(spec))


def _of_worker(spec: ClusterSpec) -> tuple[str, ...]:
    """Login users have one home on all machines."""
    return tuple(place for place in OF_WORKER if place != "/home") if spec.logins.on else OF_WORKER


def _release(spec: ClusterSpec) -> tuple[int, int]:
    major, minor = spec.slurm_version.split(".")[:2]
    return int(major), int(minor)
