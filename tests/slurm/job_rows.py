"""Made-up job rows for lists, pages and measurements: a queue of any length, the same for the same seed."""

import random
from datetime import datetime, timedelta

from django.utils import timezone

from clusters.lifecycle import Status
from clusters.models import Cluster, Region, Revision
from clusters.spec import ClusterSpec, NodeGroup, Shape, to_json
from console.models import Membership, Team, User
from console.roles import Role
from slurm.models import Job

USERS = ("ada", "lin", "mo", "kim", "sam", "noor", "tess", "ivo")
NAMES = ("train-70b", "eval-sweep", "notebook", "sft-8b", "tokenise", "probe", "merge", "post", "rollout")
PARTITIONS = ("all", "debug", "train", "cpu-workers")
ENDS = ("COMPLETED", "COMPLETED", "COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "OUT_OF_MEMORY")
WHY = (
    (
        "Resources",
        "Needs 8 free GPUs on one node; most is 2 (slinky-2). Starts about 13:10, when 4131 and 4133 end.",
    ),
    ("Priority", "214 jobs with a higher priority are ahead of it in partition all."),
    ("Dependency", "After 4127 finishes well (afterok)."),
    ("JobHeldUser", "Held by its owner. Release to let it compete."),
    (
        "PartitionTimeLimit",
        "Asks 7 days; partition debug allows 2 hours. Ask for less, or use another partition.",
    ),
)


def make_cluster(team: Team | None = None, slug: str = "demo") -> Cluster:
    """A running cluster of four GPU workers and two CPU workers, of `research` unless a team is given."""
    team = team or Team.objects.get_or_create(slug="research", defaults={"name": "Research"})[0]
    region = Region.objects.get_or_create(
        slug="local", defaults={"name": "This machine", "provisioner": "sandbox"}
    )[0]
    now = timezone.now()
    cluster = Cluster.objects.create(
        team=team, region=region, slug=slug, status=Status.RUNNING, observed_at=now, tried_at=now
    )
    gpus = NodeGroup("slinky", Shape("h200", 64, 512_000, 8, "h200"), (0, 1, 2, 3))
    cpus = NodeGroup("cpu-workers", Shape("cpu", 32, 128_000), (0, 1))
    spec = ClusterSpec(name=slug, image="debian-13", slurm_version="24.11", groups=(gpus, cpus))
    cluster.revision = Revision.objects.create(cluster=cluster, number=1, spec=to_json(spec))
    cluster.save()
    return cluster


def make_member(username: str, role: Role, team: Team) -> User:
    user = User.objects.create_user(username)
    Membership.objects.create(user=user, team=team, role=role)
    return user


def make_job(cluster: Cluster, number: int, **fields: object) -> Job:
    """One waiting job unless `fields` say otherwise."""
    values: dict[str, object] = {
        "key": str(number),
        "job_id": str(number),
        "submit_at": timezone.now() - timedelta(hours=1),
        "name": "train",
        "user": "ada",
        "partition": "all",
        "state": "PENDING",
        "priority": 1000,
        "node_count": 1,
        "cpus": 8,
        "limit_s": 3600,
        **fields,
    }
    return Job.objects.create(cluster=cluster, number=number, **values)


def make_queue(cluster: Cluster, length: int, seed: int = 7) -> None:
    """`length` records: about 3 % on nodes, 57 % waiting, 40 % ended within three days."""
    draw = random.Random(seed)
    now = timezone.now()
    rows = [_row(cluster, 1000 + index, draw, now) for index in range(length)]
    Job.objects.bulk_create(rows, batch_size=2000)


def _row(cluster: Cluster, number: int, draw: random.Random, now: datetime) -> Job:
    kind = draw.choices(("running", "waiting", "ended"), (3, 57, 40))[0]
    job = Job(
        cluster=cluster,
        key=str(number),
        job_id=str(number),
        number=number,
        submit_at=now - timedelta(seconds=draw.randrange(60, 250_000)),
        name=f"{draw.choice(NAMES)}-{draw.randrange(900)}",
        user=draw.choice(USERS),
        account="vision",
        partition=draw.choice(PARTITIONS),
        qos="normal",
        priority=draw.randrange(1, 100_000),
        gpus=draw.choice((0, 0, 1, 2, 4, 8, 16)),
        cpus=draw.choice((1, 8, 64)),
        memory_mib=draw.choice((1024, 65_536)),
        node_count=draw.choice((1, 1, 1, 2, 4)),
        limit_s=draw.choice((600, 3600, 86_400, 604_800)),
        work_dir=f"/home/{draw.choice(USERS)}/runs",
    )
    _live(job, kind, draw, now)
    return job


def _live(job: Job, kind: str, draw: random.Random, now: datetime) -> None:
    if kind == "waiting":
        job.state, (job.reason, job.why) = "PENDING", draw.choice(WHY)
        if draw.random() < 0.05:
            job.key, job.job_id = f"{job.number}_[]", f"{job.number}_[0-199%20]"
            job.array_number, job.task_count = job.number, 200
        return
    first = draw.randrange(5000)
    job.nodes = f"slinky-[{first}-{first + job.node_count - 1}]" if job.node_count > 1 else f"slinky-{first}"
    job.start_at = now - timedelta(seconds=draw.randrange(3600, 90_000))
    job.state, job.is_finished = ("RUNNING", False) if kind == "running" else (draw.choice(ENDS), True)
    job.end_at = job.start_at + timedelta(seconds=draw.randrange(60, 3600 if job.is_finished else 604_800))
