"""What the tests of true impacts stand on: a cluster in the database with real daemons, jobs and files, and a look at
what became of each.

Files are marks, one in every place that a machine may have to itself. Their sources are read from the room, where they
can be seen of nodes that are gone, too.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from django.conf import settings

from clusters import changes
from clusters.acts import Act, Does, Fate, PartKind
from clusters.impact import Impact
from clusters.impacts import preview
from clusters.models import Change, Cluster, Image, Plan, Region
from clusters.observation import Verdict
from clusters.run import run
from clusters.spec import CPU_GROUP, ClusterSpec, NodeGroup, PartitionSpec, Shape, to_json
from clusters.watch import watch_once
from slurm import rows
from slurm.provisioners.sandbox.adapter import Sandbox
from slurm.provisioners.sandbox.epochs import epochs_of
from slurm.provisioners.sandbox.machine import MACHINES, MEMORY
from slurm.provisioners.sandbox.space import keeping
from tests.cast import Cast, the_cast

KEY = "ctruth0000001"
GPU = Shape("gpu-2x", cpus=4, memory_mib=4000, gpus=2, gpu_model="h100")
CPU = Shape("cpu-4", cpus=4, memory_mib=4000)
BASE = ClusterSpec(
    name="truth",
    image="slurm-24-11",
    slurm_version="24.11",
    groups=(NodeGroup("slinky", GPU, (0, 1, 2)), NodeGroup(CPU_GROUP, CPU, (0,))),
    partitions=(PartitionSpec("debug", "slinky-[0-1]", max_time_minutes=60),),
    slurm_conf="# Kept as typed\nMaxJobCount=20000\n",
)
PLACES = ("/tmp", "/dev/shm", "/root", "/home")
MARK = "mark-of-the-test"
WAIT_S = 90.0


@dataclass
class Stage:
    cluster: Cluster
    cast: Cast
    # The runs that were there before the act: job and when its run began.
    jobs: dict[str, str] = field(default_factory=dict)
    waiting: list[str] = field(default_factory=list)
    marked: dict[tuple[str, str], str] = field(default_factory=dict)

    @property
    def sandbox(self) -> Sandbox:
        provisioner = self.cluster.provisioner
        assert isinstance(provisioner, Sandbox)
        return provisioner

    @property
    def spec(self) -> ClusterSpec:
        return Cluster.objects.get(pk=self.cluster.pk).spec

    # Before the act

    def restore(self) -> None:
        """Whatever another test has left."""
        if self.sandbox.judge(BASE).verdict is not Verdict.DONE:
            self.settle(BASE)
        self.ask("scancel", "-u", self.ask("id", "-un").strip())
        self.until(lambda: not self.ask("squeue", "-h"), "an empty queue")
        drained = self.ask("sinfo", "-h", "-N", "-t", "drain,down", "-o", "%N").split()
        if drained:
            self.ask("scontrol", "update", f"nodename={','.join(sorted(set(drained)))}", "state=resume")
        self.until(lambda: set(self.states().values()) == {"idle"}, "idle nodes", self.states)
        self.look()

    def settle(self, spec: ClusterSpec) -> None:
        give_up = time.monotonic() + WAIT_S
        self.sandbox.apply(spec, lambda text: None, force=True)
        while (judgement := self.sandbox.judge(spec)).verdict is not Verdict.DONE:
            assert time.monotonic() < give_up, judgement.why
            if judgement.verdict is Verdict.APPLY_AGAIN:
                self.sandbox.apply(spec, lambda text: None, force=True)
            time.sleep(0.1)

    def runs(self, node: str, *options: str) -> str:
        """A batch job that runs on the node, with an hour to go."""
        argv = ["sbatch", "--parsable", "-t60", "-n1", "--mem=100", "-o", "/dev/null", "-w", node, *options]
        job = self.ask(*argv, "--wrap", "sleep 3600").strip()
        self.until(lambda: self.state(job) == "RUNNING", f"job {job} runs", lambda: self.state(job))
        self.jobs[job] = self.began(job)
        return job

    def waits(self, *options: str) -> str:
        """One that waits, being told to begin in an hour."""
        argv = ["sbatch", "--parsable", "-t5", "-n1", "--begin=now+1hour", "-o", "/dev/null", *options]
        job = self.ask(*argv, "--wrap", "true").strip()
        self.waiting.append(job)
        return job

    def mark(self) -> None:
        """Leave a file in every place of every machine that there is."""
        self.marked = self.sources()
        for source in self.marked.values():
            self.ask("touch", f"{source}/{MARK}")

    # The act, and what it says beforehand

    def look(self) -> None:
        """What the watcher does each tick."""
        self.cluster.refresh_from_db()
        watch_once(self.cluster, self.sandbox)

    def promise(self, act: Act) -> Impact:
        self.look()
        return preview(Cluster.objects.get(pk=self.cluster.pk), act)

    def change(self, spec: ClusterSpec, *, force: bool = False) -> Change:
        return changes.propose(self.cluster, spec, base=self.number, by=self.cast.ada, force=force)

    def carry(self, change: Change) -> Change:
        """Until it has ended or rests."""
        run(change.pk)
        return Change.objects.get(pk=change.pk)

    @property
    def number(self) -> int:
        revision = Cluster.objects.get(pk=self.cluster.pk).revision
        assert revision
        return revision.number

    def settled(self) -> None:
        """Nothing is on its way any more: every node answers, and no job is between two states."""

        def is_quiet() -> bool:
            self.look()
            parts = {part["state"] for part in self.cluster.parts}
            told = epochs_of(self.sandbox.home)
            is_new = all(told.get(name, epoch) == epoch for name, epoch in self.epochs().items())
            moving = self.ask("squeue", "-h", "-t", "CG,CF", "-o", "%i")
            return is_new and parts == {"up"} and not moving and "*" not in "".join(self.states().values())

        self.until(is_quiet, "quiet", self.states)

    # After it

    def fates(self) -> dict[str, Fate]:
        """What became of each job that ran or waited before."""
        ran = {job: self.fate(job, began) for job, began in self.jobs.items()}
        return ran | {
            job: Fate.GOES_ON if self.state(job) == "PENDING" else Fate.DROPPED for job in self.waiting
        }

    def fate(self, job: str, began: str) -> Fate:
        state = self.state(job)
        if state == "PENDING":
            return Fate.QUEUED
        if state == "RUNNING":
            return Fate.GOES_ON if self.began(job) == began else Fate.QUEUED
        return Fate.ENDS

    def lost(self) -> set[tuple[str, str]]:
        """Machine and place of every mark that is gone."""
        return {where for where, source in self.marked.items() if not self.has(source)}

    def sources(self) -> dict[tuple[str, str], str]:
        """Of every worker, and of the login node."""
        login, nodes = f"{BASE.name}-login", self.states()
        found = {(node, place): _source(node, place) for node in nodes for place in PLACES}
        found |= {("login", place): _source(login, place) for place in ("/tmp", "/dev/shm")}
        return found | {("login", place): place for place in ("/root", "/home")}

    def has(self, source: str) -> bool:
        return self.sandbox.executor().run(["test", "-e", f"{source}/{MARK}"]).code == 0

    def epochs(self) -> dict[str, int]:
        """How often each daemon was told to start afresh."""
        state = keeping(self.sandbox.home)
        return {daemon.name: daemon.epoch for daemon in state.daemons} if state else {}

    # Slurm's own words

    def ask(self, *argv: str) -> str:
        done = self.sandbox.executor().run(argv, timeout_s=20)
        assert done.code == 0, f"{argv}: {done.stderr}"
        return done.stdout.decode()

    def state(self, job: str) -> str:
        done = self.sandbox.executor().run(["squeue", "-h", "-t", "all", "-o", "%T", "-j", job], timeout_s=20)
        return done.stdout.decode().strip()

    def began(self, job: str) -> str:
        return self.ask("squeue", "-h", "-t", "all", "-o", "%S", "-j", job).strip()

    def states(self) -> dict[str, str]:
        lines = self.ask("sinfo", "-h", "-N", "-o", "%N %T").splitlines()
        return dict(line.split() for line in lines)

    def until(self, holds: Callable[[], bool], what: str, why: Callable[[], object] = lambda: "") -> None:
        give_up = time.monotonic() + WAIT_S
        while not holds():
            assert time.monotonic() < give_up, f"not {what}: {why()}"
            time.sleep(0.1)


def the_stage() -> Stage:
    """Rows as if the cluster had been created a while ago."""
    cast = the_cast()
    region = Region.objects.create(slug="here", name="Here", provisioner="sandbox")
    for shape in (GPU, CPU):
        Plan.objects.create(
            region=region, slug=shape.plan, name=shape.plan, gpu_model=shape.gpu_model, gpus=shape.gpus,
            cpus=shape.cpus, memory_mib=shape.memory_mib,
        )  # fmt: skip
    for slug, version in ((BASE.image, "24.11"), ("slurm-26-05", "26.05")):
        Image.objects.create(slug=slug, name=f"Slurm {version}", slurm_version=version, source="x")
    cluster = Cluster.objects.create(key=KEY, team=cast.team, region=region, slug=BASE.name, status="Running")
    cluster.revision = cluster.revisions.create(number=1, spec=to_json(BASE))
    cluster.save()
    assert settings.PROVISIONERS["sandbox"]
    rows.forget(cluster)
    return Stage(Cluster.objects.get(pk=cluster.pk), cast)


def promised_fates(stage: Stage, impact: Impact) -> dict[str, Fate]:
    """Of every job that was there, those that simply go on included."""
    told = {job.job_id: job.fate for job in impact.jobs if job.fate is not Fate.RUNS_OUT}
    return {job: told.get(job, Fate.GOES_ON) for job in (*stage.jobs, *stage.waiting)}


def promised_losses(impact: Impact) -> set[tuple[str, str]]:
    return {
        (machine, place)
        for loss in impact.losses
        for machine in (loss.nodes if loss.part is PartKind.WORKERS else (loss.part.value,))
        for place in loss.places
    }


def promised_restarts(impact: Impact) -> set[str]:
    """Daemons by the names that the keeper has for them."""
    names = {PartKind.CONTROLLER: "slurmctld", PartKind.LOGIN: "sshd"}
    services = {names[touch.part] for touch in impact.touched(Does.RESTARTS) if touch.part in names}
    return services | {f"slurmd-{node}" for node in impact.nodes_that(Does.RESTARTS)}


def restarted(before: dict[str, int], after: dict[str, int]) -> set[str]:
    return {name for name, epoch in after.items() if epoch > before.get(name, epoch)}


def gone(before: Iterable[str], after: Iterable[str]) -> set[str]:
    return {name.removeprefix("slurmd-") for name in set(before) - set(after)}


def _source(machine: str, place: str) -> str:
    return f"{MEMORY}/{machine}" if place == "/dev/shm" else f"{MACHINES}/{machine}{place}"
