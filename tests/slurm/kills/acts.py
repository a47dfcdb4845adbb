"""Everything that people do to a cluster, as acts that a test can begin at any time."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from clusters.acts import PartKind
from clusters.machine import ChangeStatus
from clusters.scaling import rescale
from clusters.spec import CPU_GROUP, ClusterSpec, Leaver, LoginGroup, Logins, LoginUser, Mount, PartitionSpec
from tests.clusters.keys import ED25519
from tests.contracts.platforms import CPU

# A plugin's name that the catalogue takes, being anybody's own, and no controller finds.
DEADLY = "JobSubmitPlugins=no_such"
MOST_NODES = 3
OLD_IMAGE, NEW_IMAGE = ("slurm-24-11", "24.11"), ("slurm-26-05", "26.05")
CPU_SHAPE = replace(CPU, plan="cpu-16")
LAB = LoginGroup("lab", 20100)
PEOPLE = (
    LoginUser("mo", 20000, sudo=True, keys=(ED25519,)),
    LoginUser("lin", 20001, (LAB.name,)),
    LoginUser("kim", 20002),
)


@dataclass(frozen=True)
class Edit:
    """`after` draws another desired state, or gives the same one back where there is none. Without the `shadow` the
    controller is the first to read the file."""

    after: Callable[[ClusterSpec, Random, Mount], ClusterSpec]
    ending: ChangeStatus = ChangeStatus.COMMITTED
    shadow: bool = True


def _scaled(spec: ClusterSpec, dice: Random, _: Mount) -> ClusterSpec:
    """Up where there is one GPU worker, down where there are three; the first, with the lasting job, stays."""
    has = spec.groups[0].ordinals
    count = MOST_NODES if len(has) == 1 else 1 if len(has) == MOST_NODES else dice.choice((1, MOST_NODES))
    return _with_gpu_nodes(spec, tuple(range(count)))


def _cpus(spec: ClusterSpec, _dice: Random, _: Mount) -> ClusterSpec:
    cpus = spec.group(CPU_GROUP)
    return _with_cpu_nodes(spec, 1 if cpus is None or len(cpus.ordinals) > 1 else 2)


def _groups(spec: ClusterSpec, dice: Random, _: Mount) -> ClusterSpec:
    """The CPU workers go as a group, with their partition, or come as one."""
    return _with_cpu_nodes(spec, 0 if spec.group(CPU_GROUP) else dice.choice((1, 2)))


def _image(spec: ClusterSpec, _dice: Random, _: Mount) -> ClusterSpec:
    """Up, and never again in this life: Slurm does not go back."""
    return with_image(spec, NEW_IMAGE)


def _logins(spec: ClusterSpec, dice: Random, _: Mount) -> ClusterSpec:
    """Others than before, or none. Who goes leaves jobs and home as the dice have it."""
    had = {user.name for user in spec.logins.users} if spec.logins.on else set()
    stays = had
    while stays == had:
        users = tuple(user for user in PEOPLE if dice.random() < 0.6)
        stays = {user.name for user in users}
    fates = (dice.choice(("run", "cancel")), dice.choice(("keep", "archive", "delete")))
    leavers = tuple(Leaver(user.name, user.uid, *fates) for user in PEOPLE if user.name in had - stays)
    groups = (LAB,) if any(user.groups for user in users) else ()
    return spec.with_logins(Logins(bool(users), "", "research", users, groups, leavers))


def _partitions(spec: ClusterSpec, dice: Random, _: Mount) -> ClusterSpec:
    own = PartitionSpec("debug", "slinky-0", max_time_minutes=dice.randrange(10, 9999))
    return spec.with_partitions(() if spec.partitions and dice.random() < 0.3 else (own,))


def _setting(spec: ClusterSpec, dice: Random, _: Mount) -> ClusterSpec:
    return spec.with_slurm_conf(f"# Kept as typed\nMaxJobCount={dice.randrange(10_000, 90_000)}\n")


def _restarting(spec: ClusterSpec, dice: Random, _: Mount) -> ClusterSpec:
    """A setting that the controller only takes as it starts."""
    kind = "basic" if "multifactor" in spec.slurm_conf else "multifactor"
    return spec.with_slurm_conf(
        f"MaxJobCount={dice.randrange(10_000, 90_000)}\nPriorityType=priority/{kind}\n"
    )


def _deadly(spec: ClusterSpec, dice: Random, _: Mount) -> ClusterSpec:
    return spec.with_slurm_conf(f"{spec.slurm_conf}# {dice.random()}\n{DEADLY}\n")


def _mounts(spec: ClusterSpec, _dice: Random, mount: Mount) -> ClusterSpec:
    return spec.with_mounts(() if spec.mounts else (mount,))


def _keys(spec: ClusterSpec, _dice: Random, _: Mount) -> ClusterSpec:
    return replace(spec, ssh_keys=() if spec.ssh_keys else (ED25519,))


def _all_at_once(spec: ClusterSpec, dice: Random, mount: Mount) -> ClusterSpec:
    for one in (_scaled, _partitions, _setting, _mounts, _keys):
        spec = one(spec, dice, mount)
    return spec


def with_image(spec: ClusterSpec, image: tuple[str, str]) -> ClusterSpec:
    return replace(spec, image=image[0], slurm_version=image[1])


def _with_cpu_nodes(spec: ClusterSpec, number: int) -> ClusterSpec:
    return rescale(spec, {CPU_GROUP: number}, shapes={CPU_GROUP: CPU_SHAPE})


def _with_gpu_nodes(spec: ClusterSpec, ordinals: tuple[int, ...]) -> ClusterSpec:
    return replace(spec, groups=(replace(spec.groups[0], ordinals=ordinals), *spec.groups[1:]))


EDITS = {
    "scale": Edit(_scaled),
    "scale CPU workers": Edit(_cpus),
    "groups": Edit(_groups),
    "another image": Edit(_image),
    "login users": Edit(_logins),
    "partitions": Edit(_partitions),
    "a setting": Edit(_setting),
    "a setting of the start": Edit(_restarting),
    "a deadly setting": Edit(_deadly, ChangeStatus.ROLLED_BACK, shadow=False),
    "mounts": Edit(_mounts),
    "ssh keys": Edit(_keys),
    "all at once": Edit(_all_at_once),
}
RECONFIGURE = "reconfigure"
RESTARTS = {f"restart {part}": part for part in (PartKind.CONTROLLER, PartKind.LOGIN, PartKind.WORKERS)}
REBOOT = "reboot a node"
# All nodes but that of the lasting job, one after the other, each when it is idle.
ROLLING = "rolling restart"
# Those that end the lasting job, or have it start over.
ENDS_JOBS = {f"restart {PartKind.WORKERS}", REBOOT}
IN_LIFE = (*EDITS, RECONFIGURE, *RESTARTS, REBOOT, ROLLING)
# The beginning and the end of each life; the clone is made while the first is there still, with the older image.
CREATE, CLONE, TERMINATE, DELETE = "create", "clone", "terminate", "delete"
