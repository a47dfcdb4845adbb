"""The demo: a region on this machine, a team with one person for each role, and jobs that keep its queue alive.

Used by `manage.py demo` alone. Everything is made once and found again: running it twice changes nothing.
"""

import secrets
from dataclasses import dataclass

from clusters.models import Image, Plan, Region
from console.models import Membership, Team, User
from console.roles import Role
from console.tokens import make_token
from slurm.render import DEFAULT_USER_CONF

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
    for image in IMAGES:
        Image.objects.get_or_create(slug=image["slug"], defaults={**image, "slurm_conf": DEFAULT_USER_CONF})
    return region


def make_people(known: dict[str, dict[str, str]]) -> tuple[Team, dict[str, dict[str, str]]]:
    """The team, and for each person a password, a token and a role. `known` ones are kept while they still work."""
    team, _ = Team.objects.get_or_create(slug=TEAM, defaults={"name": "Research"})
    return team, {name: _person(team, name, role, known.get(name, {})) for name, role in PEOPLE.items()}


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
    """A job of the demo: who submits it, sbatch's options and the body of its script."""

    by: str
    name: str
    options: tuple[str, ...]
    body: str = "sleep 86400"


FOREVER = "sleep 864000"
# Those that run come back before `pretrain-moe`, which wants every GPU, when all of them are requeued by a restart.
FIRST = ("--priority=1000",)
# Waits for true reasons, each of another kind; short ones come back every few minutes so that the history moves.
JOBS = (
    DemoJob(
        "lin", "train-70b", (*FIRST, "--nodes=1", "--gpus-per-node=8", "--mem=64G", "--time=7-0"), FOREVER
    ),
    DemoJob("mo", "sft-8b", (*FIRST, "--gpus=4", "--cpus-per-task=8", "--time=2-0"), FOREVER),
    DemoJob("mo", "notebook", (*FIRST, "--gpus=2", "--time=12:00:00", "--partition=slinky"), FOREVER),
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
