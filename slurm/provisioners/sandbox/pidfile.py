"""Who keeps a cluster: `keeper/pid.json`, and the lock under which that is decided. Standard library only.

A keeper is started by a program of its own (`keeper start`), which goes on when the process that wanted it is killed.
Whoever comes next waits for it by the lock, and so neither starts a second keeper nor takes the cluster for stopped.
"""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from slurm.provisioners.sandbox import linux

# There once the cluster was ended: a start that was decided before comes too late.
ENDED = "keeper/ended"


def keeper_pid(home: Path) -> int | None:
    """The keeper's pid on this machine, or None when it does not run; never a stranger with a reused pid."""
    try:
        facts = json.loads((home / "keeper/pid.json").read_text())
    except (FileNotFoundError, ValueError):
        return None
    alive = facts["start_ticks"] is not None and linux.start_ticks(facts["pid"]) == facts["start_ticks"]
    return int(facts["pid"]) if alive else None


@contextmanager
def deciding(home: Path) -> Iterator[int]:
    """Wait until nobody else is about to start or end the keeper; yields the lock's file descriptor, which a fork has
    to close. The kernel lets go of it with its holder. Raises FileNotFoundError for a cluster that was not laid out."""
    lock = os.open(home / "keeper/lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock
    finally:
        os.close(lock)


def forbid_start(home: Path) -> None:
    (home / ENDED).touch()


def allow_start(home: Path) -> None:
    (home / ENDED).unlink(missing_ok=True)


def may_start(home: Path) -> bool:
    return not (home / ENDED).exists()
