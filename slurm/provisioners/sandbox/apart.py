"""How the people of a cluster are told apart here: the one place that decides it. Standard library only.

Everybody else asks `way` (of a cluster that starts now), `way_of` (of one that may run since before that was another
answer) or `SandboxCluster.way`, and never for the number of this process.
"""

import os
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from slurm.provisioners.sandbox import linux
from slurm.provisioners.sandbox.pidfile import keeper_pid
from slurm.provisioners.sandbox.programs import run_program
from slurm.provisioners.sandbox.ranges import (
    NEEDED,
    SUBGID,
    SUBUID,
    missing_programs,
    size_of,
    unshare_with_ranges,
    user_name,
)

WITHIN = "slurm.provisioners.sandbox.within"


class Way(Enum):
    """ROOT: the console is this machine's root, and so is root inside; daemons and login users have their numbers.

    RANGES: the console is an ordinary user with ranges of numbers. Root inside is that user, the daemons are root
    inside, and login users have the ranges' numbers.

    ONE: the console is an ordinary user, and to the kernel everybody inside is that user.
    """

    ROOT = "root"
    RANGES = "ranges"
    ONE = "one"

    @property
    def has_root(self) -> bool:
        """Whether there are a number 0 and login users' own numbers inside."""
        return self is not Way.ONE

    @property
    def without_room(self) -> "Way":
        """Where a cluster has no room there is no user namespace either."""
        return Way.ROOT if self is Way.ROOT else Way.ONE


class Lack(NamedTuple):
    """Why login users have no numbers of their own here, and what to do."""

    why: str
    hint: str


_told: list[Way] = []


def take(told: Way) -> None:
    """In a program that another process has started for a cluster of this way."""
    _told[:] = [told]


def way() -> Way:
    """That of clusters which start now; found out once."""
    return _told[0] if _told else _found()


def way_of(home: Path) -> Way:
    """That of the cluster in `home`: of its keeper while it runs, whatever has been installed here since."""
    pid = keeper_pid(home)
    if pid is None or way() is Way.ROOT:
        return way()
    try:
        first_line = Path(f"/proc/{pid}/uid_map").read_text().split()[:3]
    except OSError:  # it has just ended
        return way()
    return Way.RANGES if first_line == ["0", str(os.getuid()), "1"] else Way.ONE


@lru_cache(maxsize=1)
def _found() -> Way:
    if os.getuid() == 0:
        return Way.ROOT
    return Way.ONE if lack() else Way.RANGES


@lru_cache(maxsize=1)
def lack() -> Lack | None:
    """What an ordinary user's login users lack; None where they have numbers of their own. Asked once."""
    if missing := missing_programs():
        return Lack(
            f"This machine has no {' and no '.join(missing)}.",
            "Install Debian's package uidmap, then start the console and its clusters again.",
        )
    for path, option in ((SUBUID, "--add-subuids"), (SUBGID, "--add-subgids")):
        if (size := size_of(path)) < NEEDED:
            return Lack(
                f"{path} gives {user_name()} {size:,} numbers, and login users need {NEEDED:,}.",
                f"Have root run `usermod {option} 100000-165535 {user_name()}`, with numbers that {path} gives to "
                "nobody else, then start the console and its clusters again.",
            )
    done = run_program(WITHIN, "nothing")
    if done.returncode:
        said = done.stderr.strip()[-300:] or "it ended without a word"
        return Lack(
            f"The ranges in {SUBUID} and {SUBGID} could not be used: {said}.",
            "Put that right, then start the console and its clusters again.",
        )
    return None


def unshare(flags: int) -> None:
    """unshare(2) into a cluster's namespaces, as the way of this process is."""
    if way() is Way.ROOT:
        linux.unshare(flags)
    elif way() is Way.RANGES:
        unshare_with_ranges(flags)
    else:
        linux.unshare_as_user(flags)
