"""The platforms that the contract is held against: the scripted fake, and the sandbox with real daemons."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from clusters.observation import Judgement, NodeSeen, Verdict
from clusters.platform import RegionRef
from clusters.provisioner import ClusterRef, Provisioner
from clusters.spec import CPU_GROUP, ClusterSpec, Mount, NodeGroup, PartitionSpec, Shape
from console.errors import Rejected
from slurm.provisioners.sandbox.adapter import Sandbox
from slurm.provisioners.sandbox.space import keeper_pid, keeping
from slurm.provisioners.sandbox.volumes import SandboxVolumes
from storage.kinds import Kind
from storage.models import new_key
from storage.store import VolumeRef
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

    def wait_patiently(self, spec: ClusterSpec) -> Judgement:
        """The judgement that has no deadline, after the stages before it."""
        give_up = time.monotonic() + self.settles_within_s
        while not (judgement := self.provisioner.judge(spec)).patient:
            assert time.monotonic() < give_up and judgement.verdict is not Verdict.DONE, judgement.why
            if judgement.verdict is Verdict.APPLY_AGAIN:
                self.apply(spec)
            time.sleep(0.1)
        return judgement

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

    def a_volume(self) -> Mount:
        """A new volume of this platform, to be mounted at /shared."""
        raise NotImplementedError

    def write(self, node: str, path: str, text: str) -> None:
        """By a job on the node."""
        self._job(node, f"printf %s {text} > {path}")

    def read(self, node: str, path: str) -> str:
        """By a job on the node, or where people sign in (`login`); empty when there is no such file."""
        script = f"cat {path} 2>/dev/null || true"
        return self._on_login(script) if node == "login" else self._job(node, script)

    def _job(self, node: str, script: str) -> str:
        argv = ["srun", "-Q", "-t1", "-p", "all", "-w", node, "sh", "-c", script]
        done = self.provisioner.executor().run(argv, timeout_s=60.0)
        assert done.code == 0, done.stderr
        return done.stdout.decode()

    def _on_login(self, script: str) -> str:
        raise NotImplementedError

    def node(self, name: str) -> NodeSeen | None:
        return next((node for node in self.provisioner.observe().nodes or () if node.name == name), None)

    def _ask(self, *argv: str) -> str:
        done = self.provisioner.executor().run(argv)
        assert done.code == 0, done.stderr
        return done.stdout.decode()


# The files of the fake's volumes, by key.
DISKS: dict[str, dict[str, str]] = {}


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

    def a_volume(self) -> Mount:
        return Mount("v000000000001", "shared", "/shared")

    def write(self, node: str, path: str, text: str) -> None:
        disk, name = self._file(path)
        disk[name] = text

    def read(self, node: str, path: str) -> str:
        disk, name = self._file(path)
        return disk.get(name, "")

    def _file(self, path: str) -> tuple[dict[str, str], str]:
        """The volume that is mounted where `path` lies, and the file's name in it; a node's own disk is not kept."""
        assert isinstance(self.provisioner, FakeProvisioner)
        for mount in json.loads(self.provisioner.world.running["nodes.json"])["mounts"]:
            if path.startswith(f"{mount['path']}/"):
                return DISKS.setdefault(mount["volume"], {}), path.removeprefix(mount["path"])
        return {}, path

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

    def a_volume(self) -> Mount:
        ref = VolumeRef(new_key(), "shared", "research", Kind.SFS, 1)
        SandboxVolumes(RegionRef("local")).keep(ref)
        return Mount(ref.key, ref.name, "/shared")

    def _on_login(self, script: str) -> str:
        return on_login(self.home, script)

    def fall_over(self) -> None:
        pid = keeper_pid(self.home)
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        give_up = time.monotonic() + 10
        while keeper_pid(self.home) is not None:
            assert time.monotonic() < give_up
            time.sleep(0.05)


def on_login(home: Path, script: str) -> str:
    """What a script prints among the files of the login node: those that its sshd sees."""
    state = keeping(home)
    sshd = state.daemon("sshd") if state else None
    assert state and sshd and sshd.pid, "there is no login node"
    own_user = ["--user", "--preserve-credentials"] if os.getuid() else []
    enter = [
        "nsenter",
        f"--target={_seen_from_here(state.pid, sshd.pid)}",
        *own_user,
        "--mount",
        "--root",
        "--wd",
        "--",
    ]
    env = {"PATH": "/usr/bin:/bin"}
    done = subprocess.run([*enter, "sh", "-c", script], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _seen_from_here(keeper: int, pid: int) -> int:
    """The pid on this machine of a process that the keeper knows by `pid`, by the last number of NSpid (proc(5))."""
    room = os.readlink(f"/proc/{keeper}/ns/pid")
    for status in Path("/proc").glob("[0-9]*/status"):
        with suppress(OSError):  # ended just now, or somebody else's
            if os.readlink(status.with_name("ns") / "pid") == room and f"\t{pid}\n" in _line(
                status, "NSpid:"
            ):
                return int(status.parent.name)
    raise AssertionError(f"no process {pid} in the room of {keeper}")


def _line(status: Path, name: str) -> str:
    return next((line for line in status.read_text().splitlines(keepends=True) if line.startswith(name)), "")


def ref(key: str) -> ClusterRef:
    return ClusterRef(key=key, name="contract", team="research")


def with_partition(**fields: object) -> ClusterSpec:
    return SPEC.with_partitions((replace(SPEC.partitions[0], **fields),))  # type: ignore[arg-type]
