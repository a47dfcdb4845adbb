"""What somebody is about to do to a cluster, and what its platform says that this touches. Pure.

`Provisioner.foresee` takes an Act and answers with Touches; `clusters.impact` makes of both what is read before it is
confirmed. Nothing here asks which platform it is.
"""

from dataclasses import dataclass
from enum import StrEnum

from clusters.spec import ClusterSpec


class PartKind(StrEnum):
    """What a cluster consists of, by the names that `Provisioner.restart` takes where it takes them, in the order of an
    upgrade."""

    ACCOUNTING = "accounting"
    CONTROLLER = "controller"
    WORKERS = "workers"
    LOGIN = "login"


class Does(StrEnum):
    """What becomes of a part. READS is a new reading of its configuration, with which nothing ends; CLOSES is that
    nodes take no new jobs, OPENS that they take them again, MOUNTS that other volumes are at hand for what starts there
    from now on, RUNS that an init script of the cluster runs there at once, beside what already runs. UPGRADES is that
    its daemons start anew in place, from another image: what runs there goes on."""

    COMES = "comes"
    READS = "reads"
    MOUNTS = "mounts"
    RUNS = "runs"
    UPGRADES = "upgrades"
    RESTARTS = "restarts"
    CLOSES = "closes"
    OPENS = "opens"
    GOES = "goes"
    STOPS = "stops"


class Fate(StrEnum):
    """What becomes of a job. RUNS_OUT: it goes on where no other starts any more; QUEUED an end after which Slurm
    starts it over, unless it was submitted with the wish to the contrary; DROPPED is a waiting job that leaves the
    queue."""

    GOES_ON = "goes on"
    RUNS_OUT = "runs out"
    AWAITED = "awaited"
    QUEUED = "queued again"
    ENDS = "ends"
    DROPPED = "dropped"


@dataclass(frozen=True)
class Touch:
    """One step of an act. `nodes` are Slurm names, of workers only; `jobs` is what becomes of those that run there.

    `loses` are directories there whose files go; `is_rolling` says that not all nodes are out at once, and `at_once`
    how many of them, where that is known; they then go in the order of `nodes`.
    """

    part: PartKind
    does: Does
    nodes: tuple[str, ...] = ()
    jobs: Fate = Fate.GOES_ON
    loses: tuple[str, ...] = ()
    is_rolling: bool = False
    at_once: int = 0


@dataclass(frozen=True)
class Edit:
    """From one desired state to another. `force` ends jobs that the platform would otherwise wait for."""

    before: ClusterSpec
    after: ClusterSpec
    force: bool = False


@dataclass(frozen=True)
class Reapply:
    """Render and apply again what the cluster should already be."""

    spec: ClusterSpec


@dataclass(frozen=True)
class RestartPart:
    """`when_idle`, of workers only: each when its jobs have ended."""

    spec: ClusterSpec
    part: PartKind
    when_idle: bool = False


@dataclass(frozen=True)
class Reboot:
    """`when_idle`: each when its jobs have ended. `at_once` is how many of them are out at a time, 0 for all."""

    spec: ClusterSpec
    nodes: tuple[str, ...]
    when_idle: bool = False
    at_once: int = 0

    @property
    def is_rolling(self) -> bool:
        return 0 < self.at_once < len(self.nodes)


@dataclass(frozen=True)
class Drain:
    spec: ClusterSpec
    nodes: tuple[str, ...]


@dataclass(frozen=True)
class Resume:
    spec: ClusterSpec
    nodes: tuple[str, ...]


@dataclass(frozen=True)
class Terminate:
    spec: ClusterSpec


@dataclass(frozen=True)
class Delete:
    spec: ClusterSpec


Act = Edit | Reapply | RestartPart | Reboot | Drain | Resume | Terminate | Delete
ENDINGS = (Terminate, Delete)


def spec_before(act: Act) -> ClusterSpec:
    """What the cluster is as the act begins."""
    return act.before if isinstance(act, Edit) else act.spec


def partitions_gone(act: Act) -> frozenset[str]:
    """Names of partitions that the cluster has before the act and not after it."""
    if not isinstance(act, Edit):
        return frozenset()
    return _partitions(act.before) - _partitions(act.after)


def mounted(act: Act) -> tuple[str, ...]:
    """Paths at which a volume comes to be, or another one or the same in another way."""
    return _paths(act.after, act.before) if isinstance(act, Edit) else ()


def unmounted(act: Act) -> tuple[str, ...]:
    return _paths(act.before, act.after) if isinstance(act, Edit) else ()


def upgrades(act: Act) -> bool:
    """Whether it brings another release of Slurm."""
    return isinstance(act, Edit) and act.before.slurm_version != act.after.slurm_version


def signed_out(act: Act) -> frozenset[str]:
    """Login users whose sessions end: those that go, everybody's where login users are switched off, and root's where
    they are switched on and this console's terminals were root's."""
    if not isinstance(act, Edit) or act.before.logins == act.after.logins:
        return frozenset()
    had, has = _login_names(act.before), _login_names(act.after)
    root = {"root"} if act.after.logins.on and not act.before.logins.on else set()
    return frozenset((had - has) | root)


def cancelled(act: Act) -> frozenset[str]:
    """Login users whose jobs are cancelled as they leave."""
    if not isinstance(act, Edit):
        return frozenset()
    fresh = set(act.after.logins.leavers) - set(act.before.logins.leavers)
    return frozenset(leaver.name for leaver in fresh if leaver.jobs == "cancel")


def homes_deleted(act: Act) -> frozenset[str]:
    """Homes that are deleted as their login users leave."""
    if not isinstance(act, Edit):
        return frozenset()
    fresh = set(act.after.logins.leavers) - set(act.before.logins.leavers)
    return frozenset(act.after.logins.home_of(leaver.name) for leaver in fresh if leaver.home == "delete")


def sort_of(act: Act) -> str:
    """Acts of one sort take about as long as each other: `scale up`, `slurm.conf`, `restart login`."""
    if isinstance(act, Edit):
        return _sort_of_edit(act.before, act.after)
    if isinstance(act, RestartPart):
        return f"restart {act.part}"
    if isinstance(act, Reboot) and act.is_rolling:
        return "rolling restart"
    return {
        Reapply: "reconfigure",
        Reboot: "reboot",
        Drain: "drain",
        Resume: "resume",
        Terminate: "terminate",
        Delete: "delete",
    }[type(act)]


def _partitions(spec: ClusterSpec) -> frozenset[str]:
    return frozenset(one.name for one in (*spec.group_partitions, *spec.partitions))


def _login_names(spec: ClusterSpec) -> set[str]:
    return {user.name for user in spec.logins.users} if spec.logins.on else set()


def _paths(spec: ClusterSpec, but: ClusterSpec) -> tuple[str, ...]:
    """Where `spec` mounts something that `but` does not mount there so; what a volume is called has no bearing."""
    others = {(mount.volume, mount.path, mount.read_only) for mount in but.mounts}
    fresh = (m for m in spec.mounts if (m.volume, m.path, m.read_only) not in others)
    return tuple(mount.path for mount in fresh)


def _sort_of_edit(before: ClusterSpec, after: ClusterSpec) -> str:
    """The dearest of what it does."""
    had, has = set(before.node_names), set(after.node_names)
    signs = (
        ("image", (before.image, before.slurm_version) != (after.image, after.slurm_version)),
        ("scale down", bool(had - has)),
        ("scale up", bool(has - had)),
        ("mounts", before.mounts != after.mounts),
        ("slurm.conf", before.slurm_conf != after.slurm_conf),
        ("scripts", before.scripts != after.scripts),
        ("partitions", before.partitions != after.partitions),
        ("ssh keys", before.ssh_keys != after.ssh_keys),
        ("login users", before.logins != after.logins),
    )
    return next((sort for sort, holds in signs if holds), "edit")
