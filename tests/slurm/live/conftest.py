"""A real controller with two GPU workers, for what no recording can show."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from slurm.client import Slurm
from slurm.executors.local import LocalExecutor
from slurm.provisioners.sandbox.__main__ import sample_cluster, sample_files
from slurm.provisioners.sandbox.images import DEFAULT_IMAGE, IMAGES
from slurm.provisioners.sandbox.space import command_prefix, stop_keeper
from slurm.provisioners.sandbox.start import start_cluster
from slurm.provisioners.sandbox.tree import build_tree

SLEEP = "#!/bin/sh\nsleep 300\n"


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("live") / "live"
    made = sample_cluster(home, build_tree(IMAGES[DEFAULT_IMAGE]), 2, 0)
    start_cluster(made, sample_files(made))
    try:
        until(lambda: {node.state.word for node in executor_of(home).nodes()} == {"idle"})
        yield home
    finally:
        stop_keeper(home)


def executor_of(home: Path) -> Slurm:
    return Slurm(LocalExecutor(command_prefix(home), {"HOME": "/root", "USER": "root"}, directory="/tmp"))


@pytest.fixture
def slurm(home: Path) -> Iterator[Slurm]:
    """An idle cluster; what a test leaves in the queue is cancelled."""
    slurm = executor_of(home)
    yield slurm
    slurm.executor.run(["scancel", "-u", "root"])
    slurm.executor.run(["scontrol", "update", "nodename=ALL", "comment=", "extra="])
    slurm.executor.run(["scontrol", "update", "nodename=ALL", "state=resume"])
    until(lambda: not any(node.gpus_allocated for node in slurm.nodes()))


def until(holds: Callable[[], object], limit_s: float = 20.0) -> None:
    """Poll: the tests wait for what they want to see, never for a time."""
    deadline = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.05)
