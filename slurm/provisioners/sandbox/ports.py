"""A free block of TCP ports on 127.0.0.1 for a cluster, remembered in its directory.

`ports.json` holds one port for each name (`slurmctld`, `slurmdbd`, `sshd`, `node:NAME`), so a restart, and a node that
goes and returns, keep theirs. Nothing is reserved in the kernel: two clusters made in the same moment may choose the
same block, which the second one's daemons would say. The lock on `ports.lock` beside the clusters prevents that within
a console; clusters of different consoles begin to look at different places.
"""

import fcntl
import json
import os
import socket
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from console.errors import Unavailable
from slurm.provisioners.sandbox.cluster import Ports
from slurm.provisioners.sandbox.files import replace_file

FIRST, LAST = 17000, 29999
FIXED = ("slurmctld", "slurmdbd", "sshd")


def ports_of(
    home: Path, nodes: Sequence[str], first: int = FIRST, last: int = LAST
) -> tuple[Ports, dict[str, int]]:
    """The cluster's ports and its nodes', choosing the missing ones. Raises `Unavailable` when the range is full.

    Ports of the other clusters in the same parent directory are left alone even while those clusters are down.
    """
    home.mkdir(parents=True, exist_ok=True)
    names = [*FIXED, *(f"node:{node}" for node in nodes)]
    with _lock(home.parent):
        known = _read(home)
        missing = [name for name in names if name not in known]
        if missing:
            known |= dict(zip(missing, _free(len(missing), home, known, first, last), strict=True))
            replace_file(home / "ports.json", json.dumps(known, indent=1))
    fixed = Ports(**{name: known[name] for name in FIXED})
    return fixed, {node: known[f"node:{node}"] for node in nodes}


def busy_ports(ports: Mapping[str, int]) -> dict[str, int]:
    """Those of a cluster that is not up on which somebody listens; asked before a start."""
    return {name: port for name, port in ports.items() if not _is_free(port)}


def _free(count: int, home: Path, known: dict[str, int], first: int, last: int) -> list[int]:
    taken = set(known.values()).union(
        *(_read(other).values() for other in home.parent.glob("*") if other != home)
    )
    begin = first + zlib.crc32(os.fsencode(home.absolute())) % (last - first + 1)
    found: list[int] = []
    for port in (*range(begin, last + 1), *range(first, begin)):
        if port not in taken and _is_free(port):
            found.append(port)
            if len(found) == count:
                return found
    raise Unavailable(
        f"No {count} free TCP ports were found between {first} and {last} on 127.0.0.1.",
        "End what listens there, or delete sandbox clusters that are no longer needed.",
    )


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _read(home: Path) -> dict[str, int]:
    try:
        return dict(json.loads((home / "ports.json").read_text()))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return {}


@contextmanager
def _lock(parent: Path) -> Iterator[None]:
    with os.fdopen(os.open(parent / ".ports.lock", os.O_RDWR | os.O_CREAT, 0o600), "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
