"""Which jobs are held to have ended with their machines: by when they began and where, from files of the cluster."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from clusters.observation import JobSeen
from slurm.provisioners.sandbox.ghosts import ghosts_of, mark_restarted
from slurm.provisioners.sandbox.sight import are_starting
from slurm.provisioners.sandbox.space import DaemonState, Keeping


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A keeper that began an hour ago, and slinky-1 restarted now."""
    pid = tmp_path / "keeper/pid.json"
    pid.parent.mkdir()
    pid.touch()
    long_ago = (datetime.now(UTC) - timedelta(hours=1)).timestamp()
    os.utime(pid, (long_ago, long_ago))
    mark_restarted(tmp_path, ["slinky-1"])
    return tmp_path


def job(nodes: str, minutes: float, state: str = "RUNNING") -> JobSeen:
    """One that began so many minutes ago."""
    began = datetime.now(UTC) - timedelta(minutes=minutes)
    return JobSeen(
        job_id="7", submit_at=began, name="", user="root", account="", partition="all", state=state, reason="",
        priority=1, nodes=nodes, node_count=1, cpus=1, gpus=0, memory_mib=None, limit_s=None, start_at=began,
        end_at=None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("seen", "is_ghost"),
    [
        (job("slinky-1", 5), True),
        (job("slinky-[0-2]", 5), True),
        (job("slinky-1", 5, "SUSPENDED"), True),
        (job("slinky-0", 5), False),
        (job("slinky-1", -600), False),
        (job("slinky-1", 5, "COMPLETING"), False),
        (job("", 5, "PENDING"), False),
        (job("slinky-0", 61), True),
    ],
    ids=[
        "on it",
        "partly on it",
        "suspended",
        "elsewhere",
        "later",
        "on its way",
        "waiting",
        "older than the keeper",
    ],
)
def test_a_job_goes_with_its_node(home: Path, seen: JobSeen, is_ghost: bool) -> None:
    assert ghosts_of([seen], home) == (("7",) if is_ghost else ())


@pytest.mark.parametrize(
    ("state", "epoch", "starts"),
    [("up", 1, False), ("up", 0, True), ("starting", 1, True), ("stopping", 1, True), ("down", 1, False)],
)
def test_a_worker_is_waited_for_until_it_runs_anew(state: str, epoch: int, starts: bool) -> None:
    daemon = DaemonState("slurmd-slinky-1", state, 9, 0.0, 0, epoch, ())
    assert are_starting(Keeping(1, "plain", (daemon,)), {"slurmd-slinky-1": 1}) is starts
