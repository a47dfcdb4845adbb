"""New files reach a live cluster; bad ones are taken back; nodes come and go; jobs go on throughout."""

import contextlib
import re
import subprocess
import sys
from dataclasses import replace

import pytest

from console.errors import Rejected
from slurm.provisioners.sandbox import apply
from slurm.provisioners.sandbox.__main__ import sample_files
from slurm.provisioners.sandbox.apply import APPLYING, apply_files
from slurm.provisioners.sandbox.cluster import SandboxCluster, SandboxNode
from slurm.provisioners.sandbox.daemon import specs_from
from slurm.provisioners.sandbox.epochs import epochs_of
from slurm.provisioners.sandbox.ports import ports_of
from slurm.provisioners.sandbox.space import keeping, run_inside, wait_until
from tests.slurm.sandbox.conftest import job_state, node_states, pid_of, slurm, submit, until_running


def quiet(_sentence: str) -> None:
    """A `say` for nobody."""


def config(cluster: SandboxCluster, key: str) -> str:
    lines = slurm(cluster, "scontrol", "show", "config").splitlines()
    return next(line.split("=", 1)[1].strip() for line in lines if line.split("=")[0].strip() == key)


def test_a_setting_arrives_everywhere_and_jobs_go_on(cluster: SandboxCluster, running_job: str) -> None:
    said: list[str] = []
    text = sample_files(cluster)["slurm.conf"].replace("KillWait=5", "KillWait=7")
    apply_files(cluster, {"slurm.conf": text}, said.append)
    assert config(cluster, "KillWait") == "7 sec"
    for copy in ("clients", "controller", "workers"):
        assert "KillWait=7" in (cluster.home / "conf" / copy / "slurm.conf").read_text()
    assert said[-1] == "The controller answers with the new configuration."
    apply_files(cluster, sample_files(cluster), quiet)
    assert config(cluster, "KillWait") == "5 sec"


def test_the_same_files_again_touch_nothing(cluster: SandboxCluster) -> None:
    apply_files(cluster, sample_files(cluster), quiet)
    before, said = pid_of(cluster, "slurmctld"), []
    apply_files(cluster, sample_files(cluster), said.append)
    assert pid_of(cluster, "slurmctld") == before
    assert said == []


def test_a_restart_is_a_new_controller(cluster: SandboxCluster, running_job: str) -> None:
    before = pid_of(cluster, "slurmctld")
    apply_files(cluster, sample_files(cluster), quiet, restart=True)
    assert pid_of(cluster, "slurmctld") != before
    # Once: the keeper is not told the number of before.
    told = {spec.name: spec.epoch for spec in specs_from((cluster.home / "keeper/daemons.json").read_text())}
    assert told["slurmctld"] == epochs_of(cluster.home)["slurmctld"]


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("line", ["FooBar=1", "PartitionName=px Nodes=ghost-1", "PriorityType=priority/nope"])
def test_a_bad_file_that_nobody_checked_is_taken_back(
    cluster: SandboxCluster, running_job: str, line: str, restart: bool
) -> None:
    good = sample_files(cluster)
    apply_files(cluster, good, quiet)
    workers = {
        d.name: d.pid for d in (keeping(cluster.home) or pytest.fail()).daemons if d.name != "slurmctld"
    }
    fewer = replace(cluster, nodes=cluster.nodes[:1])
    with pytest.raises(Rejected) as refused:
        apply_files(fewer, {"slurm.conf": good["slurm.conf"] + line + "\n"}, quiet, restart=restart)
    assert [problem.line for problem in refused.value.problems] == [len(good["slurm.conf"].splitlines()) + 1]
    assert run_inside(cluster.home, ["scontrol", "ping"]).returncode == 0
    for copy in ("clients", "controller", "workers"):
        assert (cluster.home / "conf" / copy / "slurm.conf").read_text() == good["slurm.conf"]
    after = {d.name: d.pid for d in (keeping(cluster.home) or pytest.fail()).daemons if d.name != "slurmctld"}
    assert after == workers


def test_limits_still_count_what_runs_after_a_refused_file(cluster: SandboxCluster, running_job: str) -> None:
    good = sample_files(cluster)["slurm.conf"] + "AccountingStorageEnforce=limits\n"
    apply_files(cluster, {"slurm.conf": good}, quiet)
    assert gpus_counted(cluster) == 1
    with pytest.raises(Rejected):
        apply_files(cluster, {"slurm.conf": good + "JobSubmitPlugins=nope\n"}, quiet)
    assert gpus_counted(cluster) == 1
    apply_files(cluster, sample_files(cluster), quiet)


def test_a_number_that_the_controller_made_up_is_none_it_starts_with(
    cluster: SandboxCluster, running_job: str
) -> None:
    """As it does when it goes on after a refused reconfigure before its accounting answers: at times only."""
    apply_files(cluster, sample_files(cluster), quiet)
    number = cluster.home / "state/clustername"
    given = number.read_text()
    number.write_text(given.replace("|", "|1"))
    apply_files(cluster, sample_files(cluster), quiet, restart=True)
    assert number.read_text() == given


def test_a_controller_that_took_what_it_was_thought_to_refuse_has_its_old_file_again(
    cluster: SandboxCluster, running_job: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when its parent is killed in the middle of a reconfigure: scontrol fails, and the child lives."""
    good = sample_files(cluster)
    apply_files(cluster, good, quiet)
    reconfigure = apply._reconfigure
    monkeypatch.setattr(apply, "_reconfigure", lambda cluster: reconfigure(cluster) and False)
    with pytest.raises(Rejected):
        apply_files(cluster, {"slurm.conf": good["slurm.conf"].replace("KillWait=5", "KillWait=9")}, quiet)
    assert config(cluster, "KillWait") == "5 sec"


def gpus_counted(cluster: SandboxCluster) -> int:
    """What the controller holds against the limits of the one QOS there is."""
    told = slurm(cluster, "scontrol", "show", "assoc_mgr", "flags=qos", "qos=normal")
    used = re.search(r"GrpTRES=\S*gres/gpu=N\((\d+)\)", told)
    assert used, told
    return int(used[1])


def test_nodes_come_and_go(cluster: SandboxCluster, running_job: str) -> None:
    names = [node.name for node in cluster.nodes]
    _, ports = ports_of(cluster.home, [*names, "slinky-7"])
    grown = replace(cluster, nodes=(*cluster.nodes, SandboxNode("slinky-7", 8, 64000, 8, ports["slinky-7"])))
    apply_files(grown, sample_files(grown), quiet)
    assert wait_until(lambda: node_states(grown).get("slinky-7") == "idle", 15), node_states(grown)
    assert slurm(grown, "srun", "-t1", "-w", "slinky-7", "--gres=gpu:8", "hostname") == "slinky-7"
    assert "slinky-7" in slurm(grown, "cat", "/etc/hosts")
    job = submit(grown, "-w", "slinky-7", script="exec sleep 4242")
    until_running(grown, job)

    apply_files(cluster, sample_files(cluster), quiet)
    assert "slinky-7" not in node_states(cluster)
    assert wait_until(
        lambda: run_inside(cluster.home, ["pgrep", "-f", "sleep 4242|slurmd -D -N slinky-7"]).returncode, 10
    )
    state = keeping(cluster.home)
    assert state and state.daemon("slurmd-slinky-7") is None
    run_inside(cluster.home, ["scancel", job])


APPLY = """
import sys
from pathlib import Path
from slurm.provisioners.sandbox.__main__ import sample_cluster, sample_files
from slurm.provisioners.sandbox.apply import apply_files
from slurm.provisioners.sandbox.images import IMAGES
from slurm.provisioners.sandbox.tree import build_tree
home, wait = Path(sys.argv[1]), sys.argv[2]
cluster = sample_cluster(home, build_tree(IMAGES["24.11"]), gpu_nodes=3, cpu_nodes=1)
text = sample_files(cluster)["slurm.conf"].replace("KillWait=5", f"KillWait={wait}")
print("begun", flush=True)
apply_files(cluster, {"slurm.conf": text}, lambda _: None, restart=int(wait) % 2 == 0)
"""


def test_an_apply_killed_anywhere_leaves_a_cluster_that_the_next_one_makes_right(
    cluster: SandboxCluster, running_job: str
) -> None:
    """Killed after each of many moments; then the old files and the new ones can both be had."""
    for number in range(10):
        worker = subprocess.Popen(
            [sys.executable, "-c", APPLY, str(cluster.home), str(20 + number)], stdout=subprocess.PIPE
        )
        assert worker.stdout and worker.stdout.readline()
        with contextlib.suppress(subprocess.TimeoutExpired):
            worker.wait(0.15 * number)
        worker.kill()
        worker.wait()
        assert job_state(cluster, running_job) in ("RUNNING", "")
    apply_files(cluster, sample_files(cluster), quiet)
    assert config(cluster, "KillWait") == "5 sec"
    for copy in ("clients", "controller", "workers"):
        assert (cluster.home / "conf" / copy / "slurm.conf").read_text() == sample_files(cluster)[
            "slurm.conf"
        ]
    assert not (cluster.home / APPLYING).exists()
