"""Enter a cluster's root from outside: start and stop its keeper, run commands inside, see what it reports.

Everything here is called by processes of the same user that made the cluster (web, worker, watcher, tests); the state
is in files, so it does not matter which. Blocking, bounded by the limits given.
"""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from console.errors import Unavailable
from slurm.provisioners.sandbox import linux
from slurm.provisioners.sandbox.apart import Way, way
from slurm.provisioners.sandbox.cluster import SandboxCluster, sockets_of
from slurm.provisioners.sandbox.daemons import daemon_environment
from slurm.provisioners.sandbox.files import digest
from slurm.provisioners.sandbox.pidfile import deciding, forbid_start
from slurm.provisioners.sandbox.pidfile import keeper_pid as keeper_pid
from slurm.provisioners.sandbox.processes import kill_marked, marks_of
from slurm.provisioners.sandbox.programs import run_program
from slurm.provisioners.sandbox.within import empty_tree, remove_tree

KEEPER = "slurm.provisioners.sandbox.keeper"


@dataclass(frozen=True)
class DaemonState:
    """One daemon as the keeper last wrote it. `pid` is as seen inside; `since` in seconds since the epoch; `steps` are
    the last words of the commands that ran before it, None from a keeper that does not say."""

    name: str
    state: str
    pid: int | None
    since: float
    restarts: int
    epoch: int
    last_lines: tuple[str, ...]
    mounts: tuple[tuple[str, str, bool], ...] = ()
    usr: str = ""
    steps: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Keeping:
    """A running keeper: its pid on this machine, its form (overlay, plain or prefix) and its daemons.

    `is_current`: it has read the daemons.json that is there now; before that its daemons are those of an older one.
    """

    pid: int
    form: str
    daemons: tuple[DaemonState, ...]
    is_current: bool = True

    def daemon(self, name: str) -> DaemonState | None:
        return next((daemon for daemon in self.daemons if daemon.name == name), None)

    @property
    def is_settled(self) -> bool:
        return self.is_current and bool(self.daemons) and all(daemon.state == "up" for daemon in self.daemons)


def keeping(home: Path) -> Keeping | None:
    """What the keeper last reported, or None when it does not run."""
    pid = keeper_pid(home)
    try:
        facts = json.loads((home / "keeper/keeper.json").read_text())
    except (FileNotFoundError, ValueError):
        facts = {"form": "", "daemons": [], "start_ticks": None}
    if pid is None:
        return None
    if facts["start_ticks"] != linux.start_ticks(pid):
        return Keeping(pid, "", ())
    names = ("name", "state", "pid", "since", "restarts", "epoch")
    daemons = [
        DaemonState(
            **{n: d[n] for n in names},
            last_lines=tuple(d["last_lines"]),
            mounts=tuple((source, path, bool(ro)) for source, path, ro in d.get("mounts", ())),
            usr=d.get("usr", ""),
            steps=tuple(d["steps"]) if "steps" in d else None,
        )
        for d in facts["daemons"]
    ]
    return Keeping(pid, facts["form"], tuple(daemons), _has_read(home, facts.get("taken")))


def _has_read(home: Path, taken: str | None) -> bool:
    """Of a keeper that does not say (it was started by an older console) nothing is known, and its word is taken."""
    try:
        return taken is None or taken == digest((home / "keeper/daemons.json").read_text())
    except FileNotFoundError:
        return True


def start_keeper(home: Path, *, prefix: bool) -> int:
    """Start the keeper if it does not run; returns its pid. The cluster must have been laid out.

    Raises `Unavailable` when the namespaces are refused; `can_make_rooms` says so beforehand.
    """
    if pid := keeper_pid(home):
        return pid
    sweep(home)
    empty_tree(home / "tmp")
    options, chosen = (["--prefix"], way().without_room) if prefix else ([], way())
    done = run_keeper_module("start", chosen, home, *options)
    if done.returncode:
        raise Unavailable(
            f"The sandbox {home.name} could not be entered: {done.stderr.strip()}",
            "Details are in its keeper/keeper.log; the image `host` needs no namespaces.",
        )
    pid = keeper_pid(home)
    if pid is None:
        raise Unavailable(f"The sandbox {home.name} ended as it started.", "See its keeper/keeper.log.")
    return pid


def stop_keeper(home: Path, limit_s: float = 40.0, *, for_good: bool = False) -> None:
    """Stop all daemons in order and every job with them; kills what is left after the limit. Idempotent.

    `for_good`: whoever decided before to start it comes too late (until `pidfile.allow_start`).
    """
    pid = _last_keeper(home, for_good=for_good)
    if pid is not None:
        os.kill(pid, signal.SIGTERM)
        if not wait_until(lambda: keeper_pid(home) is None, limit_s):
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda: keeper_pid(home) is None, 5.0)
    sweep(home)
    shutil.rmtree(sockets_of(home), ignore_errors=True)


def remove_home(home: Path) -> None:
    """Remove the directory of a cluster that has ended, with the files of its login users. Raises `Unavailable` when
    something stays."""
    remove_tree(home)
    if home.exists():
        raise Unavailable(
            f"Not all files in {home} could be deleted.",
            "Some belong to numbers that the console has no power over. Delete that directory as root and try again.",
        )


def _last_keeper(home: Path, *, for_good: bool) -> int | None:
    """Its pid, when nobody is about to start one any more."""
    if not (home / "keeper").is_dir():
        return None
    with deciding(home):
        if for_good:
            forbid_start(home)
        return keeper_pid(home)


def sweep(home: Path) -> None:
    """End what a killed keeper left; only where it had no namespaces can there be anything."""
    wait_until(lambda: kill_marked(*marks_of(home)) == 0, 5.0)


def reload_keeper(home: Path) -> None:
    """Have daemons.json read again. Raises `Unavailable` when no keeper runs."""
    pid = keeper_pid(home)
    if pid is None:
        raise Unavailable(f"The cluster {home.name} does not run.", "Its page says when it does again.")
    os.kill(pid, signal.SIGHUP)


def command_prefix(home: Path, user: str = "") -> list[str]:
    """The words before a command that run it inside the cluster's root (about 3 ms each time).

    `user`, where the cluster was made by root, is a name inside to run as. Raises `Unavailable` when it does not run.
    """
    pid = keeper_pid(home)
    if pid is None:
        raise Unavailable(f"The cluster {home.name} does not run.", "Its page says when it does again.")
    if (home / "keeper/command-env.json").exists():
        env = json.loads((home / "keeper/command-env.json").read_text())
        return ["/usr/bin/env", *(f"{name}={value}" for name, value in env.items())]
    is_roots = way() is Way.ROOT
    own_user = [] if is_roots else ["--user", "--preserve-credentials"]
    enter = ["nsenter", f"--target={pid}", *own_user, "--mount", "--uts", "--pid", "--root", "--wd", "--"]
    become = (
        ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "--"] if user and is_roots else []
    )
    return enter + become


def write_command_environment(cluster: SandboxCluster) -> None:
    """A prefix has no root to enter: its commands find their libraries and slurm.conf by variables instead."""
    path = cluster.home / "keeper/command-env.json"
    if cluster.tree.image.prefix:
        path.write_text(json.dumps(daemon_environment(cluster)))
    else:
        path.unlink(missing_ok=True)


def run_inside(home: Path, argv: list[str], limit_s: float = 10.0) -> "subprocess.CompletedProcess[str]":
    """Run a command inside and return what it said. Raises `Unavailable` when it takes longer than the limit."""
    try:
        return subprocess.run(
            [*command_prefix(home), *argv],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=limit_s,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC"},
        )
    except subprocess.TimeoutExpired as late:
        raise Unavailable(f"{argv[0]} did not answer within {limit_s:g} s.") from late


def signal_inside(home: Path, name: str, pids: Sequence[int]) -> None:
    """Send a signal to processes by their pids as seen inside; those that are gone are no error."""
    if pids:
        run_inside(home, ["kill", f"-{name}", *(str(pid) for pid in pids)])


def run_keeper_module(
    action: str, way: Way, home: Path, *options: str, limit_s: float = 20.0
) -> "subprocess.CompletedProcess[str]":
    """The keeper's own program, for a cluster of this way."""
    return run_program(KEEPER, action, str(home), *options, f"--way={way.value}", limit_s=limit_s)


@lru_cache(maxsize=1)
def can_make_rooms() -> str:
    """Empty when this kernel and user may make the namespaces a root tree needs, else why not. Asked once."""
    done = run_keeper_module("probe", way(), Path("/nonexistent"))
    return "" if done.returncode == 0 else done.stderr.strip() or "the probe failed"


def wait_until(condition: Callable[[], object], limit_s: float, pause_s: float = 0.05) -> bool:
    """Poll until the condition holds or the limit has passed; says which."""
    deadline = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause_s)
    return True
