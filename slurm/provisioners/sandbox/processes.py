"""The processes of a cluster, and of one of its machines: what they are told by, and how they are ended at once.

Standard library only: the keeper runs it.
"""

import os
import signal
from pathlib import Path

from slurm.provisioners.sandbox.daemon import machine_of

MARK = "QUARTERDECK_CLUSTER"


def kill_marked(*marks: str) -> int:
    """SIGKILL every process that has one of these in its environment, their descendants and their slurmstepd.

    A slurmstepd outlives its slurmd and writes over its own environment, but a job's processes below it keep theirs.
    Returns how many were killed.
    """
    parents = _parents()
    doomed = {pid for pid in parents if not _environment(pid).isdisjoint(marks)}
    doomed |= {parents[pid] for pid in doomed if _name(parents[pid]) == "slurmstepd"}
    while more := {pid for pid, parent in parents.items() if parent in doomed} - doomed:
        doomed |= more
    doomed.discard(os.getpid())
    # A slurmstepd that outlives its job by a moment says how the job ended; a machine that is gone says nothing.
    for pid in sorted(doomed, key=lambda pid: _name(pid) != "slurmstepd"):
        try:
            os.kill(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue
    return len(doomed)


def kill_machine(machine: str) -> None:
    """SIGKILL every process of one UTS namespace, as its link in /proc reads: what shares a host name is a machine."""
    for pid in _parents():
        if machine_of(pid) == machine:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue


def _parents() -> dict[int, int]:
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    parents[int(name)] = int(file.read().rsplit(b")", 1)[1].split()[1])
            except (OSError, ValueError, IndexError):
                continue
    return parents


def _environment(pid: int) -> set[str]:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return set(file.read().decode(errors="replace").split("\0"))
    except OSError:
        return set()


def _name(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip()
    except OSError:
        return ""


def marks_of(home: Path) -> tuple[str, str]:
    """What tells a cluster's processes from all others: its daemons by our mark, its jobs by what slurmd gives them."""
    return f"{MARK}={home}", f"SLURM_CONF={home}/conf/workers/slurm.conf"
