"""The demo: a region on this machine, a team with one person for each role, and jobs that keep its queue alive.

Used by `manage.py demo` alone. Everything is made once and found again: running it twice changes nothing.
"""

import secrets
from dataclasses import dataclass

from clusters.models import Image, Plan, Region
from clusters.spec import Mount
from console.models import Membership, Team, User
from console.roles import Role
from console.tokens import make_token
from slurm.provisioners.sandbox.volumes import lay_dataset
from slurm.render import DEFAULT_USER_CONF
from storage import tending, volumes
from storage.kinds import Kind
from storage.models import Offer, Volume

TEAM = "research"
CLUSTER = "demo"
PEOPLE = {"ada": Role.OWNER, "lin": Role.ADMIN, "noor": Role.OPERATOR, "mo": Role.MEMBER, "kim": Role.VIEWER}
PLANS = (
    {"slug": "h100-8", "name": "8 x H100", "gpu_model": "H100", "gpus": 8, "cpus": 96, "memory_mib": 1_024_000,
     "fabric": "NVLink, 8 x 400G InfiniBand", "price_per_hour": "19.20"},
    {"slug": "l40s-8", "name": "8 x L40S", "gpu_model": "L40S", "gpus": 8, "cpus": 64, "memory_mib": 512_000,
     "fabric": "PCIe, 2 x 100G Ethernet", "price_per_hour": "7.60"},
    {"slug": "cpu-64", "name": "64 CPUs", "gpu_model": "", "gpus": 0, "cpus": 64, "memory_mib": 256_000,
     "fabric": "2 x 25G Ethernet", "price_per_hour": "1.45"},
)  # fmt: skip
OFFERS = (
    {"slug": "fast", "name": "Parallel, all flash", "kind": Kind.PFS, "price_per_gib_month": "0.14"},
    {"slug": "standard", "name": "Shared", "kind": Kind.SFS, "price_per_gib_month": "0.06"},
    {"slug": "corpus", "name": "A small corpus", "kind": Kind.DATASET, "source": "corpus", "most_gib": 1},
)
# Name, what it is made of, its size in GiB, where the demo's cluster has it.
VOLUMES = (("shared", "standard", 500, "/shared"), ("corpus", "corpus", None, "/data/corpus"))
CORPUS = {
    "README": "A dataset: every node reads it, nobody writes to it.\n",
    "haiku.txt": "An old silent pond\nA frog jumps into the pond\nSplash! Silence again\n",
}
IMAGES = (
    {"slug": "slurm-24-11", "name": "Slurm 24.11 on Debian 13", "slurm_version": "24.11", "source": "trixie"},
    {"slug": "slurm-26-05", "name": "Slurm 26.05 on Debian sid", "slurm_version": "26.05", "source": "sid"},
)


def make_inventory() -> Region:
    """The region `local`, its plans and images."""
    region, _ = Region.objects.get_or_create(
        slug="local",
        defaults={
            "name": "This machine",
            "provisioner": "sandbox",
            "partitions": [{"name": "llm", "nodes": "slinky"}, {"name": "vision", "nodes": "slinky"}],
        },
    )
    for plan in PLANS:
        Plan.objects.get_or_create(region=region, slug=plan["slug"], defaults=plan)
    for offer in OFFERS:
        Offer.objects.get_or_create(region=region, slug=offer["slug"], defaults=offer)
    for image in IMAGES:
        Image.objects.get_or_create(slug=image["slug"], defaults={**image, "slurm_conf": DEFAULT_USER_CONF})
    return region


def make_people(known: dict[str, dict[str, str]]) -> tuple[Team, dict[str, dict[str, str]]]:
    """The team, and for each person a password, a token and a role. `known` ones are kept while they still work."""
    team, _ = Team.objects.get_or_create(slug=TEAM, defaults={"name": "Research"})
    return team, {name: _person(team, name, role, known.get(name, {})) for name, role in PEOPLE.items()}


def make_volumes(region: Region, by: Membership) -> tuple[Mount, ...]:
    """The demo's volumes, there and filled, as the mounts of its cluster."""
    lay_dataset("corpus", CORPUS)
    mounts = []
    for name, offer, size_gib, path in VOLUMES:
        volume = Volume.objects.filter(team=by.team, slug=name).first()
        volume = volume or volumes.create(by.team, volumes.Wish(name, region.slug, offer, size_gib), by=by)
        tending.tend(volume)
        mounts.append(Mount(volume.key, name, path, read_only=volume.is_dataset))
    return tuple(mounts)


def _person(team: Team, name: str, role: Role, known: dict[str, str]) -> dict[str, str]:
    user, made = User.objects.get_or_create(username=name, defaults={"is_staff": role is Role.OWNER})
    Membership.objects.get_or_create(team=team, user=user, defaults={"role": role})
    if not made and known and user.check_password(known["password"]):
        return known
    password = secrets.token_urlsafe(12)
    user.set_password(password)
    user.is_superuser = user.is_staff
    user.save()
    return {"password": password, "token": make_token(user, "demo scripts"), "role": role.value}


@dataclass(frozen=True)
class DemoJob:
    """A job of the demo: who submits it, sbatch's options and the body of its script. `comes_first` has its priority
    raised, which nobody may do for their own job."""

    by: str
    name: str
    options: tuple[str, ...]
    body: str = "sleep 86400"
    comes_first: bool = False


FOREVER = "sleep 864000"
# Those that come first come back before `pretrain-moe`, which wants every GPU, when all are requeued by a restart.
PRIORITY = 100_000
# Waits for true reasons, each of another kind; short ones come back every few minutes so that the history moves.
JOBS = (
    DemoJob(
        "lin",
        "train-70b",
        ("--nodes=1", "--gpus-per-node=8", "--mem=64G", "--time=7-0"),
        FOREVER,
        comes_first=True,
    ),
    DemoJob("mo", "sft-8b", ("--gpus=4", "--cpus-per-task=8", "--time=2-0"), FOREVER, comes_first=True),
    DemoJob(
        "mo", "notebook", ("--gpus=2", "--time=12:00:00", "--partition=slinky"), FOREVER, comes_first=True
    ),
    DemoJob(
        "noor",
        "tokenise",
        ("--array=0-199%4", "--partition=cpu-workers", "--cpus-per-task=4", "--time=30"),
        "sleep 240",
    ),
    DemoJob(
        "lin", "eval-sweep", ("--array=1-12%2", "--gpus=1", "--partition=llm", "--time=1:00:00"), "sleep 420"
    ),
    DemoJob("lin", "pretrain-moe", ("--nodes=4", "--gpus-per-node=8", "--time=3-0"), FOREVER),
    DemoJob("mo", "ablation", ("--gpus=8", "--nodes=1", "--nice=100", "--time=1-0"), FOREVER),
    DemoJob("mo", "tonight", ("--gpus=2", "--begin=now+8hours", "--time=4:00:00"), FOREVER),
    DemoJob("noor", "held-probe", ("--gpus=1", "--hold", "--time=10")),
    DemoJob("lin", "export", ("--gpus=1", "--time=20", "--dependency=singleton")),
    DemoJob("noor", "lint-data", ("--partition=cpu-workers", "--time=5"), "sleep 2"),
    DemoJob(
        "mo", "broken-import", ("--partition=cpu-workers", "--time=5"), "python3 -c 'import no_such_module'"
    ),
)
PULSE = DemoJob(
    "noor", "pulse", ("--partition=cpu-workers", "--time=5"), 'sleep 20; sbatch --begin=now+150 "$0"'
)


def script(job: DemoJob) -> str:
    """What sbatch reads: the options stay visible in the script itself."""
    lines = (
        "#!/bin/bash",
        f"#SBATCH --job-name={job.name}",
        *(f"#SBATCH {option}" for option in job.options),
    )
    return "\n".join((*lines, job.body)) + "\n"
