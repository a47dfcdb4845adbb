"""What the tests of trouble stand on: the cluster, and words for what they do to it and ask of it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from django.utils import timezone

from clusters import changes
from clusters.leases import Clock
from clusters.models import Change, Cluster
from clusters.run import run
from clusters.spec import ClusterSpec, NodeGroup, PartitionSpec
from slurm.kube.client import Kube
from slurm.kube.kinds import Kind, Thing
from slurm.provisioners.slinky.names import Names
from tests.cast import GPU_SHAPE, Cast
from tests.clusters.polling import until
from tests.kube.clusters import SlinkyPlatform
from tests.kube.double.operator import Double
from tests.kube.double.switches import flip
from tests.kube.rig.rig import Rig

KEY, REGION = "ctrouble00001", "lab"
SPEC = ClusterSpec(
    name="contract",
    image="slurm-26-05",
    slurm_version="26.05",
    groups=(NodeGroup("slinky", GPU_SHAPE, (0, 1)),),
    partitions=(PartitionSpec("debug", "slinky-0", max_time_minutes=60),),
    slurm_conf="# Kept as typed\nMaxJobCount=20000\n",
)
# What `ground` takes back afterwards.
SWITCHES: dict[str, object] = {"dead": None, "rest_away": None, "controller_crash": None}


def scaled(count: int) -> ClusterSpec:
    return replace(SPEC, groups=(replace(SPEC.groups[0], ordinals=tuple(range(count))),))


def limited(minutes: int) -> ClusterSpec:
    """With another time limit of its partition: a change that no node comes or goes with."""
    return SPEC.with_partitions((replace(SPEC.partitions[0], max_time_minutes=minutes),))


@dataclass
class Ground:
    rig: Rig
    platform: SlinkyPlatform
    cast: Cast
    row: Cluster

    # The parts

    @property
    def cluster(self) -> Cluster:
        return Cluster.objects.select_related("team", "region", "revision").get(pk=self.row.pk)

    @property
    def double(self) -> Double:
        return self.platform.double

    @property
    def names(self) -> Names:
        return self.platform.site.names

    @property
    def kube(self) -> Kube:
        """The administrator's own."""
        return self.platform.site.kube

    def get(self, kind: Kind, name: str) -> Thing:
        return self.kube.get(kind, name, self.names.namespace)

    def path(self, plural: str, name: str = "", group: str = "apis/slinky.slurm.net/v1beta1") -> str:
        return f"/{group}/namespaces/{self.names.namespace}/{plural}/{name}".rstrip("/")

    def flip(self, **switches: object) -> None:
        assert switches.keys() <= SWITCHES.keys()
        flip(self.double.home, **switches)

    # Changes

    def propose(self, spec: ClusterSpec) -> Change:
        cluster = self.cluster
        assert cluster.revision
        return changes.propose(cluster, spec, base=cluster.revision.number, by=self.cast.ada)

    def edit(self, spec: ClusterSpec, meanwhile: Callable[[Change], None] | None = None) -> Change:
        return self.carry(self.propose(spec), meanwhile)

    def reconfigure(self) -> Change:
        return self.carry(changes.reconfigure(self.cluster, by=self.cast.ada))

    def carry(self, change: Change, meanwhile: Callable[[Change], None] | None = None) -> Change:
        """To its end. `meanwhile` is called between two looks, in this thread."""
        run(change.pk, clock=_clock(change, meanwhile))
        return Change.objects.get(pk=change.pk)

    # Slurm

    def ask(self, *argv: str) -> str:
        done = self.platform.site.executor.run(argv)
        assert done.code == 0, done.stderr
        return done.stdout.decode()

    def a_job_on(self, node: str) -> str:
        job = self.ask(
            "sbatch", "--parsable", "-p", "all", "-w", node, "-o", "/dev/null", "--wrap", "sleep 300"
        )
        assert until(lambda: self.job_state(job.strip()) == "RUNNING", 20), self.job_state(job.strip())
        return job.strip()

    def job_state(self, job: str) -> str:
        return self.ask("squeue", "-h", "-o", "%T", "-j", job).strip()

    def end_job(self, job: str) -> None:
        self.ask("scancel", job)


def _clock(change: Change, meanwhile: Callable[[Change], None] | None) -> Clock:
    system = Clock()

    def sleep(seconds: float) -> None:
        if meanwhile:
            meanwhile(Change.objects.get(pk=change.pk))
        system.sleep(seconds)

    def now() -> datetime:
        return timezone.now()

    return Clock(now=now, sleep=sleep)


def said(change: Change) -> str:
    return "\n".join(change.lines.order_by("pk").values_list("text", flat=True))
