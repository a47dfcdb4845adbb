"""The platforms that the contract is held against: the scripted fake, and the sandbox with real daemons."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from clusters.observation import NodeSeen, Verdict
from clusters.provisioner import ClusterRef, Provisioner
from clusters.spec import CPU_GROUP, ClusterSpec, NodeGroup, PartitionSpec, Shape
from console.errors import Rejected
from slurm.provisioners.sandbox.adapter import Sandbox
from slurm.provisioners.sandbox.space import keeper_pid
from tests.clusters.polling import until
from tests.fakes import BAD_LINE, DEADLY_LINE, FakeProvisioner, World

GPU = Shape("gpu-2x", cpus=4, memory_mib=4000, gpus=2, gpu_model="h100")
CPU = Shape("cpu-4", cpus=4, memory_mib=4000)
SPEC = ClusterSpec(
    name="contract",
    image="slurm-24-11",
    slurm_version="24.11",
    groups=(NodeGroup("slinky", GPU, (0, 1)), NodeGroup(CPU_GROUP, CPU, (0,))),
    partitions=(PartitionSpec("debug", "slinky-0", max_time_minutes=60),),
    slurm_conf="# Kept as typed\nMaxJobCount=20000\n",
)
SETTLE_S = 60.0


class Platform:
    """One cluster of one platform, and what a test may do to it behind the adapter's back."""

    # A line that `check` finds fault with, and one that only the daemon itself refuses, at apply.
    bad_line: str
    deadly_line: str
    # Whether what died is started again by somebody else than the console.
    heals_itself = False
    settles_within_s = SETTLE_S

    def __init__(self, provisioner: Provisioner) -> None:
        self.provisioner = provisioner
        self.said: list[str] = []

    def apply(self, spec: ClusterSpec, *, force: bool = False) -> None:
        self.said.clear()
        self.provisioner.apply(spec, self.said.append, force=force)

    def make(self, spec: ClusterSpec = SPEC) -> None:
        """Apply and wait until the cluster says that it is so."""
        if self.provisioner.judge(spec).verdict is not Verdict.DONE:
            self.apply(spec)
        self.settle(spec)

    def settle(self, spec: ClusterSpec) -> None:
        give_up = time.monotonic() + self.settles_within_s
        while (judgement := self.provisioner.judge(spec)).verdict is not Verdict.DONE:
            assert time.monotonic() < give_up, judgement.why
            if judgement.verdict is Verdict.APPLY_AGAIN:
                self.apply(spec)
            time.sleep(0.1)

    def refusal_of(self, spec: ClusterSpec) -> str:
        """Why the cluster does not take it: some say so at once, some only when they were looked at for a while."""
        try:
            self.apply(spec)
        except Rejected as refused:
            return refused.message
        give_up = time.monotonic() + self.settles_within_s
        while (judgement := self.provisioner.judge(spec)).verdict is not Verdict.HOPELESS:
            assert time.monotonic() < give_up, judgement.why
            if judgement.verdict is Verdict.APPLY_AGAIN:
                self.apply(spec)
            time.sleep(0.1)
        return judgement.why

    def fall_over(self) -> None:
        """Everything of the cluster dies at once."""
        raise NotImplementedError

    def occupy(self, node: str) -> str:
        """A job that runs on the node until it is cancelled; its number."""
        argv = ["sbatch", "--parsable", "-p", "all", "-w", node, "-n1", "-o", "/dev/null", "--no-requeue"]
        job = self._ask(*argv, "--wrap", "sleep 600").strip()
        assert until(lambda: self.runs(job)), self._ask("scontrol", "show", "job", job)
        return job

    def vacate(self, job: str) -> None:
        self._ask("scancel", job)

    def runs(self, job: str) -> bool:
        done = self.provisioner.executor().run(["squeue", "-h", "-o", "%T", "-j", job])
        return done.stdout.strip() == b"RUNNING"

    def node(self, name: str) -> NodeSeen | None:
        return next((node for node in self.provisioner.observe().nodes or () if node.name == name), None)

    def _ask(self, *argv: str) -> str:
        done = self.provisioner.executor().run(argv)
        assert done.code == 0, done.stderr
        return done.stdout.decode()


class FakePlatform(Platform):
    bad_line, deadly_line = BAD_LINE, DEADLY_LINE

    def fall_over(self) -> None:
        assert isinstance(self.provisioner, FakeProvisioner)
        self.provisioner.kill("controller")

    def occupy(self, node: str) -> str:
        self._change(lambda world: world.busy.append(node))
        return node

    def vacate(self, job: str) -> None:
        self._change(lambda world: world.busy.remove(job))

    def runs(self, job: str) -> bool:
        assert isinstance(self.provisioner, FakeProvisioner)
        return job in self.provisioner.world.busy

    def _change(self, act: Callable[[World], None]) -> None:
        assert isinstance(self.provisioner, FakeProvisioner)
        world = self.provisioner.world
        act(world)
        self.provisioner.save(world)


class SandboxPlatform(Platform):
    bad_line = "SchedulerType=sched/nonsense"
    # The catalogue takes any plugin name here; a controller that cannot load it does not start.
    deadly_line = "PrologFlags=NoSuchFlag"

    @property
    def home(self) -> Path:
        assert isinstance(self.provisioner, Sandbox)
        return self.provisioner.home

    def fall_over(self) -> None:
        pid = keeper_pid(self.home)
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        give_up = time.monotonic() + 10
        while keeper_pid(self.home) is not None:
            assert time.monotonic() < give_up
            time.sleep(0.05)


def ref(key: str) -> ClusterRef:
    return ClusterRef(key=key, name="contract", team="research")


def with_partition(**fields: object) -> ClusterSpec:
    return SPEC.with_partitions((replace(SPEC.partitions[0], **fields),))  # type: ignore[arg-type]
