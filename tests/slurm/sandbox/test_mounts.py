"""Volumes at their paths on the login node and on every worker, and what each machine has for itself."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from clusters.spec import Mount
from slurm.provisioners.sandbox.__main__ import sample_files
from slurm.provisioners.sandbox.apply import apply_files
from slurm.provisioners.sandbox.cluster import SandboxCluster, SandboxMount
from slurm.provisioners.sandbox.daemons import specs_of
from slurm.provisioners.sandbox.epochs import epochs_of, raise_epochs
from slurm.provisioners.sandbox.orders import write_daemons
from slurm.provisioners.sandbox.places import links_in_the_way
from slurm.provisioners.sandbox.sight import without_mounts
from slurm.provisioners.sandbox.space import keeping, reload_keeper, run_inside, wait_until
from tests.slurm.sandbox.conftest import node_states, slurm

SHARED, DATA = "v00000000000a", "v00000000000b"
MOUNTS = (SandboxMount(SHARED, "/shared"), SandboxMount(DATA, "/data/sets", read_only=True))


@pytest.fixture(scope="module")
def mounted(cluster: SandboxCluster) -> Iterator[SandboxCluster]:
    """The cluster with a shared volume and a read-only one, until the last test of this file."""
    assert cluster.volumes
    for key in (SHARED, DATA):
        (cluster.volumes / key).mkdir(parents=True, exist_ok=True)
    (cluster.volumes / DATA / "README").write_text("a dataset\n")
    made = replace(cluster, mounts=MOUNTS)
    apply(made)
    yield made
    apply(cluster)


def apply(cluster: SandboxCluster) -> None:
    apply_files(cluster, sample_files(cluster), lambda text: None)
    until_mounted(cluster)


def until_mounted(cluster: SandboxCluster) -> None:
    cluster = replace(cluster, epochs=epochs_of(cluster.home))
    assert wait_until(lambda: not without_mounts(specs_of(cluster), keeping(cluster.home)), 30)
    assert wait_until(lambda: (state := keeping(cluster.home)) is not None and state.is_settled, 30)
    assert wait_until(lambda: set(node_states(cluster).values()) <= {"idle", "mixed"}, 30), node_states(
        cluster
    )


def on(cluster: SandboxCluster, node: str, script: str) -> str:
    """What a job on the node prints."""
    return slurm(cluster, "srun", "-Q", "-t1", "-w", node, "sh", "-c", script, limit_s=40)


def on_login(cluster: SandboxCluster, script: str) -> str:
    """In the files of the login node: those of its sshd."""
    state = keeping(cluster.home)
    daemon = state.daemon("sshd") if state else None
    assert daemon and daemon.pid
    enter = ["nsenter", f"--target={daemon.pid}", "--mount", "--"]
    done = run_inside(cluster.home, [*enter, "sh", "-c", script])
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_login_node_reads_what_a_job_wrote_on_a_worker(mounted: SandboxCluster) -> None:
    on(mounted, "slinky-1", "echo from $(hostname) > /shared/x")
    assert on_login(mounted, "cat /shared/x") == "from slinky-1"
    assert on(mounted, "cpu-workers-0", "cat /shared/x") == "from slinky-1"


def test_a_read_only_volume_can_only_be_read(mounted: SandboxCluster) -> None:
    assert on(mounted, "slinky-1", "cat /data/sets/README") == "a dataset"
    assert "Read-only file system" in on(mounted, "slinky-1", "echo x 2>&1 > /data/sets/new || true")
    assert "Read-only file system" in on_login(mounted, "echo x 2>&1 > /data/sets/new || true")


def test_mounting_ends_no_job(mounted: SandboxCluster, running_job: str) -> None:
    """`running_job` runs before the volume goes and after it came back."""
    bare = replace(mounted, mounts=MOUNTS[:1])
    apply(bare)
    assert on(mounted, "slinky-1", "ls /data/sets") == ""
    apply(mounted)
    assert on(mounted, "slinky-1", "ls /data/sets") == "README"


@pytest.mark.parametrize("place", ["/tmp", "/dev/shm", "/root", "/home"])
def test_each_machine_has_its_own(mounted: SandboxCluster, place: str) -> None:
    on(mounted, "slinky-1", f"echo mine > {place}/mine")
    assert on(mounted, "slinky-1", f"cat {place}/mine") == "mine"
    assert on(mounted, "slinky-2", f"ls {place}") == ""
    assert on_login(mounted, f"ls {place}/mine || true") == ""


def test_a_restarted_worker_has_lost_its_own_files_and_no_volume(mounted: SandboxCluster) -> None:
    on(
        mounted,
        "slinky-2",
        "echo kept > /shared/kept; for d in /tmp /dev/shm /root; do echo x > $d/lost; done",
    )
    again = replace(mounted, epochs=raise_epochs(mounted.home, "slurmd-slinky-2"))
    write_daemons(again)
    reload_keeper(mounted.home)
    epoch = again.epochs["slurmd-slinky-2"]
    assert wait_until(lambda: is_up(mounted, "slurmd-slinky-2", epoch), 20)
    until_mounted(mounted)
    assert on(mounted, "slinky-2", "cat /shared/kept; ls /tmp /dev/shm /root | grep lost || true") == "kept"


def is_up(cluster: SandboxCluster, name: str, epoch: int) -> bool:
    state = keeping(cluster.home)
    daemon = state.daemon(name) if state else None
    return daemon is not None and (daemon.state, daemon.epoch) == ("up", epoch)


def test_nobody_in_the_cluster_reaches_the_volumes_of_others(mounted: SandboxCluster) -> None:
    """Not where the room holds them, nor through a process that sees that place."""
    assert mounted.volumes
    (mounted.volumes / "v0000000000ff").mkdir(exist_ok=True)
    (mounted.volumes / "v0000000000ff/secret").write_text("of another team")
    ways = (
        "ls /run/volumes /run/machines /run/memory /run/keeper /proc/1/root/run/volumes 2>/dev/null || true"
    )
    assert "v0000000000ff" not in on(mounted, "slinky-1", ways)
    assert "daemons.json" not in on(mounted, "slinky-1", ways)
    assert "v0000000000ff" not in on_login(mounted, "cat /proc/self/mountinfo")
    look = "cat /proc/[0-9]*/root/run/volumes/v0000000000ff/secret 2>/dev/null || true"
    assert on(mounted, "slinky-1", look) == ""


def test_a_link_in_the_way_is_not_followed(mounted: SandboxCluster, tmp_path: Path) -> None:
    slurm(mounted, "ln", "-s", "/etc", "/trick")
    try:
        tricked = replace(mounted, mounts=(*MOUNTS, SandboxMount("v0000000000ff", "/trick/x")))
        apply_files(tricked, sample_files(tricked), lambda text: None)
        assert wait_until(lambda: "is a link to /etc" in words(mounted, "slurmd-slinky-1"), 20)
        found = links_in_the_way(mounted.home, (Mount(SHARED, "a", "/shared"), Mount(DATA, "b", "/trick/x")))
        assert [problem.path for problem in found] == ["mounts[1].path"]
        assert "/trick is a link" in found[0].message
    finally:
        slurm(mounted, "rm", "/trick")
        apply(mounted)


def words(cluster: SandboxCluster, name: str) -> str:
    state = keeping(cluster.home)
    daemon = state.daemon(name) if state else None
    return " ".join(daemon.last_lines) if daemon else ""
