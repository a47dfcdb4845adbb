"""What processes leave that were killed at work, and that it is found by whoever comes next."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from slurm.provisioners.sandbox.__main__ import sample_cluster, sample_files
from slurm.provisioners.sandbox.apply import APPLYING, _keep_good, good_files
from slurm.provisioners.sandbox.cluster import SandboxCluster
from slurm.provisioners.sandbox.epochs import raise_epochs
from slurm.provisioners.sandbox.images import Tree
from slurm.provisioners.sandbox.layout import lay_out
from slurm.provisioners.sandbox.leftovers import has_leftovers, sweep_leftovers
from slurm.provisioners.sandbox.passing import left_behind, make_passing
from slurm.provisioners.sandbox.pidfile import allow_start
from slurm.provisioners.sandbox.renewal import cut_short
from slurm.provisioners.sandbox.shadow import sweep_shadows
from slurm.provisioners.sandbox.space import (
    DaemonState,
    Keeping,
    keeper_pid,
    run_keeper_module,
    start_keeper,
    stop_keeper,
    wait_until,
)
from tests.slurm.kills.remains import keepers

ASK = """
import sys
from pathlib import Path
from slurm.provisioners.sandbox.__main__ import sample_cluster, sample_files
from slurm.provisioners.sandbox.images import DEFAULT_IMAGE, IMAGES
from slurm.provisioners.sandbox.shadow import shadow_check
from slurm.provisioners.sandbox.tree import build_tree
made = sample_cluster(Path(sys.argv[1]), build_tree(IMAGES[DEFAULT_IMAGE]), 1, 0)
while True:
    shadow_check(made, sample_files(made))
"""


@pytest.fixture
def empty(tree: Tree, tmp_path: Path) -> Iterator[SandboxCluster]:
    """A cluster whose keeper has nothing to keep."""
    made = sample_cluster(tmp_path / "empty", tree, 1, 0)
    lay_out(made, sample_files(made))
    (made.home / "keeper/daemons.json").write_text(json.dumps({"daemons": []}))
    yield made
    stop_keeper(made.home)


def test_two_that_start_a_cluster_at_once_start_one_keeper(empty: SandboxCluster) -> None:
    argv = [sys.executable, "-m", "slurm.provisioners.sandbox.keeper", "start", str(empty.home)]
    both = [subprocess.Popen(argv) for _ in range(2)]
    assert [one.wait(20) for one in both] == [0, 0]
    assert keepers(empty.home) == [keeper_pid(empty.home)]


def test_a_start_that_was_decided_before_the_end_comes_too_late(empty: SandboxCluster) -> None:
    stop_keeper(empty.home, for_good=True)
    late = run_keeper_module("start", empty.way, empty.home)
    assert late.returncode == 1 and "ended meanwhile" in late.stderr
    assert keeper_pid(empty.home) is None
    allow_start(empty.home)
    assert start_keeper(empty.home, prefix=False) == keeper_pid(empty.home)


def test_the_end_waits_for_a_start_that_is_under_way(empty: SandboxCluster) -> None:
    argv = [sys.executable, "-m", "slurm.provisioners.sandbox.keeper", "start", str(empty.home)]
    for pause_s in (0.0, 0.05, 0.1, 0.2, 0.3):
        allow_start(empty.home)
        starting = subprocess.Popen(argv, stderr=subprocess.DEVNULL)
        time.sleep(pause_s)
        stop_keeper(empty.home, for_good=True)
        starting.wait(20)
        assert keepers(empty.home) == []


def test_a_shadow_ends_with_who_asked_for_it_and_its_files_are_found(tree: Tree, tmp_path: Path) -> None:
    home = tmp_path / "asked"
    asking = subprocess.Popen([sys.executable, "-c", ASK, str(home)])
    try:
        assert wait_until(lambda: bool(keepers(home)), 30), "no shadow was started"
        assert not list(left_behind(home, "shadow"))
    finally:
        asking.send_signal(signal.SIGKILL)
        asking.wait()
    assert wait_until(lambda: not keepers(home), 5), keepers(home)
    assert list(left_behind(home, "shadow"))
    sweep_shadows(home)
    assert not list(home.glob(".shadow-*"))


def test_passing_directories_are_their_makers_alone(tmp_path: Path) -> None:
    mine = make_passing(tmp_path, "shadow")
    (tmp_path / f".shadow-{os.getpid()}.1-older").mkdir()
    (tmp_path / ".shadow-of-an-older-console").mkdir()
    found = {path.name for path in left_behind(tmp_path, "shadow")}
    assert found == {f".shadow-{os.getpid()}.1-older", ".shadow-of-an-older-console"} and mine.is_dir()


def test_files_that_never_got_their_names_are_removed_when_nobody_can_be_writing_them(tmp_path: Path) -> None:
    (tmp_path / "conf/workers").mkdir(parents=True)
    fresh, old, deep = tmp_path / ".a.new", tmp_path / ".b.new", tmp_path / "conf/workers/.slurm.conf.new"
    for path in (fresh, old, deep):
        path.touch()
    assert not has_leftovers(tmp_path)
    for path in (old, deep):
        os.utime(path, (1, 1))
    assert has_leftovers(tmp_path)
    sweep_leftovers(tmp_path)
    assert (fresh.exists(), old.exists(), deep.exists()) == (True, False, False)


def test_good_files_are_there_at_every_moment(empty: SandboxCluster) -> None:
    old, new = {"slurm.conf": "old"}, {"slurm.conf": "new"}
    _keep_good(empty, old)
    # Killed between the two renames.
    (empty.home / "files.good").rename(empty.home / ".files.old")
    assert good_files(empty.home) == old
    _keep_good(empty, new)
    assert good_files(empty.home) == new
    assert not list(empty.home.glob(".files.*"))


def test_a_restart_that_was_cut_short_is_seen_unless_a_change_will_finish_it(tmp_path: Path) -> None:
    def kept(epoch: int, state: str) -> Keeping:
        return Keeping(1, "overlay", (DaemonState("sshd", state, 7, 0.0, 0, epoch, ()),))

    assert cut_short(tmp_path, kept(0, "up")) == ()
    raise_epochs(tmp_path, "sshd")
    assert cut_short(tmp_path, kept(0, "up")) == ("sshd",)
    assert cut_short(tmp_path, kept(0, "stopping")) == cut_short(tmp_path, kept(1, "up")) == ()
    (tmp_path / APPLYING).touch()
    assert cut_short(tmp_path, replace(kept(0, "up"))) == ()
