"""A cluster's partitions: those of the platform, the team's own, and how they are seen to be.

The acts behind the Partitions tab and its API. Partitions are part of the cluster's spec, so every act is a change; it
starts from the revision that the person looked at. What is observed comes from rows that the watcher wrote.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from clusters import changes
from clusters.access import Door
from clusters.hostlist import HostlistError, expand
from clusters.models import Change, Cluster, Partition, Revision
from clusters.spec import CPU_GROUP, GPU_GROUP, ClusterSpec, PartitionSpec
from clusters.validate import validate
from clusters.when import When
from console.errors import Conflict, Missing, Problem, Rejected
from slurm.checks.partition import check_partition
from slurm.jobs.states import WAITING
from slurm.partition_access import access_problems
from slurm.render import partition_fields, partition_line

_INDEX = re.compile(r"\Apartitions\[\d+\]\.?")


@dataclass(frozen=True)
class Coverage:
    """What a list of nodes comes to. Memory is MiB."""

    names: tuple[str, ...] = ()
    gpus: int = 0
    cpus: int = 0
    memory_mib: int = 0


@dataclass(frozen=True)
class Listed:
    """One partition. `lock` is why the platform keeps it, empty for an own one. `seen` is None until the controller has
    been seen to know it."""

    spec: PartitionSpec
    lock: str
    coverage: Coverage
    seen: Partition | None
    running: int
    waiting: int

    @property
    def is_own(self) -> bool:
        return not self.lock


def listed(cluster: Cluster) -> list[Listed]:
    """The platform's, then the team's own, in the spec's order. Three queries."""
    spec = cluster.spec
    seen = {row.name: row for row in cluster.observed_partitions.all()}
    running, waiting = _jobs(cluster)
    return [
        Listed(
            spec=one,
            lock=lock_of(one.name, spec),
            coverage=covered(spec, one.nodes),
            seen=seen.get(one.name),
            running=running[one.name],
            waiting=waiting[one.name],
        )
        for one in (*spec.platform_partitions, *spec.partitions)
    ]


def named(cluster: Cluster, name: str) -> Listed:
    """Raises Missing."""
    found = next((one for one in listed(cluster) if one.spec.name == name), None)
    if found is None:
        raise Missing(f"{cluster.slug} has no partition {name}.", "The Partitions tab lists them all.")
    return found


def own(cluster: Cluster, name: str) -> Listed:
    """One that may be changed. Raises Missing, or Conflict for one of the platform's."""
    found = named(cluster, name)
    if found.lock:
        raise Conflict(f"Partition {name} belongs to the platform.", found.lock)
    return found


def unknown(cluster: Cluster) -> list[Partition]:
    """Partitions that the controller has and the spec has not: made by hand, or about to go."""
    spec = cluster.spec
    wanted = {one.name for one in (*spec.platform_partitions, *spec.partitions)}
    return [row for row in cluster.observed_partitions.all() if row.name not in wanted]


def lock_of(name: str, spec: ClusterSpec) -> str:
    """Why this partition cannot be changed, in a sentence; empty for the team's own."""
    if any(one.name == name for one in spec.partitions):
        return ""
    if name == "all":
        return "Every cluster has it: all nodes, and the default while no own partition is."
    if name in (GPU_GROUP, CPU_GROUP):
        return f"It follows the node group {name}: scale the group to change it."
    return "The region gives it to every cluster; a platform operator can change it there."


def covered(spec: ClusterSpec, nodes: str) -> Coverage:
    """The nodes that a list names, as far as the cluster has them; nothing for a list that cannot be read."""
    try:
        wanted = set(expand(nodes)) if nodes.upper() != "ALL" else None
    except HostlistError:
        return Coverage()
    found = [
        (name, group.shape)
        for group in spec.groups
        for name in group.node_names
        if wanted is None or name in wanted
    ]
    return Coverage(
        names=tuple(name for name, _ in found),
        gpus=sum(shape.gpus for _, shape in found),
        cpus=sum(shape.cpus for _, shape in found),
        memory_mib=sum(shape.memory_mib for _, shape in found),
    )


def put(spec: ClusterSpec, partition: PartitionSpec, *, instead_of: str = "") -> ClusterSpec:
    """The spec with `partition` in the place of the named one, or at the end. Only one is default: the new one."""
    others = [replace(one, default=False) if partition.default else one for one in spec.partitions]
    if not instead_of:
        return spec.with_partitions((*others, partition))
    return spec.with_partitions(tuple(partition if one.name == instead_of else one for one in others))


def without(spec: ClusterSpec, name: str) -> ClusterSpec:
    return spec.with_partitions(tuple(one for one in spec.partitions if one.name != name))


def problems_of(spec: ClusterSpec, partition: PartitionSpec, *, instead_of: str = "") -> tuple[Problem, ...]:
    """What speaks against it, each at its field by the name that PartitionSpec has for it; at most one for a field.

    "" is the path of what concerns all partitions together (there are too many).
    """
    others = [one for one in (*spec.platform_partitions, *spec.partitions) if one.name != instead_of]
    mine = check_partition(
        partition_fields(partition),
        version=spec.slurm_version,
        node_names=spec.node_names,
        taken_names=[one.name for one in others],
    )
    after = put(spec, partition, instead_of=instead_of)
    at = after.partitions.index(partition)
    theirs = (p for p in validate(after) if p.path == "partitions" or p.path.startswith(f"partitions[{at}]"))
    found: dict[str, Problem] = {}
    for problem in (*mine, *theirs):
        path = re.sub(r"\[\d+\]\Z", "", _INDEX.sub("", problem.path)).removeprefix("partitions")
        found.setdefault(path, replace(problem, path=path))
    return tuple(found.values())


def line_of(partition: PartitionSpec) -> str:
    """As it will stand in slurm.conf; empty while a value could not be written."""
    try:
        return partition_line(partition)
    except ValueError:
        return ""


def add(door: Door, partition: PartitionSpec, *, base: int | None, start_at: When = None) -> Change:
    """Raises Rejected by field, and what `clusters.changes.propose` raises."""
    return _propose(door, partition, base, "", start_at)


def edit(
    door: Door, name: str, partition: PartitionSpec, *, base: int | None, start_at: When = None
) -> Change:
    """Put `partition` in the place of `name`, which it keeps. Raises as `add`, and Missing or Conflict as `own`."""
    own(door.cluster, name)
    if partition.name != name:
        text = f"A partition keeps its name: {name}."
        raise Rejected(
            text, (Problem("name", text, "Add another one, move the jobs, then delete this one."),)
        )
    return _propose(door, partition, base, name, start_at)


def delete(door: Door, name: str, *, base: int | None, start_at: When = None) -> Change:
    """Raises Missing or Conflict as `own`, and what `clusters.changes.propose` raises."""
    own(door.cluster, name)
    spec = without(_revision(door.cluster, base).parsed, name)
    return changes.propose(door.cluster, spec, base=base, by=door.membership, start_at=start_at)


def _propose(
    door: Door, partition: PartitionSpec, base: int | None, instead_of: str, start_at: When
) -> Change:
    before = _revision(door.cluster, base).parsed
    problems = problems_of(before, partition, instead_of=instead_of)
    if not any(problem.blocking for problem in problems):
        was = next((one for one in before.partitions if one.name == instead_of), None)
        problems += access_problems(door.cluster, partition, was)
    if any(problem.blocking for problem in problems):
        raise Rejected(f"Partition {partition.name} cannot be made so.", problems)
    spec = put(before, partition, instead_of=instead_of)
    return changes.propose(door.cluster, spec, base=base, by=door.membership, start_at=start_at)


def _revision(cluster: Cluster, number: int | None) -> Revision:
    found = cluster.revisions.filter(number=number).first() if number is not None else None
    if found is None:
        raise Conflict(f"{cluster.slug} has no revision {number}.", "Say which revision you began with.")
    return found


def _jobs(cluster: Cluster) -> tuple[Counter[str], Counter[str]]:
    """Running and waiting jobs by partition. A job may wait in several."""
    running: Counter[str] = Counter()
    waiting: Counter[str] = Counter()
    rows: Sequence[tuple[str, str]] = list(
        cluster.jobs.filter(is_finished=False).values_list("partition", "state")
    )
    for names, state in rows:
        for name in names.split(","):
            (waiting if state in WAITING else running)[name] += 1
    return running, waiting
