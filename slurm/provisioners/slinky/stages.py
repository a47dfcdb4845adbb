"""What can be done now, of all that a spec asks for: the next stage of a change. Pure.

A change of the nodes takes several stages, because workers are dynamic nodes (see `conf`): nodes come before the
partitions that name them, and go after. And the operator chooses by itself which worker goes (slurm-operator 1.2: by
`pod-deletion-cost`, then the highest ordinal) and fills the lowest free ordinals first, so that ordinals in the middle
take a detour. Each stage is worked out anew from what is there: a killed or repeated apply goes on where it stands.
"""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field

from clusters.observation import NodeSeen
from clusters.spec import ClusterSpec
from slurm.drains import LEAVES, OPERATOR
from slurm.provisioners.slinky.pods import Worker

GOES_FIRST = -1000


@dataclass(frozen=True)
class Standing:
    """Where the cluster stands. `workers` and `replicas` are by group.

    `nodes` are Slurm's own records, None while no controller answers. `named` are the nodes that the partitions of the
    configuration name that the controller is known to run with, None while that is not known; `written` those of the
    configuration that was last written, whether it runs or not. `is_blank` is a controller that does not start because
    it has lost its records of nodes that partitions name. `remembered` are the partitions of jobs that the controller
    still knows, ended ones included (for MinJobAge seconds).
    """

    workers: Mapping[str, tuple[Worker, ...]] = field(default_factory=dict)
    replicas: Mapping[str, int] = field(default_factory=dict)
    nodes: tuple[NodeSeen, ...] | None = None
    named: frozenset[str] | None = None
    written: frozenset[str] = frozenset()
    is_blank: bool = False
    remembered: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Stage:
    """What to write now.

    `known` are the nodes that partitions may name; `replicas` the size of each group's NodeSet; `going` the nodes that
    must be the ones to go when it shrinks, `is_clear` that no partition names them any more, `closing` those that
    still take jobs; `costs` pods whose deletion cost is to be changed; `forgotten` Slurm's records of nodes that are
    gone; `freed` nodes whose drain is over; `shrunk` groups that no rendering has any more, with their NodeSets' new
    sizes; `unneeded` those of them whose NodeSet can be deleted; `lingering` those that still have workers: jobs there
    would end with their partition.
    """

    known: frozenset[str]
    replicas: Mapping[str, int]
    going: tuple[str, ...] = ()
    is_clear: bool = False
    closing: tuple[str, ...] = ()
    costs: Mapping[str, int] = field(default_factory=dict)
    forgotten: tuple[str, ...] = ()
    freed: tuple[str, ...] = ()
    shrunk: Mapping[str, int] = field(default_factory=dict)
    unneeded: tuple[str, ...] = ()
    lingering: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Step:
    """A NodeSet's next size, and which ordinals go for it."""

    size: int
    going: frozenset[int] = frozenset()


def stage_of(spec: ClusterSpec, standing: Standing) -> Stage:
    steps = {group: step_of(spec, standing, group) for group in groups_of(spec, standing)}
    going = tuple(f"{group}-{n}" for group, step in steps.items() for n in sorted(step.going))
    may_go = standing.named is not None and standing.named.isdisjoint(going)
    costs = _costs(standing, frozenset(going) if may_go else frozenset())
    # The operator may see a NodeSet's new size before the pods' costs, so these have to be there by then.
    may_shrink = may_go and not costs
    now = {group: standing.replicas.get(group, 0) for group in steps}
    replicas = {g: now[g] if step.going and not may_shrink else step.size for g, step in steps.items()}
    return Stage(
        known=known_nodes(standing) & frozenset(spec.node_names),
        replicas=replicas,
        going=going,
        is_clear=may_go,
        closing=_closing(standing, frozenset(going)),
        costs=costs,
        forgotten=_forgotten(spec, standing),
        freed=_freed(spec, standing, going),
        shrunk={g: n for g, n in replicas.items() if spec.group(g) is None and n != now[g]},
        unneeded=tuple(g for g in steps if spec.group(g) is None and not now[g] and _is_over(standing, g)),
        lingering=frozenset(g for g in steps if not _ordinals(spec, g) and standing.workers.get(g)),
    )


def _is_over(standing: Standing, group: str) -> bool:
    """No pod of it is left and no job names its partition: slurmctld has been seen to crash, again and again, when the
    operator took a NodeSet's lines away under such jobs (slurm-operator issue 138)."""
    return not standing.workers.get(group) and group not in standing.remembered


def groups_of(spec: ClusterSpec, standing: Standing) -> tuple[str, ...]:
    """The spec's, and those that still have a NodeSet."""
    return tuple(dict.fromkeys([*(group.name for group in spec.groups), *standing.replicas]))


def known_nodes(standing: Standing) -> frozenset[str]:
    """The nodes of which Slurm has a record. While no controller answers none are added to those that are written, and
    of these the operator must have seen the node in Slurm."""
    if standing.is_blank:
        return frozenset()
    if standing.nodes is not None:
        return frozenset(node.name for node in standing.nodes)
    seen = (w.slurm for workers in standing.workers.values() for w in workers if w.knows_slurm)
    return standing.written.intersection(seen)


def step_of(spec: ClusterSpec, standing: Standing, group: str) -> Step:
    """Fewer first, then more: a full region has no machine to spare for the detour."""
    wanted = _ordinals(spec, group)
    have = expected(standing, group)
    missing = wanted - have
    highest = max(missing, default=-1)
    # Ordinals below a missing one are filled before it; what is there of them may as well stay until then.
    going = frozenset(n for n in have - wanted if n > highest)
    if going:
        return Step(len(have - going), going)
    return Step(len(have | set(range(highest + 1))))


def expected(standing: Standing, group: str) -> frozenset[int]:
    """The ordinals that the operator has or will make: free ones are filled from the lowest."""
    there = {worker.ordinal for worker in standing.workers.get(group, ()) if not worker.leaving}
    size = standing.replicas.get(group, 0)
    free = (n for n in range(size + len(there)) if n not in there)
    return frozenset([*there, *(next(free) for _ in range(size - len(there)))])


def coming(spec: ClusterSpec, standing: Standing) -> tuple[str, ...]:
    """Nodes of the spec that Slurm does not know yet."""
    known = known_nodes(standing)
    return tuple(name for name in spec.node_names if name not in known)


def staying_too_long(spec: ClusterSpec, standing: Standing) -> tuple[Worker, ...]:
    """Workers that the spec does not have and that are still there."""
    wanted = set(spec.node_names)
    return tuple(w for workers in standing.workers.values() for w in workers if w.slurm not in wanted)


def _ordinals(spec: ClusterSpec, group: str) -> frozenset[int]:
    found = spec.group(group)
    return frozenset(found.ordinals) if found else frozenset()


def _costs(standing: Standing, going: Set[str]) -> dict[str, int]:
    """Only those that are not yet as they should be."""
    workers = [worker for workers in standing.workers.values() for worker in workers]
    wanted = {worker.pod: GOES_FIRST if worker.slurm in going else 0 for worker in workers}
    return {worker.pod: wanted[worker.pod] for worker in workers if worker.cost != wanted[worker.pod]}


def _closing(standing: Standing, going: Set[str]) -> tuple[str, ...]:
    """A node that somebody has drained keeps that reason."""
    open_nodes = (node.name for node in standing.nodes or () if "DRAIN" not in node.state.flags)
    return tuple(name for name in open_nodes if name in going)


def _forgotten(spec: ClusterSpec, standing: Standing) -> tuple[str, ...]:
    """A record that a partition still names must stay: without it the next reconfigure is fatal (26.05)."""
    if standing.nodes is None or standing.named is None:
        return ()
    pods = {worker.slurm for workers in standing.workers.values() for worker in workers}
    awaited = {f"{group}-{n}" for group in standing.replicas for n in expected(standing, group)}
    kept = {*spec.node_names, *pods, *awaited, *standing.named}
    gone = (node for node in standing.nodes if node.name not in kept and not node.cpus_allocated)
    return tuple(node.name for node in gone if _is_of_a_group(node.name, groups_of(spec, standing)))


def _is_of_a_group(name: str, groups: Iterable[str]) -> bool:
    group, _, ordinal = name.rpartition("-")
    return ordinal.isdigit() and group in groups


def _freed(spec: ClusterSpec, standing: Standing, going: Iterable[str]) -> tuple[str, ...]:
    """Nodes that stay and are drained only because they were to go, or because their last pod went."""
    settled = {
        worker.slurm
        for workers in standing.workers.values()
        for worker in workers
        if worker.ready and not worker.cordoned
    }
    stay = settled & set(spec.node_names) - set(going)
    return tuple(node.name for node in standing.nodes or () if node.name in stay and _left_drained(node))


def was_to_go(node: NodeSeen) -> bool:
    """Drained for a scale-in, by us or by the operator, which takes its own drain back a little after the size."""
    for_scale_in = node.reason.startswith(OPERATOR) and "scale-in" in node.reason
    return "DRAIN" in node.state.flags and (for_scale_in or node.reason.startswith(LEAVES))


def _left_drained(node: NodeSeen) -> bool:
    """And answers: Slurm resumes no node that it has not heard of."""
    is_there = "NOT_RESPONDING" not in node.state.flags and node.state.base != "UNKNOWN"
    return is_there and "DRAIN" in node.state.flags and node.reason.startswith((OPERATOR, LEAVES))
