"""End the jobs of one node of one cluster, as a machine that loses its power does.

All nodes of a cluster share one pid namespace, and clusters beside each other have nodes of the same names, so a job's
processes are known by the node that Slurm wrote into their environment and by the namespace they are in.
"""

import os
import signal
from contextlib import suppress
from pathlib import Path

from slurm.provisioners.sandbox.keeper import marks_of
from slurm.provisioners.sandbox.space import keeper_pid


def end_jobs(home: Path, node: str) -> int:
    """SIGKILL the node's job processes and their slurmstepd; returns how many. Idempotent."""
    keeper = keeper_pid(home)
    if keeper is None:
        return 0
    room = _room(keeper)
    doomed = {pid for pid in _pids() if _room(pid) == room and _runs_on(pid, node, home)}
    doomed |= {parent for pid in doomed if (parent := _step_daemon(pid))}
    for pid in doomed:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return len(doomed)


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _room(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return ""


def _runs_on(pid: int, node: str, home: Path) -> bool:
    """Without namespaces every cluster is in the same room: there the configuration's path tells them apart."""
    try:
        environment = set(Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0"))
    except OSError:
        return False
    prefixed = {
        value for value in environment if value.startswith("SLURM_CONF=") and str(home.parent) in value
    }
    ours = not prefixed or not prefixed.isdisjoint(marks_of(home))
    return f"SLURMD_NODENAME={node}" in environment and ours


def _step_daemon(pid: int) -> int | None:
    """The slurmstepd above a process, if it is its parent."""
    try:
        parent = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
        name = Path(f"/proc/{parent}/comm").read_text().strip()
    except (OSError, ValueError, IndexError):
        return None
    return parent if name == "slurmstepd" else None
