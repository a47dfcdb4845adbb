"""A sandbox cluster is a genuine Slurm: nodes, jobs, accounting, GPUs."""

import os
import subprocess
import time
from pathlib import Path

from slurm.provisioners.sandbox.cluster import SandboxCluster
from slurm.provisioners.sandbox.space import command_prefix, keeper_pid, run_inside, wait_until
from tests.slurm.sandbox.conftest import node_states, slurm, submit


def test_every_node_serves(cluster: SandboxCluster) -> None:
    """slinky-0 has the lasting job of other tests, if they ran before; they may have just restarted the controller."""
    others = dict.fromkeys(["slinky-1", "slinky-2", "cpu-workers-0"], "idle")
    wanted = [{"slinky-0": state, **others} for state in ("idle", "mixed")]
    assert wait_until(lambda: node_states(cluster) in wanted, 20), node_states(cluster)


def test_each_task_runs_on_a_machine_of_its_node_s_name(cluster: SandboxCluster) -> None:
    names = slurm(cluster, "srun", "-t1", "-N3", "-w", "slinky-[0-2]", "hostname").split()
    assert sorted(names) == ["slinky-0", "slinky-1", "slinky-2"]


def test_a_job_sees_the_gpus_it_asked_for(cluster: SandboxCluster) -> None:
    assert (
        slurm(cluster, "srun", "-t1", "-w", "slinky-1", "--gres=gpu:2", "printenv", "CUDA_VISIBLE_DEVICES")
        == "0,1"
    )


def test_a_job_cannot_reach_the_machine_that_the_cluster_runs_on(cluster: SandboxCluster) -> None:
    """Also where everything, jobs included, is root: no mount, no device, no switch of the kernel."""
    tries = (
        "mount -t tmpfs x /mnt",
        "mknod /tmp/disk b 8 0",
        "echo x >/proc/sys/kernel/core_pattern",
        "touch /sys/x",
    )
    script = "; ".join(f"({each}) 2>/dev/null && echo done: {each.split()[0]}" for each in tries)
    assert (
        slurm(cluster, "srun", "-t1", "-w", "slinky-1", "bash", "-c", f"{script}; echo refused") == "refused"
    )


def test_a_finished_batch_job_is_in_accounting_with_its_gpus(cluster: SandboxCluster) -> None:
    job = submit(cluster, "--gres=gpu:1", script="exit 3")

    def record() -> str:
        return slurm(cluster, "sacct", "-X", "-n", "-P", "-j", job, "-o", "State,ExitCode,AllocTRES")

    assert wait_until(lambda: record().startswith("FAILED|3:0"), 15), record()
    assert "gres/gpu=1" in record()


def test_the_cluster_has_users_temporary_files_and_processes_of_its_own(cluster: SandboxCluster) -> None:
    slurm(cluster, "touch", "/tmp/only-inside")
    assert not os.path.exists("/tmp/only-inside")
    assert slurm(cluster, "getent", "passwd", "slurm").split(":")[2] == "64030"
    assert slurm(cluster, "readlink", "/proc/self/ns/pid") != os.readlink("/proc/self/ns/pid")
    assert len(slurm(cluster, "ps", "-o", "pid=", "-C", "munged").split()) == 1


def test_a_login_shell_finds_editors_a_terminal_description_and_python(cluster: SandboxCluster) -> None:
    script = "command -v nano vi less python3 && infocmp -1 xterm-256color >/dev/null && locale charmap"
    assert slurm(cluster, "bash", "-lc", script).splitlines()[-1] == "UTF-8"


def test_entering_costs_less_than_fifteen_milliseconds(cluster: SandboxCluster) -> None:
    command = [*command_prefix(cluster.home), "/usr/bin/true"]
    took = []
    for _ in range(10):
        began = time.perf_counter()
        subprocess.run(command, check=True)
        took.append(time.perf_counter() - began)
    assert min(took) < 0.015


def test_the_daemons_fit_a_laptop(cluster: SandboxCluster) -> None:
    """Resident memory of everything, jobs aside, for four nodes; and the keeper alone."""
    listing = slurm(cluster, "ps", "-eo", "rss=,comm=").splitlines()
    kib = {f"{index}-{line.split()[1]}": int(line.split()[0]) for index, line in enumerate(listing)}
    assert sum(kib.values()) < 350 * 1024, kib
    pid = keeper_pid(cluster.home)
    status = Path(f"/proc/{pid}/status").read_text()
    assert int(status.split("VmRSS:")[1].split()[0]) < 20 * 1024


def test_a_command_s_failure_is_its_own(cluster: SandboxCluster) -> None:
    assert run_inside(cluster.home, ["sh", "-c", "exit 7"]).returncode == 7
