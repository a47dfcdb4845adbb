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
    allow_qos: tuple[str, ...] = ()


@dataclass(frozen=True)
class Mount:
    """A volume of the team at one path on the login node and on every worker.

    `volume` is its key, which never changes; `name` is what it was called when this was written, for people to read.
    """

    volume: str
    name: str
    path: str
    read_only: bool = False


@dataclass(frozen=True)
class LifeScripts:
    """Programs that run at fixed points of the cluster's life and of its jobs', each as a whole text; empty is none.

    What each is for is in `clusters.life_scripts`.
    """

    worker_init: str = ""
    login_init: str = ""
    worker_prolog: str = ""
    worker_epilog: str = ""
    controller_prolog: str = ""
    controller_epilog: str = ""


@dataclass(frozen=True)
class LoginGroup:
    """A group of the cluster's own. `gid` is the same on all clusters of the team, for ever."""

    name: str
    gid: int


@dataclass(frozen=True)
class LoginUser:
    """Somebody who signs in on the login node and whose jobs run as them. `uid`, which is also the number of a group of
    their name, is the same on all clusters of the team, for ever.

    `groups` are names of further ones. `keys` are the public keys of their person as they were when this was written.
    """

    name: str
    uid: int
    groups: tuple[str, ...] = ()
    sudo: bool = False
    keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class Leaver:
    """Who was a login user until this was written, and what becomes of what they leave: their `jobs` (run, cancel) and
    their `home` (keep, archive, delete)."""

    name: str
    uid: int
    jobs: str = "run"
    home: str = "keep"


@dataclass(frozen=True)
class Logins:
    """Who signs in. Off: everybody is root, or the one user that the platform has.

    `homes` is the path of the mount that the homes are on, empty for a directory of the cluster itself that stays as
    long as the cluster. `account` is the Slurm account of whoever has none, where there is accounting. `leavers` are of
    the last change of logins alone.
    """

    on: bool = False
    homes: str = ""
    account: str = ""
    users: tuple[LoginUser, ...] = ()
    groups: tuple[LoginGroup, ...] = ()
    leavers: tuple[Leaver, ...] = ()

    def user(self, name: str) -> LoginUser | None:
        return next((user for user in self.users if user.name == name), None) if self.on else None

    def home_of(self, name: str) -> str:
        return f"{self.homes_directory}/{name}"

    @property
    def homes_directory(self) -> str:
        """A volume that is mounted at `/home`, or at a path that ends so, holds homes and nothing else."""
        base = self.homes or "/home"
        return base if base.endswith("/home") else f"{base}/home"


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
    mounts: tuple[Mount, ...] = ()
    scripts: LifeScripts = LifeScripts()
    logins: Logins = Logins()
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

    def with_mounts(self, mounts: tuple[Mount, ...]) -> "ClusterSpec":
        return replace(self, mounts=mounts)

    def with_scripts(self, scripts: LifeScripts) -> "ClusterSpec":
        return replace(self, scripts=scripts)

    def with_logins(self, logins: Logins) -> "ClusterSpec":
        return replace(self, logins=logins)


def _bracket(group: NodeGroup) -> str:
    return f"{group.name}-[{fold_ordinals(group.ordinals)}]"


def to_json(spec: ClusterSpec) -> dict[str, object]:
    """The stored form: plain JSON types, every field present, so that diffs read well."""
    plain: dict[str, object] = msgspec.json.decode(msgspec.json.encode(spec))
    return plain


def from_json(data: object) -> ClusterSpec:
    """The reverse of `to_json`, also of one that was stored before a field came to be.

    Raises `msgspec.ValidationError` naming the path of what does not fit.
    """
    return msgspec.convert(data, ClusterSpec)
