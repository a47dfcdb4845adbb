"""The pipeline and the watcher over real daemons: a cluster created, changed, broken, rolled back and ended."""

import asyncio
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import asyncssh
import pytest
from django.conf import settings

from clusters import answers as answers_of_people
from clusters import changes
from clusters.access import Door
from clusters.leases import Clock
from clusters.lifecycle import Status
from clusters.machine import ChangeStatus
from clusters.models import Change, Cluster
from clusters.run import run
from clusters.spec import ClusterSpec, Mount
from clusters.watch import watch_once
from console.errors import Conflict
from slurm import restarts
from slurm.authority import certificate
from slurm.provisioners.sandbox.adapter import Sandbox
from storage import tending, volumes
from storage.kinds import Kind
from storage.models import Offer
from tests.cast import Cast, the_cast, the_region
from tests.clusters.polling import until
from tests.contracts.platforms import CPU, GPU, SPEC, SandboxPlatform

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(300)]
S = ChangeStatus
GPU_SHAPE, CPU_SHAPE = replace(GPU, plan="gpu-8x"), replace(CPU, plan="cpu-16")
LIFE = replace(
    SPEC,
    name="life",
    groups=(replace(SPEC.groups[0], shape=GPU_SHAPE), replace(SPEC.groups[1], shape=CPU_SHAPE)),
)


@pytest.fixture
def cast() -> Cast:
    return the_cast()


@pytest.fixture
def cluster(cast: Cast, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A created cluster of the sandbox. Ended afterwards whatever the test has met."""
    kept, settings.VAR_DIR = settings.VAR_DIR, tmp_path_factory.mktemp("life")
    region = the_region()
    region.provisioner = "sandbox"
    region.save()
    for shape in (GPU_SHAPE, CPU_SHAPE):
        region.plans.filter(slug=shape.plan).update(
            gpus=shape.gpus, cpus=shape.cpus, memory_mib=shape.memory_mib, gpu_model=shape.gpu_model
        )
    cluster = changes.create_cluster(cast.team, region, LIFE, by=cast.ada)
    try:
        change = carry(cluster.changes.get())
        assert change.status == S.COMMITTED, said(change)
        yield fresh(cluster)
    finally:
        cluster.provisioner.terminate(lambda text: None)
        cluster.provisioner.destroy(lambda text: None)
        settings.VAR_DIR = kept


def fresh(cluster: Cluster) -> Cluster:
    return Cluster.objects.select_related("team", "region", "revision").get(pk=cluster.pk)


def carry(change: Change) -> Change:
    run(change.pk)
    return Change.objects.get(pk=change.pk)


def said(change: Change) -> str:
    return "\n".join(change.lines.values_list("text", flat=True))


def edit(cluster: Cluster, cast: Cast, spec: ClusterSpec) -> Change:
    return carry(changes.propose(cluster, spec, base=cluster.revision.number, by=cast.ada))


def ask(cluster: Cluster, *argv: str) -> str:
    done = cluster.provisioner.executor().run(argv)
    assert done.code == 0, done.stderr
    return done.stdout.decode()


def a_running_job(cluster: Cluster, *options: str) -> str:
    argv = ["sbatch", "--parsable", "-p", "all", "-n1", "-o", "/dev/null", *options, "--wrap", "sleep 300"]
    job = ask(cluster, *argv).strip()
    assert until(lambda: job_state(cluster, job) == "RUNNING", 20), job_state(cluster, job)
    return job


def job_state(cluster: Cluster, job: str) -> str:
    return ask(cluster, "squeue", "-h", "-o", "%T", "-j", job).strip()


# What kills or is refused by a real controller; no check is asked, so the controller is the first to read it.
UNREADABLE = (
    "FooBar=1",
    "SlurmctldTimeout=abc",
    "SelectType=select/nope",
    "SchedulerType=sched/nonsense",
    "AccountingStorageEnforce=bogus",
    "garbage words here",
)


def test_a_cluster_is_created_changed_and_ended(cluster, cast):
    watch_once(cluster)
    assert cluster.status == Status.RUNNING
    assert set(cluster.nodes.values_list("name", flat=True)) == set(LIFE.node_names)

    longer = LIFE.with_partitions((replace(LIFE.partitions[0], max_time_minutes=90),))
    change = edit(cluster, cast, longer)
    assert change.status == S.COMMITTED, said(change)
    assert "MaxTime=01:30:00" in ask(cluster, "scontrol", "show", "partition", "debug")

    bad = longer.with_slurm_conf(f"# kept\n{SandboxPlatform.bad_line}\n")
    change = edit(fresh(cluster), cast, bad)
    assert change.status == S.REJECTED, said(change)
    assert change.problems[0]["line"] == 2

    change = carry(changes.terminate(fresh(cluster), by=cast.ada))
    assert change.status == S.COMMITTED, said(change)
    assert fresh(cluster).status == Status.TERMINATED
    assert not cluster.nodes.exists()


def test_what_slips_through_every_check_is_rolled_back_and_jobs_go_on(cluster, cast, monkeypatch):
    monkeypatch.setattr(Sandbox, "check", lambda self, spec, shadow=True: ())
    job = a_running_job(cluster)
    for line in UNREADABLE:
        change = edit(fresh(cluster), cast, LIFE.with_slurm_conf(f"{LIFE.slurm_conf}{line}\n"))
        assert change.status == S.ROLLED_BACK, f"{line}: {said(change)}"
        assert change.why
        assert fresh(cluster).revision.number == 1
        assert cluster.provisioner.judge(LIFE).verdict == "done"
        assert job_state(cluster, job) == "RUNNING"


def test_a_volume_is_mounted_under_running_jobs_and_outlives_the_cluster(cluster, cast):
    Offer.objects.create(region=cluster.region, slug="standard", name="Standard", kind=Kind.SFS)
    volume = volumes.create(cast.team, volumes.Wish("shared", "lab", "standard", 10), by=cast.ada)
    tending.tend(volume)
    files = Path(settings.VAR_DIR) / "volumes" / volume.key
    platform, job = SandboxPlatform(cluster.provisioner), a_running_job(cluster)

    shared = Mount(volume.key, "shared", "/shared")
    change = edit(cluster, cast, LIFE.with_mounts((shared,)))
    assert change.status == S.COMMITTED, said(change)
    assert job_state(cluster, job) == "RUNNING"
    platform.write("slinky-1", "/shared/x", "written")
    assert platform.read("login", "/shared/x") == "written"

    ask(cluster, "ln", "-s", "/etc", "/trick")
    change = edit(fresh(cluster), cast, LIFE.with_mounts((replace(shared, path="/trick/x"),)))
    assert change.status == S.REJECTED, said(change)
    assert [problem["path"] for problem in change.problems] == ["mounts[0].path"]
    with pytest.raises(Conflict, match="mounted by life"):
        volumes.delete(volume, by=cast.ada)

    for end in (changes.terminate, changes.delete):
        assert carry(end(fresh(cluster), by=cast.ada)).status == S.COMMITTED
        assert (files / "x").read_text() == "written"
    tending.note_orphans()
    volume.refresh_from_db()
    assert volume.orphan_since
    volumes.delete(volume, by=cast.ada)
    volume.refresh_from_db()
    tending.tend(volume)
    assert not files.exists() and not cast.team.volumes.exists()


def test_a_job_that_ended_with_the_cluster_is_queued_again(cluster):
    job = a_running_job(cluster)
    platform = SandboxPlatform(cluster.provisioner)
    platform.fall_over()

    def is_queued_again() -> bool:
        watch_once(fresh(cluster))
        return any(
            seen.job_id == job and seen.state == "PENDING"
            for seen in cluster.provisioner.observe().jobs or ()
        )

    assert until(is_queued_again, within_s=60)


def test_each_restart_ends_what_its_dialog_says_and_nothing_else(cluster, cast):
    """Two jobs run on through the first two restarts; the workers' own ends both, and queues one of them again."""
    door = Door(cluster, cast.ben)
    again = a_running_job(cluster)
    once = a_running_job(cluster, "--no-requeue")

    session = Session(cluster)
    restarts.restart(door, "controller")
    assert until(lambda: answers(cluster) and job_state(cluster, once) == "RUNNING", 20)
    assert job_state(cluster, again) == "RUNNING"
    assert session.is_open

    restarts.restart(door, "login")
    assert until(lambda: not session.is_open, 20)
    assert (job_state(cluster, again), job_state(cluster, once)) == ("RUNNING", "RUNNING")
    assert until(lambda: cluster.provisioner.judge(LIFE).verdict == "done", 20)
    back = Session(cluster)

    restarts.restart(door, "workers")

    def are_over() -> bool:
        watch_once(fresh(cluster))
        return (job_state(cluster, again), job_state(cluster, once)) == ("PENDING", "")

    assert until(are_over, 30), ask(cluster, "squeue", "-O", "JobID,State,Reason,StartTime,NodeList")
    assert until(lambda: set(ask(cluster, "sinfo", "-h", "-N", "-o", "%T").split()) == {"idle"}, 30)
    assert back.is_open
    assert cluster.changes.count() == 1


def test_workers_restart_one_after_the_other_each_when_its_jobs_have_ended(cluster, cast):
    job = a_running_job(cluster, "-w", "slinky-1")
    before = since_of(cluster)
    change = changes.restart(cluster, LIFE.node_names, by=cast.ben, at_once=1, when_idle=True)

    def goes_on(until_status: str) -> bool:
        carry_watched(change)
        # Never more than one of them is away.
        assert len([word for word in sinfo(cluster) if word.strip("*") != "idle"]) <= 2
        return change.status == until_status

    assert until(lambda: goes_on("applying") and change.waits_for.endswith("on slinky-1 to end."), 60)
    assert job_state(cluster, job) == "RUNNING" and change.waits_for.startswith("1 of 3 has restarted")
    ask(cluster, "scancel", job)
    assert until(lambda: goes_on(S.COMMITTED), 60), said(change)
    assert all(since_of(cluster)[name] > before[name] for name in LIFE.node_names)
    assert set(sinfo(cluster)) == {"idle"}


def test_a_wait_for_jobs_is_cut_short_by_who_does_not_want_it(cluster, cast):
    job = a_running_job(cluster, "-w", "slinky-1", "--no-requeue")
    change = changes.restart(cluster, ["slinky-1", "slinky-0"], by=cast.ben, at_once=1, when_idle=True)

    def is_over() -> bool:
        carry_watched(change)
        if change.rests and not change.force:
            answers_of_people.force(change, by=cast.ben)
        return change.status == S.COMMITTED

    assert until(is_over, 60), said(change)
    assert until(lambda: job_state(cluster, job) == "", 20)
    assert until(lambda: set(sinfo(cluster)) == {"idle"}, 20)


def carry_watched(change: Change) -> None:
    """With the watcher at work meanwhile: it restarts nodes that nothing runs on."""

    def sleep(seconds: float) -> None:
        watch_once(fresh(change.cluster))
        time.sleep(seconds)

    sleep(0.1)
    run(change.pk, clock=Clock(sleep=sleep))
    change.refresh_from_db()


def since_of(cluster: Cluster) -> dict[str, object]:
    return {part.name: part.since for part in cluster.provisioner.observe().parts}


def sinfo(cluster: Cluster) -> list[str]:
    return ask(cluster, "sinfo", "-h", "-N", "-p", "all", "-o", "%T").split()


def answers(cluster: Cluster) -> bool:
    return cluster.provisioner.executor().run(["scontrol", "ping"]).code == 0


class Session:
    """An ssh session on the login node, held open in a thread until the other side ends it."""

    def __init__(self, cluster: Cluster) -> None:
        self.endpoint = cluster.provisioner.login()
        self.signed = certificate(cluster, self.endpoint.user, "ben")
        self.is_open = False
        started = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self._hold(started)), daemon=True).start()
        assert started.wait(20)

    async def _hold(self, started: threading.Event) -> None:
        there = f"[{self.endpoint.host}]:{self.endpoint.port} {self.endpoint.host_key}"
        signing = asyncssh.import_private_key(self.signed.key)
        async with asyncssh.connect(
            self.endpoint.host,
            self.endpoint.port,
            username=self.endpoint.user,
            client_keys=[(signing, asyncssh.import_certificate(self.signed.certificate))],
            known_hosts=asyncssh.import_known_hosts(there),
            config=None,
            agent_path=None,
        ) as connection:
            asleep = await connection.create_process("sleep 300")
            self.is_open = True
            started.set()
            try:
                await asleep.wait()
            finally:
                self.is_open = False
