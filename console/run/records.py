"""What a run writes down for the next one: who holds the checkout, and which processes it started.

The lock is the kernel's (flock), so it is free the moment its holder dies. The list of processes is what a `kill -9`
leaves behind; the next run ends exactly those that still have the recorded start time.
"""

import fcntl
import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from console.run.identity import Identity, end, is_alive, session_members
from console.run.layout import Layout
from console.run.steps import CannotRun, Steps

STOPPING_WITHIN_S = 45.0
LEFTOVER_STOP_WITHIN_S = 5.0
KEEPER_STOP_WITHIN_S = 15.0
ADOPTED = "adopted-"
MARK = "QUARTERDECK_VAR_DIR"  # in the environment of every supervised process: the var/ it belongs to


class RunLock:
    """Held while a console runs in this checkout. The file says who holds it and what it is doing."""

    def __init__(self, layout: Layout) -> None:
        self.path = layout.run / "lock.json"
        self._file = open(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644), "r+")  # noqa: SIM115 - held until the end

    def take(self, steps: Steps, pause: Callable[[float], None] = time.sleep) -> None:
        """Take the lock. Waits for a run that is already stopping; raises `CannotRun` for one that is not."""
        deadline = time.monotonic() + STOPPING_WITHIN_S
        told = False
        while not self._try():
            holder = self.holder()
            if holder.get("state") != "stopping" or time.monotonic() > deadline:
                raise _already_running(holder)
            if not told:
                steps.say(f"  waiting for the earlier run (pid {holder.get('pid')}) to finish stopping")
                told = True
            pause(0.1)

    def write(self, state: str, url: str) -> None:
        """Tell others what this run is doing: `starting`, `running` or `stopping`."""
        self._file.seek(0)
        self._file.truncate()
        json.dump({"pid": os.getpid(), "state": state, "url": url}, self._file)
        self._file.flush()

    def holder(self) -> dict[str, object]:
        return _read_object(self.path)

    def release(self) -> None:
        self._file.close()

    def _try(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def running(layout: Layout) -> object:
    """The pid of the console that runs in this checkout, or None. Takes nothing and waits for nothing."""
    try:
        file = open(layout.run / "lock.json")  # noqa: SIM115 - closed below
    except FileNotFoundError:
        return None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return _read_object(layout.run / "lock.json").get("pid", "unknown")
    return None


def write_pids(layout: Layout, running: dict[str, Identity]) -> None:
    """Record the children. Atomic: a reader sees the old list or the new one."""
    text = json.dumps({name: identity.to_json() for name, identity in running.items()}, indent=1)
    fresh = layout.pids.with_suffix(".new")
    fresh.write_text(text + "\n")
    fresh.replace(layout.pids)


def clear_leftovers(layout: Layout, steps: Steps) -> None:
    """End what a killed run left and say so. Raises `CannotRun` while a console runs in this checkout."""
    lock = RunLock(layout)
    try:
        lock.take(steps)
        left = end_leftovers(layout)
    finally:
        lock.release()
    if left:
        steps.say(f"  an earlier run was killed; ended what it left: {', '.join(left)}")


def end_leftovers(layout: Layout) -> list[str]:
    """End what a killed run left, with all they started. Returns their names. Blocks, bounded.

    Only for the holder of the lock.
    """
    recorded = _recorded(layout)
    left = {name: one for name, one in recorded.items() if is_alive(one)}
    orphans = [member for one in recorded.values() for member in _session_left_by(one, layout)]
    end([one for name, one in left.items() if not name.startswith(ADOPTED)], within_s=LEFTOVER_STOP_WITHIN_S)
    end(orphans, signum=signal.SIGKILL, within_s=2.0)
    # Keepers come after the watcher, which would start them again; they may be among the adopted, but need their time.
    keepers = end_keepers(layout)
    end([one for name, one in left.items() if name.startswith(ADOPTED)], within_s=2.0)
    layout.pids.unlink(missing_ok=True)
    return [*(name for name in left if not name.startswith(ADOPTED)), *keepers]


def _recorded(layout: Layout) -> dict[str, Identity]:
    found = {}
    for name, value in _read_object(layout.pids).items():
        identity = Identity.from_json(value) if isinstance(value, dict) else None
        if identity is not None:
            found[name] = identity
    return found


def _session_left_by(leader: Identity, layout: Layout) -> list[Identity]:
    """What a recorded process started in its session, whether it lives itself or not.

    When the leader is gone its number may have come to lead another session since; a member must bear our mark as
    well.
    """
    mark = f"{MARK}={layout.var}".encode()
    return [one for one in session_members(leader.pid) if one != leader and mark in _environment(one.pid)]


def _environment(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def end_keepers(layout: Layout, within_s: float = KEEPER_STOP_WITHIN_S) -> list[str]:
    """End the keepers of this checkout's sandbox clusters, which end their daemons. Returns the clusters' names.

    A keeper writes `keeper/pid.json` in the directory of its cluster; its start time is called `start_ticks` there.
    """
    found: dict[str, Identity] = {}
    for record in sorted(
        path for depth in ("*", "*/*") for path in layout.clusters.glob(f"{depth}/keeper/pid.json")
    ):
        value = _read_object(record)
        identity = Identity.from_json({"pid": value.get("pid"), "started": value.get("start_ticks")})
        if identity is not None and is_alive(identity):
            found[f"cluster {record.parent.parent.name}"] = identity
    killed = end(found.values(), within_s=within_s)
    return [f"{name} (killed)" if one in killed else name for name, one in found.items()]


def _already_running(holder: dict[str, object]) -> CannotRun:
    pid, url = holder.get("pid", "unknown"), holder.get("url", "")
    what = f"a console already runs in this checkout (pid {pid}) at {url}"
    return CannotRun(what, f"use it, or stop it: kill {pid}")


def _read_object(path: Path) -> dict[str, object]:
    """A JSON object from a file; empty when there is none or it was cut short."""
    try:
        value = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
