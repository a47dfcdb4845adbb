"""Who a process is: its id together with the moment it started.

A process id alone names whoever holds the number now. After a `kill -9` or a reboot that may be a stranger, so
everything here signals only what has the recorded start time as well. Linux only; knows nothing of what the
processes do.
"""

import contextlib
import os
import signal
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

POLL_S = 0.05


@dataclass(frozen=True)
class Identity:
    """`started` is field 22 of `/proc/PID/stat`: clock ticks since boot (proc_pid_stat(5))."""

    pid: int
    started: int

    def to_json(self) -> dict[str, int]:
        return {"pid": self.pid, "started": self.started}

    @classmethod
    def from_json(cls, value: Mapping[str, object]) -> "Identity | None":
        """The identity that was recorded, or None when the record is not one."""
        pid, started = value.get("pid"), value.get("started")
        if not isinstance(pid, int) or not isinstance(started, int) or pid <= 1:
            return None
        return cls(pid, started)


def identity_of(pid: int) -> Identity | None:
    """The process that has this id now; None when there is none. One that ended and waits to be reaped is none."""
    fields = _stat_fields(pid)
    if fields is None or fields[0] in ("Z", "X"):
        return None
    return Identity(pid, int(fields[19]))


def is_alive(identity: Identity) -> bool:
    return identity_of(identity.pid) == identity


def send(identity: Identity, signum: int) -> bool:
    """Signal this process and no other that may have taken its number. False when it is gone or not ours."""
    try:
        handle = os.pidfd_open(identity.pid)
    except OSError:
        return False
    try:
        # The handle pins the process: if the start time still matches after opening, the signal cannot go astray.
        if not is_alive(identity):
            return False
        signal.pidfd_send_signal(handle, signum)
        return True
    except OSError:
        return False
    finally:
        os.close(handle)


def end(
    identities: Iterable[Identity], *, signum: int = signal.SIGTERM, within_s: float = 10.0
) -> list[Identity]:
    """Ask each to end, wait for all at most `within_s`, then kill. Blocks. Returns those that had to be killed."""
    asked = [one for one in identities if send(one, signum)]
    wait_gone(asked, within_s)
    stubborn = [one for one in asked if is_alive(one)]
    for one in stubborn:
        send(one, signal.SIGKILL)
    wait_gone(stubborn, 2.0)
    return stubborn


def wait_gone(identities: Iterable[Identity], within_s: float) -> None:
    """Wait until none is alive, at most `within_s`. Reaps those that are our own children."""
    left = list(identities)
    deadline = time.monotonic() + within_s
    while left and time.monotonic() < deadline:
        left = [one for one in left if is_alive(one)]
        if left:
            time.sleep(POLL_S)


def session_members(leader_pid: int) -> list[Identity]:
    """Every live process of the session that `leader_pid` opened, the leader included. Reads all of /proc."""
    return [one for one in everyone() if session_of(one.pid) == leader_pid]


def session_of(pid: int) -> int | None:
    fields = _stat_fields(pid)
    return int(fields[3]) if fields is not None else None


def everyone() -> list[Identity]:
    """Every live process that we may see."""
    found = [identity_of(int(entry.name)) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [one for one in found if one is not None]


def own_children() -> list[Identity]:
    """The live direct children of this process, adopted ones included. Cheap; for a process of one thread."""
    try:
        listed = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    except OSError:  # a kernel without CONFIG_PROC_CHILDREN
        return [one for one in everyone() if _parent_of(one.pid) == os.getpid()]
    found = [identity_of(int(pid)) for pid in listed]
    return [one for one in found if one is not None]


def _parent_of(pid: int) -> int | None:
    fields = _stat_fields(pid)
    return int(fields[1]) if fields is not None else None


def _stat_fields(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat from the state (field 3) on: the name before them may hold blanks and brackets."""
    with contextlib.suppress(OSError, ValueError):
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
        return text[text.rindex(")") + 2 :].split()
    return None
