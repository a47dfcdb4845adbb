"""`ClusterSpec`: the one document that says what a cluster should be.

Pure and frozen. Forms, the API, revisions and provisioners all speak in its field paths (`groups[0].ordinals`,
`partitions[1].nodes`, `slurm_conf`). A spec is self-contained: it carries the shape of its machines and the region's
partitions as they were when it was written, so that rendering an old revision gives the old cluster.
"""

from dataclasses import dataclass, replace

import msgspec

from clusters.hostlist import fold_ordinals

SCHEMA = 1
GPU_GROUP = "slinky"
CPU_GROUP = "cpu-workers"
MAX_OWN_PARTITIONS = 20


@dataclass(frozen=True)
class Shape:
    """A machine's shape, copied from a Plan when the group was made. `gpus` is per node."""

    plan: str
    cpus: int
    memory_mib: int
    gpus: int = 0
    gpu_model: str = ""


@dataclass(frozen=True)
class NodeGroup:
    """Workers of one shape. Node names are `<name>-<ordinal>`; ordinals may be sparse after a scale-in."""

    name: str
    shape: Shape
    ordinals: tuple[int, ...]

    @property
    def node_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}-{n}" for n in self.ordinals)


@dataclass(frozen=True)
class PartitionSpec:
    """A partition. `nodes` is a Slurm host list or `ALL`; times are minutes, None is unlimited (or unset default)."""

    name: str
    nodes: str
    default: bool = False
    max_time_minutes: int | None = None
    default_time_minutes: int | None = None
    state: str = "UP"
    priority_tier: int = 1
    oversubscribe: str = "NO"
    qos: str = ""
    allow_groups: tuple[str, ...] = ()
    allow_accounts: tuple[str, ...] = ()


@dataclass(frozen=True)
class ClusterSpec:
    """Desired state. `slurm_conf` is the user's own part of slurm.conf, comments and order kept.

    `nodes` of a region's partition may name a group: it then grows and shrinks with that.
    """

    name: str
    image: str
    slurm_version: str
    groups: tuple[NodeGroup, ...]
    region_partitions: tuple[PartitionSpec, ...] = ()
    partitions: tuple[PartitionSpec, ...] = ()
    slurm_conf: str = ""
    ssh_keys: tuple[str, ...] = ()
    schema: int = SCHEMA

    @property
    def node_names(self) -> tuple[str, ...]:
        return tuple(name for group in self.groups for name in group.node_names)

    @property
    def total_gpus(self) -> int:
        return sum(len(group.ordinals) * group.shape.gpus for group in self.groups)

    def group(self, name: str) -> NodeGroup | None:
        return next((group for group in self.groups if group.name == name), None)

    @property
    def group_partitions(self) -> tuple[PartitionSpec, ...]:
        """`all`, one for each group, and those the region declares, where their group has nodes. `nodes` is the
        group's name, or `ALL`. `all` is default unless an own one is."""
        own_default = any(partition.default for partition in self.partitions)
        everything = PartitionSpec(name="all", nodes="ALL", default=not own_default)
        names = [group.name for group in self.groups if group.ordinals]
        declared = (partition for partition in self.region_partitions if partition.nodes in names)
        return (everything, *(PartitionSpec(name=name, nodes=name) for name in names), *declared)

    @property
    def platform_partitions(self) -> tuple[PartitionSpec, ...]:
        """The same with each group's nodes written out."""
        nodes = {group.name: _bracket(group) for group in self.groups if group.ordinals}
        return tuple(replace(p, nodes=nodes.get(p.nodes, p.nodes)) for p in self.group_partitions)

    def with_partitions(self, partitions: tuple[PartitionSpec, ...]) -> "ClusterSpec":
        return replace(self, partitions=partitions)

    def with_slurm_conf(self, text: str) -> "ClusterSpec":
        return replace(self, slurm_conf=text)


def _bracket(group: NodeGroup) -> str:
    return f"{group.name}-[{fold_ordinals(group.ordinals)}]"


def to_json(spec: ClusterSpec) -> dict[str, object]:
    """The stored form: plain JSON types, every field present, so that diffs read well."""
    plain: dict[str, object] = msgspec.json.decode(msgspec.json.encode(spec))
    return plain


def from_json(data: object) -> ClusterSpec:
    """The reverse of `to_json`. Raises `msgspec.ValidationError` naming the path of what does not fit."""
    return msgspec.convert(data, ClusterSpec)
