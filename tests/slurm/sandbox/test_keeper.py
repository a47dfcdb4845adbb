"""Daemons that die come back, nothing else is touched, and nothing outlives the keeper."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from clusters.observation import Part, PartState
from console.errors import Unavailable
from slurm.provisioners.sandbox.__main__ import sample_cluster, sample_files
from slurm.provisioners.sandbox.cluster import SandboxCluster
from slurm.provisioners.sandbox.daemon import Daemon, Spec, specs_text
from slurm.provisioners.sandbox.daemons import specs_of
from slurm.provisioners.sandbox.images import Tree
from slurm.provisioners.sandbox.layout import lay_out
from slurm.provisioners.sandbox.programs import PACKAGE_ROOT
from slurm.provisioners.sandbox.sight import last_words
from slurm.provisioners.sandbox.space import (
    command_prefix,
    keeper_pid,
    keeping,
    reload_keeper,
    run_inside,
    start_keeper,
    stop_keeper,
    wait_until,
)
from slurm.provisioners.sandbox.start import start_cluster
from tests.slurm.sandbox.conftest import (
    job_state,
    pid_of,
    processes_of,
    slurm,
    submit,
    until_idle,
    until_running,
)

DAEMONS = ["munged", "mariadbd", "slurmdbd", "slurmctld", "slurmd-slinky-0", "sshd"]


@pytest.mark.parametrize("name", DAEMONS)
def test_a_killed_daemon_is_back_and_the_job_goes_on(
    cluster: SandboxCluster, running_job: str, name: str
) -> None:
    before = {daemon.name: daemon.pid for daemon in _daemons(cluster)}
    began = time.monotonic()
    slurm(cluster, "kill", "-9", str(before[name]))
    assert wait_until(lambda: _is_back(cluster, name, before[name]), 10), _daemons(cluster)
    assert wait_until(lambda: run_inside(cluster.home, ["scontrol", "ping"]).returncode == 0, 10)
    assert time.monotonic() - began < 10
    after = {daemon.name: daemon.pid for daemon in _daemons(cluster)}
    assert {other for other in before if before[other] != after[other]} == {name}


def test_a_shell_in_the_cluster_finds_no_secret_of_the_console(
    tree: Tree, tmp_path: Path, monkeypatch
) -> None:
    for name in ("DATABASE_URL", "SECRET_KEY", "SEALING_KEYS", "MY_TOKEN"):
        monkeypatch.setenv(name, "planted-secret")
    cluster = sample_cluster(tmp_path / "quiet", tree, gpu_nodes=1, cpu_nodes=0)
    start_cluster(cluster, sample_files(cluster))
    try:
        seen = slurm(cluster, "sh", "-c", "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | tr '\\0' ' '")
    finally:
        stop_keeper(cluster.home)
    assert "PATH=" in seen
    assert "planted-secret" not in seen


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_job_survives_the_controller(cluster: SandboxCluster, running_job: str, number: int) -> None:
    pid = pid_of(cluster, "slurmctld")
    slurm(cluster, "kill", f"-{number}", str(pid))
    assert wait_until(lambda: _is_back(cluster, "slurmctld", pid), 10)
    assert wait_until(lambda: job_state(cluster, running_job) == "RUNNING", 10)


def test_the_keeper_follows_a_reconfigured_controller(cluster: SandboxCluster, running_job: str) -> None:
    before = keeping(cluster.home)
    assert before
    pid = pid_of(cluster, "slurmctld")
    slurm(cluster, "scontrol", "reconfigure")
    assert wait_until(lambda: _is_back(cluster, "slurmctld", pid), 5)
    after = keeping(cluster.home)
    assert after and after.daemon("slurmctld").restarts == before.daemon("slurmctld").restarts  # type: ignore[union-attr]
    assert job_state(cluster, running_job) == "RUNNING"


def test_the_last_lines_of_a_dead_daemon_are_kept(cluster: SandboxCluster) -> None:
    pid = pid_of(cluster, "slurmd-slinky-2")
    slurm(cluster, "kill", "-9", str(pid))
    assert wait_until(lambda: _is_back(cluster, "slurmd-slinky-2", pid), 10)
    state = keeping(cluster.home)
    daemon = state.daemon("slurmd-slinky-2") if state else None
    assert daemon and daemon.last_lines[-1] == "(ended by signal 9)"
    assert any("slurmd" in line for line in daemon.last_lines[:-1])


def test_the_keeper_is_idle(cluster: SandboxCluster) -> None:
    pid = keeper_pid(cluster.home)
    assert wait_until(lambda: (state := keeping(cluster.home)) is not None and state.is_settled, 10)
    before = _cpu_ticks(pid)
    time.sleep(2)
    assert _cpu_ticks(pid) - before <= 1


def test_a_killed_keeper_leaves_nothing_and_the_next_start_keeps_history(tree: Tree, tmp_path: Path) -> None:
    made = sample_cluster(tmp_path / "twice", tree, gpu_nodes=1, cpu_nodes=0)
    start_cluster(made, sample_files(made))
    try:
        until_idle(made)
        job = submit(made)
        until_running(made, job)
        assert processes_of(made.home)
        os.kill(keeper_pid(made.home) or 0, signal.SIGKILL)
        assert wait_until(lambda: not processes_of(made.home), 5), processes_of(made.home)
        assert wait_until(lambda: keeping(made.home) is None, 5)

        start_keeper(made.home, prefix=False)
        until_idle(made)
        assert job in slurm(made, "sacct", "-X", "-n", "-P", "-o", "JobID").split()
        assert int(submit(made)) > int(job)
    finally:
        stop_keeper(made.home)
    assert not processes_of(made.home)


def test_a_new_controller_waits_for_accounting_that_fails_at_first(tree: Tree, tmp_path: Path) -> None:
    """It would give the cluster a number of its own, and end for ever once accounting had given it another."""
    made = sample_cluster(tmp_path / "late", tree, gpu_nodes=1, cpu_nodes=0)
    lay_out(made, sample_files(made))
    waits = {"argv": ["/usr/bin/test", "-e", "/var/tmp/now"]}
    specs = [replace(s, steps=(waits,)) if s.name == "slurmdbd" else s for s in specs_of(made)]
    (made.home / "keeper/daemons.json").write_text(specs_text(specs))
    start_keeper(made.home, prefix=False)
    try:
        assert wait_until(lambda: _state(made, "slurmdbd") == "backing off", 30)
        assert not wait_until(lambda: _state(made, "slurmctld") != "waiting", 3)
        slurm(made, "touch", "/var/tmp/now")
        until_idle(made)
        before = pid_of(made, "slurmctld")
        slurm(made, "kill", "-9", str(before))
        assert wait_until(lambda: _is_back(made, "slurmctld", before), 10)
        until_idle(made)
    finally:
        stop_keeper(made.home)


SLOW = """
import sys, time
from slurm.provisioners.sandbox import keeper
ticks = keeper.linux.start_ticks
keeper.linux.start_ticks = lambda pid: (time.sleep(1), ticks(pid))[1]
sys.exit(keeper.main(["start", sys.argv[1]]))
"""


def test_a_starter_that_is_slower_than_its_keeper_still_writes_its_pid(tree: Tree, tmp_path: Path) -> None:
    """The keeper exchanges the root under both."""
    made = sample_cluster(tmp_path / "slow", tree, gpu_nodes=1, cpu_nodes=0)
    start_cluster(made, sample_files(made))
    stop_keeper(made.home)
    try:
        subprocess.run(
            [sys.executable, "-S", "-E", "-s", "-c", SLOW, str(made.home)],
            cwd=PACKAGE_ROOT,
            check=True,
            timeout=60,
        )
        assert keeper_pid(made.home)
    finally:
        stop_keeper(made.home)


def _daemons(cluster: SandboxCluster) -> tuple:  # type: ignore[type-arg]
    state = keeping(cluster.home)
    return state.daemons if state else ()


def _state(cluster: SandboxCluster, name: str) -> str:
    state = keeping(cluster.home)
    found = state.daemon(name) if state else None
    return found.state if found else ""


def _is_back(cluster: SandboxCluster, name: str, old: int | None) -> bool:
    state = keeping(cluster.home)
    found = state.daemon(name) if state else None
    return bool(found and found.state == "up" and found.pid not in (None, old))


def _cpu_ticks(pid: int | None) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


@pytest.mark.parametrize("ask", [reload_keeper, command_prefix])
def test_that_a_cluster_does_not_run_is_said_without_a_path_of_this_machine(
    tmp_path: Path, ask: Callable[[Path], object]
) -> None:
    with pytest.raises(Unavailable) as refused:
        ask(tmp_path / "c0ffee")
    assert "c0ffee" in refused.value.message
    assert str(tmp_path) not in refused.value.message + refused.value.hint


def test_of_a_daemon_that_died_a_log_has_one_line() -> None:
    told = Part(
        "accounting", "mariadbd", PartState.DOWN, detail="Loaded 0 events\nready\n(ended by signal 9)"
    )
    assert last_words(told) == " It said: ready (ended by signal 9)"
    assert last_words(Part("accounting", "mariadbd", PartState.DOWN)) == ""


def test_who_took_over_from_a_daemon_ends_with_it(tmp_path: Path) -> None:
    """slurmctld leaves a child in its place at a reconfigure; a restart right then must not start a third beside it."""
    parent, child = (subprocess.Popen(["sleep", "600"]) for _ in range(2))
    pidfile = tmp_path / "pid"
    daemon = Daemon(Spec("d", ("/bin/sleep", "600"), str(tmp_path / "log"), 1, pidfile=str(pidfile)))
    daemon.state, daemon.pid = "up", parent.pid
    pidfile.write_text(str(parent.pid))
    daemon.stop(0.0)
    parent.wait()
    assert daemon.exited(parent.pid, 0, 0.0)
    daemon.advance(0.1, may_start=True)
    assert daemon.state == "stopping"
    pidfile.write_text(str(child.pid))
    daemon.advance(0.2, may_start=True)
    assert child.wait() == -signal.SIGTERM
    pidfile.unlink()
    assert daemon.exited(child.pid, 0, 0.3)
    assert daemon.state == "down"


def test_a_daemon_stopped_before_it_forked_away_takes_its_child_along(tmp_path: Path) -> None:
    parent, child = (subprocess.Popen(["sleep", "600"]) for _ in range(2))
    pidfile = tmp_path / "pid"
    daemon = Daemon(Spec("d", ("/bin/sleep", "600"), str(tmp_path / "log"), 1, pidfile=str(pidfile)))
    daemon.state, daemon.pid = "starting", parent.pid
    daemon.stop(0.0)
    assert parent.poll() is None
    parent.kill()
    parent.wait()
    assert daemon.exited(parent.pid, 0, 0.1)
    pidfile.write_text(str(child.pid))
    daemon.advance(0.2, may_start=True)
    assert child.wait() == -signal.SIGTERM
