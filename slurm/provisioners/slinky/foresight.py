"""What an act touches on Kubernetes, told from the objects that it would change. Pure.

Which changes make the operator start new pods is what slurm-operator 1.2 was seen to do: a NodeSet's pods go by all of
its spec but its size, a LoginSet's by all but its service, a Controller's by all but its configuration, which
`inplaceReconfigure` has read in the running pod. Pods keep nothing of their own.
"""

from collections.abc import Iterable, Iterator, Mapping

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
from clusters.spec import ClusterSpec
from slurm.foresight import everything_stops, fate_with_node
from slurm.kube.kinds import ACCOUNTING, CONFIG_MAP, CONTROLLER, LOGIN_SET, NODE_SET, Thing
from slurm.provisioners.slinky.names import Names

OF_WORKER = ("/tmp", "/dev/shm", "/root", "/home")
OF_LOGIN = ("/root", "/home", "/tmp")
# Parts of a spec with which no pod is made anew.
TAKEN_IN_PLACE = {
    NODE_SET.name: frozenset({"replicas", "updateStrategy"}),
    LOGIN_SET.name: frozenset({"replicas", "service", "strategy"}),
    CONTROLLER.name: frozenset({"extraConf", "configFileRefs"}),
    ACCOUNTING.name: frozenset({"extraConf"}),
}
PARTS = {
    ACCOUNTING.name: PartKind.ACCOUNTING,
    CONTROLLER.name: PartKind.CONTROLLER,
    LOGIN_SET.name: PartKind.LOGIN,
}


def foresee(act: Act, before: Iterable[Thing], after: Iterable[Thing], names: Names) -> tuple[Touch, ...]:
    """`before` and `after` are the renderings of an edit's two specs, and empty for every other act."""
    if isinstance(act, Edit):
        return tuple(_edit(act, _by_name(before), tuple(after), names))
    if isinstance(act, Reapply):
        return (Touch(PartKind.CONTROLLER, Does.READS),)
    if isinstance(act, RestartPart):
        return _restart(act)
    if isinstance(act, Reboot):
        jobs = Fate.AWAITED if act.when_idle else fate_with_node(act.spec)
        return (Touch(PartKind.WORKERS, Does.RESTARTS, act.nodes, jobs, OF_WORKER),)
    if isinstance(act, Terminate | Delete):
        return everything_stops(act.spec, worker_loses=OF_WORKER, login_loses=OF_LOGIN)
    return ()


def _edit(
    act: Edit, before: Mapping[tuple[str, str], Thing], after: tuple[Thing, ...], names: Names
) -> Iterator[Touch]:
    """In the order of an upgrade; nodes that go are waited for first, and those that come are there last."""
    gone, new = leaving(act.before, act.after), coming(act.before, act.after)
    if gone:
        yield Touch(PartKind.WORKERS, Does.GOES, gone, Fate.ENDS if act.force else Fate.AWAITED, OF_WORKER)
    for thing in after:
        kind, old = thing["kind"], before.get(_identity(thing))
        if old is None or not _differs(thing, old):
            continue
        if kind == NODE_SET.name and _renews(thing, old):
            group = str(thing["metadata"]["name"]).removeprefix(names.node_set(""))
            stays = _staying(act.after, group, new)
            yield Touch(PartKind.WORKERS, Does.RESTARTS, stays, Fate.AWAITED, OF_WORKER, is_rolling=True)
        elif kind in PARTS:
            does = Does.RESTARTS if _renews(thing, old) else Does.READS
            lost = OF_LOGIN if (kind, does) == (LOGIN_SET.name, Does.RESTARTS) else ()
            yield Touch(PARTS[kind], does, loses=lost)
        elif kind == CONFIG_MAP.name and _identity(thing)[1] == names.slurm_files:
            yield Touch(PartKind.CONTROLLER, Does.READS)
    if new:
        yield Touch(PartKind.WORKERS, Does.COMES, new)


def _restart(act: RestartPart) -> tuple[Touch, ...]:
    """Workers are renewed some at a time, each when its jobs have ended, whatever was asked for."""
    if act.part is PartKind.WORKERS:
        nodes = act.spec.node_names
        return (Touch(PartKind.WORKERS, Does.RESTARTS, nodes, Fate.AWAITED, OF_WORKER, is_rolling=True),)
    return (Touch(act.part, Does.RESTARTS, loses=OF_LOGIN if act.part is PartKind.LOGIN else ()),)


def _staying(spec: ClusterSpec, group: str, new: tuple[str, ...]) -> tuple[str, ...]:
    found = spec.group(group)
    return tuple(name for name in found.node_names if name not in new) if found else ()


def _by_name(things: Iterable[Thing]) -> dict[tuple[str, str], Thing]:
    return {_identity(thing): thing for thing in things}


def _identity(thing: Thing) -> tuple[str, str]:
    return str(thing["kind"]), str(thing["metadata"]["name"])


def _differs(thing: Thing, old: Thing) -> bool:
    return bool(dict(thing) != dict(old))


def _renews(thing: Thing, old: Thing) -> bool:
    """Whether the difference makes new pods. Of an Accounting its own annotations count, too."""
    kept = TAKEN_IN_PLACE[thing["kind"]]
    parts = (
        {key: value for key, value in one.get("spec", {}).items() if key not in kept} for one in (thing, old)
    )
    now, then = parts
    return bool(now != then) or thing["metadata"].get("annotations") != old["metadata"].get("annotations")
