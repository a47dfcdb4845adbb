"""Rows that fill every page, without a cluster behind them: for page tests, and for looking at pages.

`python -m tests.look` serves them. `seed` may be run twice. Nothing here is reachable: the region's provisioner is
`tests.nowhere`, which answers like a platform whose login node is up.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone

from clusters.lifecycle import Status
from clusters.models import Change, ChangeLine, Cluster, Image, Node, Partition, Plan, Region
from clusters.spec import CPU_GROUP, GPU_GROUP, ClusterSpec, NodeGroup, PartitionSpec, to_json
from console.models import Membership, Team, User
from slurm.models import Job
from tests.seed_volumes import make_volumes

PASSWORD = "correct-horse-battery"
ROLES = {"ada": "owner", "lin": "admin", "ops": "operator", "mo": "member", "vic": "viewer"}
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGl0c2FsbG1hZGV1cGZvcnRlc3RzMDEyMzQ1Njc4OWFi ada@laptop"


@dataclass(frozen=True)
class Seed:
    team: Team
    cluster: Cluster
    users: Mapping[str, User]


def seed() -> Seed:
    """A team of five roles, a busy cluster, and one in each other status. Nobody can sign in by password yet."""
    settings.PROVISIONERS["nowhere"] = "tests.nowhere.Nowhere"
    settings.PLATFORMS["nowhere"] = "tests.fake_platform.FakePlatform"
    team, _ = Team.objects.get_or_create(slug="research", defaults={"name": "Research computing"})
    users = {name: _person(team, name, role) for name, role in ROLES.items()}
    region = _region()
    cluster = _busy(team, region, users["lin"])
    make_volumes(team, region, cluster)
    _creating(team, region, users["lin"])
    _failed(team, region, users["lin"])
    _cluster(team, region, "old-sweeps", Status.TERMINATED, gpu=2, cpu=0)
    return Seed(team, cluster, users)


def let_in(made: Seed) -> None:
    """Give everybody the password. Apart from `seed`, since hashing takes its time on purpose."""
    for user in made.users.values():
        user.set_password(PASSWORD)
        user.save()


def _person(team: Team, name: str, role: str) -> User:
    user, _ = User.objects.get_or_create(username=name)
    Membership.objects.get_or_create(team=team, user=user, defaults={"role": role})
    return user


def _region() -> Region:
    region, _ = Region.objects.get_or_create(
        slug="lab", defaults={"name": "The lab's own machines", "provisioner": "nowhere", "partitions": []}
    )
    Plan.objects.get_or_create(
        region=region,
        slug="h200-8x",
        defaults={
            "name": "8 × H200, 192 CPUs, 2 TiB",
            "gpu_model": "H200",
            "gpus": 8,
            "cpus": 192,
            "memory_mib": 2_097_152,
            "fabric": "InfiniBand 8 × 400 Gb/s",
            "price_per_hour": "28.40",
        },
    )
    Plan.objects.get_or_create(
        region=region,
        slug="cpu-64",
        defaults={"name": "64 CPUs, 256 GiB", "cpus": 64, "memory_mib": 262_144, "price_per_hour": "2.10"},
    )
    for slug, name, version in (
        ("slurm-24-11", "Slurm 24.11 on Debian 13", "24.11"),
        ("slurm-26-05", "Slurm 26.05 on Debian sid", "26.05"),
    ):
        Image.objects.get_or_create(
            slug=slug, defaults={"name": name, "slurm_version": version, "source": "trixie"}
        )
    return region


def _spec(name: str, region: Region, gpu: int, cpu: int) -> ClusterSpec:
    plans = {plan.slug: plan.shape for plan in region.plans.all()}
    groups = [
        NodeGroup(group, plans[plan], tuple(range(count)))
        for group, plan, count in ((GPU_GROUP, "h200-8x", gpu), (CPU_GROUP, "cpu-64", cpu))
        if count
    ]
    return ClusterSpec(
        name=name,
        image="slurm-24-11",
        slurm_version="24.11",
        groups=tuple(groups),
        partitions=(PartitionSpec("debug", "slinky-[0-1]", max_time_minutes=120, priority_tier=50),),
        slurm_conf="# scheduling\nSchedulerParameters=bf_interval=30,bf_continue\nPriorityWeightAge=1000\n",
        ssh_keys=(KEY,),
    )


def _cluster(team: Team, region: Region, name: str, status: Status, *, gpu: int, cpu: int) -> Cluster:
    Cluster.objects.filter(team=team, slug=name).update(revision=None)
    Change.objects.filter(cluster__team=team, cluster__slug=name).delete()
    Cluster.objects.filter(team=team, slug=name).delete()
    cluster = Cluster.objects.create(team=team, region=region, slug=name, status=status)
    revision = cluster.revisions.create(number=1, spec=to_json(_spec(name, region, gpu, cpu)))
    if status not in (Status.CREATING, Status.FAILED):
        cluster.revision = revision
        cluster.save()
    return cluster


def _busy(team: Team, region: Region, by: User) -> Cluster:
    cluster = _cluster(team, region, "llama-pretrain", Status.RUNNING, gpu=4, cpu=2)
    now = timezone.now()
    Cluster.objects.filter(pk=cluster.pk).update(
        status_at=now - timedelta(days=3),
        observed_at=now,
        parts=[
            _part("accounting", "slurmdbd", "up"),
            _part("controller", "slurmctld", "up"),
            *[_part("worker", name, "up") for name in cluster.spec.node_names[:5]],
            _part("worker", "cpu-workers-1", "down", "slurmd does not answer"),
            _part("login", "login", "up"),
        ],
    )
    cluster.refresh_from_db()
    _nodes(cluster)
    _partitions(cluster)
    _jobs(cluster)
    _changes(cluster, by)
    return cluster


def _part(kind: str, name: str, state: str, detail: str = "", since_s: float = 9) -> dict[str, object]:
    since = (timezone.now() - timedelta(seconds=since_s)).isoformat() if state == "up" else None
    return {"kind": kind, "name": name, "state": state, "since": since, "detail": detail, "restarts": 0}


def _nodes(cluster: Cluster) -> None:
    now = timezone.now()
    for group, ordinal, machine, state, health, ready, cpus, gpus, tib, reason, by, at in _node_rows(now):
        has_gpus = group == GPU_GROUP
        Node.objects.create(
            cluster=cluster,
            name=f"{group}-{ordinal}",
            group=group,
            ordinal=ordinal,
            machine=machine,
            state=state,
            health=health,
            machine_state=ready,
            cpus=192 if has_gpus else 64,
            cpus_allocated=cpus,
            memory_mib=2_097_152 if has_gpus else 262_144,
            memory_allocated_mib=int(tib * 1024 * 1024),
            gpus=8 if has_gpus else 0,
            gpus_allocated=gpus,
            partitions=["all", group, *(["debug"] if ordinal < 2 and has_gpus else [])],
            reason=reason,
            reason_by=by,
            reason_at=at,
            boot_at=now - timedelta(days=3),
            version="24.11.5",
        )


def _node_rows(now: datetime) -> list[tuple[Any, ...]]:
    return [
        ("slinky", 0, "e2e_node_682", "allocated", "busy", "Ready", 62, 8, 1.2, "", "", None),
        ("slinky", 1, "e2e_node_655", "allocated", "busy", "Ready", 62, 8, 1.2, "", "", None),
        ("slinky", 2, "e2e_node_701", "mixed", "busy", "Ready", 40, 6, 0.4, "", "", None),
        (
            *("slinky", 3, "e2e_node_644", "draining", "draining", "Ready", 16, 2, 0.1),
            *(
                "XID 79 on GPU 2: fell off the bus, twice in ten minutes (by ops)",
                "root",
                now - timedelta(minutes=12),
            ),
        ),
        ("cpu-workers", 0, "e2e_node_713", "idle", "ok", "Ready", 0, 0, 0, "", "", None),
        (
            *("cpu-workers", 1, "e2e_node_714", "down*", "down", "NotReady", 0, 0, 0),
            *("Not responding", "slurm", now - timedelta(minutes=3)),
        ),
    ]


def _partitions(cluster: Cluster) -> None:
    for name, nodes, default in (
        ("all", "slinky-[0-3],cpu-workers-[0-1]", True),
        ("slinky", "slinky-[0-3]", False),
        ("cpu-workers", "cpu-workers-[0-1]", False),
        ("debug", "slinky-[0-1]", False),
    ):
        Partition.objects.create(cluster=cluster, name=name, state="UP", nodes=nodes, is_default=default)


def _jobs(cluster: Cluster) -> None:
    now = timezone.now()
    rows = [
        (4127, "4127", "ada", "train-70b", "RUNNING", "slinky-[0-1]", 2, 16, "None", 30),
        (4131, "4131", "lin", "eval-sweep", "RUNNING", "slinky-[2-3]", 2, 4, "None", 1),
        (4133, "4133", "lin", "notebook", "RUNNING", "slinky-2", 1, 4, "None", 2),
        (4140, "4140", "mo", "sft-8b", "PENDING", "", 1, 8, "Resources", 0),
        (4141, "4141_[]", "mo", "tokenise", "PENDING", "", 1, 0, "Priority", 0),
        (4144, "4144", "vic", "merge", "PENDING", "", 1, 16, "PartitionNodeLimit", 0),
        (4145, "4145", "ada", "post", "PENDING", "", 1, 1, "Dependency", 0),
    ]
    for number, key, user, name, state, nodes, count, gpus, reason, hours in rows:
        runs = state == "RUNNING"
        Job.objects.create(
            cluster=cluster,
            key=key,
            job_id=key.replace("[]", "[0-199%64]"),
            number=number,
            submit_at=now - timedelta(hours=hours + 3),
            name=name,
            user=user,
            partition="all",
            state=state,
            reason="" if runs else reason,
            why="Asks 16 GPUs on one node; the largest has 8." if number == 4144 else "",
            nodes=nodes,
            node_count=count,
            cpus=16,
            gpus=gpus,
            start_at=now - timedelta(hours=hours) if runs else None,
            end_at=now + timedelta(hours=hours + 1) if runs else None,
            limit_s=86_400,
        )


def _changes(cluster: Cluster, by: User) -> None:
    now = timezone.now()
    first = cluster.revisions.get(number=1)
    spec = first.parsed.with_slurm_conf(first.parsed.slurm_conf.replace("Age=1000", "Age=5000"))
    second = cluster.revisions.create(number=2, spec=to_json(spec), by=by)
    preempting = spec.with_slurm_conf(f"{spec.slurm_conf}PreemptMode=SUSPEND\n").with_partitions(())
    third = cluster.revisions.create(number=3, spec=to_json(preempting), by=by)
    cluster.revision = second
    cluster.save()
    _change(
        cluster, 1, "create", "committed", "Create llama-pretrain", by, None, first, now - timedelta(days=3)
    )
    _change(
        cluster, 2, "edit", "committed", "slurm.conf: 1 line", by, first, second, now - timedelta(hours=5)
    )
    last = _change(
        *(cluster, 3, "edit", "rolled back", "Partition debug: time limit 2 h, preempt mode", by),
        *(second, third, now - timedelta(minutes=4)),
    )
    Change.objects.filter(pk=last.pk).update(
        why="slurmctld: PreemptMode=SUSPEND needs GANG; slinky-1 left the partition.",
        problems=[
            {
                "path": "slurm_conf",
                "message": "PreemptMode=SUSPEND needs GANG.",
                "hint": "Write PreemptMode=SUSPEND,GANG.",
                "line": 4,
                "blocking": True,
            }
        ],
    )
    for tone, text in (
        ("ok", "Checked 214 lines; 1 changed; nodes of debug exist."),
        ("ok", "A controller started on a copy of the new files."),
        ("ok", "Applied. The controller read the file again."),
        ("bad", "slurmctld: PreemptMode=SUSPEND needs GANG on line 4; slinky-1 left the partition."),
        ("ok", "Put back revision 2. 3 running jobs were not touched."),
    ):
        ChangeLine.objects.create(change=last, tone=tone, text=text)


def _change(
    cluster: Cluster,
    number: int,
    kind: str,
    status: str,
    summary: str,
    by: User,
    base: object,
    revision: object,
    at: object,
) -> Change:
    change = Change.objects.create(
        cluster=cluster,
        number=number,
        kind=kind,
        status=status,
        summary=summary,
        by=by,
        base=base,
        revision=revision,
        ended_at=at,
    )
    Change.objects.filter(pk=change.pk).update(at=at)
    return change


def _creating(team: Team, region: Region, by: User) -> None:
    cluster = _cluster(team, region, "vision-lab", Status.CREATING, gpu=3, cpu=1)
    now = timezone.now()
    Cluster.objects.filter(pk=cluster.pk).update(
        status_at=now - timedelta(seconds=24),
        observed_at=now,
        parts=[
            _part("accounting", "slurmdbd", "up", since_s=19),
            _part("controller", "slurmctld", "up", since_s=15),
            _part("worker", "slinky-0", "up", since_s=8),
            _part("worker", "slinky-1", "starting", "slurmd is up; it has not registered yet"),
            _part("login", "login", "starting", "sshd is starting"),
        ],
    )
    change = Change.objects.create(
        cluster=cluster,
        number=1,
        kind="create",
        status="observing",
        summary="Create vision-lab",
        by=by,
        revision=cluster.revisions.get(),
    )
    for text in ("Checked the spec.", "Wrote the configuration.", "Started accounting and the controller."):
        ChangeLine.objects.create(change=change, text=text)


def _failed(team: Team, region: Region, by: User) -> None:
    cluster = _cluster(team, region, "asr-nightly", Status.FAILED, gpu=1, cpu=0)
    Cluster.objects.filter(pk=cluster.pk).update(
        status_at=timezone.now() - timedelta(minutes=41),
        observed_at=timezone.now(),
        status_why=(
            "The controller did not start within 60 s. Its last lines:\n"
            "slurmctld: error: Unable to open pidfile\n"
            "slurmctld: fatal: cannot create spool directory: No space left on device"
        ),
        parts=[
            _part("accounting", "slurmdbd", "up"),
            _part("controller", "slurmctld", "down", "exited with 1"),
        ],
    )
