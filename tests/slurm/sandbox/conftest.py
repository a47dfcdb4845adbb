"""One real cluster for all tests of the sandbox: three GPU workers and a CPU worker, in a directory of this run."""

import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from console.errors import Unavailable
from slurm.provisioners.sandbox.__main__ import sample_cluster, sample_files
from slurm.provisioners.sandbox.cluster import SandboxCluster
from slurm.provisioners.sandbox.images import DEFAULT_IMAGE, IMAGES, Tree
from slurm.provisioners.sandbox.space import keeping, run_inside, stop_keeper, wait_until
from slurm.provisioners.sandbox.start import start_cluster
from slurm.provisioners.sandbox.tree import build_tree


@pytest.fixture(scope="session")
def tree() -> Tree:
    return build_tree(IMAGES[DEFAULT_IMAGE])


@pytest.fixture(scope="session")
def cluster(tree: Tree, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxCluster]:
    home = tmp_path_factory.mktemp("sandbox") / "tiny"
    made = sample_cluster(home, tree, gpu_nodes=3, cpu_nodes=1)
    made = replace(made, volumes=home.with_name("volumes"))
    start_cluster(made, sample_files(made))
    try:
        until_idle(made)
        yield made
    finally:
        stop_keeper(home)


def slurm(cluster: SandboxCluster, *argv: str, limit_s: float = 15.0) -> str:
    """Run a command inside and return what it printed; its failure is the test's."""
    done = run_inside(cluster.home, list(argv), limit_s)
    assert done.returncode == 0, f"{' '.join(argv)}: {done.stdout}{done.stderr}"
    return done.stdout.strip()


def submit(cluster: SandboxCluster, *options: str, script: str = "sleep 300") -> str:
    """Submit a batch job and return its id."""
    return slurm(cluster, "sbatch", "--parsable", "-t5", "-o", "/tmp/%j.out", *options, "--wrap", script)


def job_state(cluster: SandboxCluster, job: str) -> str:
    """Empty while the controller does not answer."""
    return run_inside(cluster.home, ["squeue", "-h", "-t", "all", "-o", "%T", "-j", job], 15).stdout.strip()


def until_running(cluster: SandboxCluster, job: str) -> None:
    assert wait_until(lambda: job_state(cluster, job) == "RUNNING", 15), job_state(cluster, job)


def node_states(cluster: SandboxCluster) -> dict[str, str]:
    """Empty while the controller does not answer."""
    try:
        done = run_inside(cluster.home, ["sinfo", "-h", "-N", "-o", "%N %T"])
    except Unavailable:
        return {}
    return dict(line.split() for line in done.stdout.splitlines()) if done.returncode == 0 else {}


def until_idle(cluster: SandboxCluster) -> None:
    names = {node.name for node in cluster.nodes}
    assert wait_until(lambda: node_states(cluster) == dict.fromkeys(names, "idle"), 20), node_states(cluster)


def pid_of(cluster: SandboxCluster, daemon: str) -> int:
    """As seen inside."""
    state = keeping(cluster.home)
    found = state.daemon(daemon) if state else None
    assert found and found.pid, f"{daemon} does not run"
    return found.pid


@pytest.fixture(scope="session")
def lasting_job(cluster: SandboxCluster) -> str:
    """A job that runs through all tests. The controller writes its state down only every five seconds."""
    job = submit(cluster, "-t", "60", "-w", "slinky-0", "--gres=gpu:1", script="sleep 3000")
    until_running(cluster, job)
    saved, since = cluster.home / "state/job_state", time.time()
    assert wait_until(lambda: saved.exists() and saved.stat().st_mtime > since, 15)
    return job


@pytest.fixture
def running_job(cluster: SandboxCluster, lasting_job: str) -> Iterator[str]:
    """The lasting job, which must run before and after the test."""
    until_running(cluster, lasting_job)
    yield lasting_job
    until_running(cluster, lasting_job)


def processes_of(home: Path) -> list[str]:
    """Command lines of this machine's processes that were started for the cluster in `home`."""
    found = subprocess.run(
        ["grep", "-lz", f"QUARTERDECK_CLUSTER={home}", *map(str, Path("/proc").glob("[0-9]*/environ"))],
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout.split()
