"""The shadow controller finds what only a daemon can find, at the line that caused it, before anything is touched."""

import time
from pathlib import Path

import pytest

from slurm.provisioners.sandbox.__main__ import sample_cluster, sample_files
from slurm.provisioners.sandbox.cluster import SandboxCluster
from slurm.provisioners.sandbox.images import Tree
from slurm.provisioners.sandbox.shadow import shadow_check
from tests.slurm.sandbox.bad_lines import BAD

BAD_ALONE = {
    **BAD,
    "TopologyPlugin=topology/tree": "cannot stat file topology.conf: No such file or directory",
}


@pytest.mark.parametrize("line", BAD_ALONE)
def test_a_bad_line_is_found_and_named(cluster: SandboxCluster, line: str) -> None:
    text = sample_files(cluster)["slurm.conf"] + line + "\n"
    problems = [p for p in shadow_check(cluster, {"slurm.conf": text}) if p.blocking]
    assert [problem.line for problem in problems] == [len(text.splitlines())], problems
    assert BAD_ALONE[line] in problems[0].message
    assert problems[0].path == "slurm_conf"
    assert str(cluster.home) not in problems[0].message


def test_good_files_pass_without_a_word(cluster: SandboxCluster) -> None:
    assert shadow_check(cluster, sample_files(cluster)) == ()


@pytest.mark.parametrize(
    "line",
    [
        "PartitionName=px Nodes=slinky-0 QOS=normal",
        "PartitionName=px Nodes=slinky-0 TRESBillingWeights=CPU=1.0,GRES/gpu=4.0",
        "AccountingStorageEnforce=limits",
        "SlurmctldDebug=quiet",
    ],
)
def test_what_needs_accounting_or_says_little_is_not_refused(cluster: SandboxCluster, line: str) -> None:
    assert shadow_check(cluster, {"slurm.conf": sample_files(cluster)["slurm.conf"] + line + "\n"}) == ()


def test_a_new_kind_of_resource_is_tried_with_accounting(cluster: SandboxCluster) -> None:
    text = sample_files(cluster)["slurm.conf"]
    text = text.replace("AccountingStorageTRES=gres/gpu", "AccountingStorageTRES=gres/gpu,license/matlab")
    assert shadow_check(cluster, {"slurm.conf": text}) == ()


def test_a_complaint_that_stops_nothing_is_advice(cluster: SandboxCluster) -> None:
    text = sample_files(cluster)["slurm.conf"] + "SchedulerParameters=bf_interval=abc\n"
    problems = shadow_check(cluster, {"slurm.conf": text})
    assert [(p.blocking, p.line) for p in problems] == [(False, len(text.splitlines()))]
    assert "bf_interval" in problems[0].message


def test_gres_conf_is_read_by_a_worker(cluster: SandboxCluster) -> None:
    gres = "AutoDetect=off\nNodeName=slinky-[0-2] Name=gpu File=/dev/nvidia[0-7] Frob=1\n"
    problems = shadow_check(cluster, {**sample_files(cluster), "gres.conf": gres})
    assert [(p.path, p.line) for p in problems if p.blocking] == [("gres_conf", 2)], problems
    assert "Frob" in problems[0].message


def test_a_missing_device_is_found_without_waiting_for_it(cluster: SandboxCluster) -> None:
    gres = "NodeName=slinky-[0-2] Name=gpu File=/dev/nothing[0-7]\n"
    began = time.monotonic()
    problems = shadow_check(cluster, {**sample_files(cluster), "gres.conf": gres})
    assert time.monotonic() - began < 10
    assert [(p.path, p.line) for p in problems] == [("gres_conf", 1)]


def test_a_cluster_that_does_not_exist_yet_can_be_checked(tree: Tree, tmp_path: Path) -> None:
    unborn = sample_cluster(tmp_path / "unborn", tree, gpu_nodes=1, cpu_nodes=0)
    text = sample_files(unborn)["slurm.conf"]
    assert shadow_check(unborn, {"slurm.conf": text}) == ()
    assert shadow_check(unborn, {"slurm.conf": text + "FooBar=1\n"})[0].line == len(text.splitlines()) + 1
    assert sorted(path.name for path in unborn.home.iterdir()) == ["ports.json"]
