"""The other ways to run a sandbox: as an ordinary user, and where the kernel refuses namespaces.

As root, the ordinary user is played by `nobody` under setpriv.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import asyncssh
import pytest

from slurm.provisioners.sandbox.__main__ import sample_cluster, sample_files
from slurm.provisioners.sandbox.apart import Way, way
from slurm.provisioners.sandbox.apply import apply_files
from slurm.provisioners.sandbox.images import HOST_PREFIX
from slurm.provisioners.sandbox.shadow import shadow_check
from slurm.provisioners.sandbox.space import keeper_pid, keeping, stop_keeper, wait_until
from slurm.provisioners.sandbox.start import start_cluster
from slurm.provisioners.sandbox.tree import build_tree
from tests.slurm.sandbox.conftest import (
    node_states,
    pid_of,
    slurm,
    submit,
    until_idle,
    until_running,
)
from tests.slurm.sandbox.ordinary import CACHE, NOBODY, become_nobody, own_cache, show_python

REPOSITORY = Path(__file__).resolve().parents[3]


class OrdinaryUser:
    """Runs the developers' command line as somebody who is not root."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.key = asyncssh.generate_private_key("ssh-ed25519")
        (home / ".ssh").mkdir()
        self.key.write_public_key(home / ".ssh/id_ed25519.pub")
        own_cache(CACHE)
        if os.getuid() == 0:
            for path in (self.home, self.home / ".ssh"):
                os.chown(path, NOBODY, NOBODY)

    @property
    def uid(self) -> int:
        return NOBODY if os.getuid() == 0 else os.getuid()

    @property
    def uid_inside(self) -> str:
        """By ranges of numbers the user is root inside. Nobody has none."""
        return "0" if way() is Way.RANGES else str(self.uid)

    def run(self, *words: str, limit_s: float = 110) -> "subprocess.CompletedProcess[str]":
        enter = [*show_python(self.home), *become_nobody()]
        command = [*enter, sys.executable, "-m", "slurm.provisioners.sandbox", *words]
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "XDG_CACHE_HOME": str(CACHE)}
        env["PYTHONDONTWRITEBYTECODE"] = "1"
        return subprocess.run(
            command, cwd=REPOSITORY, env=env, capture_output=True, text=True, timeout=limit_s, check=False
        )

    def inside(self, home: Path, *argv: str) -> str:
        done = self.run("exec", "--dir", str(home), "--", *argv)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    def cannot(self) -> str:
        """What this Python says to somebody who is not root; empty when it runs."""
        done = self.run("--help", limit_s=20)
        return done.stderr.strip()[-200:] if done.returncode else ""


@pytest.fixture(scope="module")
def ordinary() -> Iterator[OrdinaryUser]:
    """Not below pytest's own directory, which root alone may enter."""
    with tempfile.TemporaryDirectory(prefix="quarterdeck-ordinary-") as home:
        user = OrdinaryUser(Path(home))
        if why := user.cannot():
            pytest.skip(f"a user other than root cannot run the console: {why}")
        yield user


@pytest.fixture
def place(ordinary: OrdinaryUser, request: pytest.FixtureRequest) -> Iterator[Path]:
    home = ordinary.home / request.node.name[:24]
    yield home
    ordinary.run("down", "--dir", str(home))


def test_an_ordinary_user_has_a_cluster_in_a_root_of_its_own(ordinary: OrdinaryUser, place: Path) -> None:
    volumes = ("--mount", "a:/shared", "--mount", "b:/data/sets:ro")
    up = ordinary.run("up", "--dir", str(place), *volumes)
    assert up.returncode == 0, up.stdout + up.stderr
    if "namespaces are refused" in up.stdout:
        pytest.skip(up.stdout.splitlines()[0])
    assert "(overlay)" in up.stdout
    assert ordinary.inside(place, "srun", "-t1", "-w", "slinky-1", "--gres=gpu:2", "hostname") == "slinky-1"
    on = ("srun", "-t1", "-w")
    write = "echo here > /shared/x; cat /shared/x; echo no 2>&1 > /data/sets/x; "
    own = "home=$(eval echo ~$(id -un)); mkdir $home/own /tmp/own; ls $home"
    said = ordinary.inside(place, *on, "slinky-1", "bash", "-c", write + own)
    assert said.splitlines()[0] == "here" and "Read-only file system" in said and said.endswith("own")
    assert (place.with_name("volumes") / "a/x").read_text() == "here\n"
    look = "cat /shared/x; ls $(eval echo ~$(id -un)) /tmp /run/volumes 2>&1 || true"
    other = ordinary.inside(place, *on, "slinky-2", "bash", "-c", look)
    assert other.startswith("here") and "own" not in other
    assert ordinary.inside(place, "id", "-u") == ordinary.uid_inside
    assert ordinary.inside(place, "sh", "-c", "eval cd ~$(id -un) && pwd").startswith("/home/")
    assert "trixie" in ordinary.inside(place, "cat", "/etc/os-release")
    assert asyncio.run(_sign_in(ordinary, place)) == (f"{place.name}-login", "40 100")
    powers = "CapEff:\t0000000000000000" in ordinary.inside(place, "cat", "/proc/self/status")
    assert powers == (ordinary.uid_inside != "0")
    keeper = int(json.loads((place / "keeper/pid.json").read_text())["pid"])
    os.kill(keeper, signal.SIGKILL)
    assert wait_until(lambda: not _holds(place), 5)


def test_an_ordinary_user_needs_no_namespaces(ordinary: OrdinaryUser, place: Path) -> None:
    up = ordinary.run("up", "--dir", str(place), "--image", "host")
    assert up.returncode == 0, up.stdout + up.stderr
    assert "(prefix)" in up.stdout
    assert ordinary.inside(place, "srun", "-t1", "--gres=gpu:2", "printenv", "CUDA_VISIBLE_DEVICES") == "0,1"


def test_without_namespaces_files_are_checked_applied_and_taken_back(tmp_path: Path) -> None:
    made = sample_cluster(tmp_path / "plain", build_tree(HOST_PREFIX), gpu_nodes=1, cpu_nodes=1)
    good = sample_files(made)
    start_cluster(made, good)
    try:
        until_idle(made)
        began = tmp_path / "began"
        job = submit(made, "-w", "slinky-0", script=f"touch {began}; sleep 300")
        # A controller that restarts before its node has the job begins it anew.
        assert wait_until(began.exists, 90), slurm(made, "scontrol", "show", "job", job)
        assert shadow_check(made, good) == ()
        bad = {"slurm.conf": good["slurm.conf"] + "FooBar=1\n"}
        assert shadow_check(made, bad)[0].line == len(bad["slurm.conf"].splitlines())
        apply_files(made, {"slurm.conf": good["slurm.conf"].replace("KillWait=5", "KillWait=9")}, print)
        assert "9 sec" in slurm(made, "scontrol", "show", "config").split("KillWait")[1].splitlines()[0]
        until_running(made, job)

        before = pid_of(made, "slurmctld")
        os.kill(before, signal.SIGKILL)
        assert wait_until(lambda: _new_pid(made.home, "slurmctld") not in (None, before), 10)
        os.kill(keeper_pid(made.home) or 0, signal.SIGKILL)
        assert wait_until(lambda: keeper_pid(made.home) is None, 5)
        start_cluster(made, good)
        assert wait_until(
            lambda: set(node_states(made).values()) <= {"idle", "mixed"} and node_states(made), 20
        )
        assert job in slurm(made, "sacct", "-X", "-n", "-P", "-o", "JobID").split()
    finally:
        stop_keeper(made.home)
    assert not _holds(made.home)


async def _sign_in(ordinary: OrdinaryUser, place: Path) -> tuple[str, str]:
    """The host's name and the terminal's size as a shell of the login node tells them."""
    port = json.loads((place / "ports.json").read_text())["sshd"]
    name = ordinary.inside(place, "id", "-un")
    async with asyncssh.connect(
        "127.0.0.1",
        port,
        username=name,
        client_keys=[ordinary.key],
        known_hosts=None,
        config=None,
        agent_path=None,
    ) as connection:
        done = await connection.run(
            "hostname; stty size", term_type="xterm-256color", term_size=(100, 40), check=True
        )
    host, size = str(done.stdout).split("\r\n")[:2]
    return host, size


def _new_pid(home: Path, name: str) -> int | None:
    state = keeping(home)
    daemon = state.daemon(name) if state else None
    return daemon.pid if daemon and daemon.state == "up" else None


def _holds(home: Path) -> list[str]:
    """Processes whose command line names the directory."""
    found = subprocess.run(["pgrep", "-f", f"{home}/"], capture_output=True, text=True, check=False)
    return found.stdout.split()
