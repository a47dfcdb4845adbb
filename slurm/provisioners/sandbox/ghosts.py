"""Jobs that Slurm believes to run although they ended with the whole cluster, or with their node.

When every process of a cluster ends at once (Ctrl-C of the console, a power cut), the controller comes back with its
saved queue, and its nodes' uptime, which is this machine's, does not tell it that they were gone: in 24.11 such a job
stayed RUNNING for minutes, a reconfigure included. A real machine's reboot would have it requeued at once, so that is
what happens here. The same holds for a node that was restarted on a person's word (`mark_restarted`).
"""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from clusters.hostlist import HostlistError, expand
from clusters.observation import JobSeen
from console.errors import ConsoleError
from slurm.client import Slurm
from slurm.provisioners.sandbox.files import replace_file

HELD_BY_A_PROCESS = frozenset({"RUNNING", "COMPLETING", "SUSPENDED", "STOPPED"})


def ghosts_of(jobs: Iterable[JobSeen], home: Path) -> tuple[str, ...]:
    """The ids of jobs that started before the cluster's present keeper did, or before their node was restarted."""
    try:
        began = datetime.fromtimestamp((home / "keeper/pid.json").stat().st_mtime, UTC)
    except FileNotFoundError:
        return ()
    restarted = _restarted(home)
    return tuple(
        job.job_id
        for job in jobs
        if job.state in HELD_BY_A_PROCESS
        and job.start_at
        and (job.start_at < began or _lost_its_node(job, job.start_at, restarted))
    )


def mark_restarted(home: Path, nodes: Iterable[str]) -> None:
    """Write down that these nodes restart now: what began on them before has ended without Slurm's knowing."""
    now = datetime.now(UTC).timestamp()
    replace_file(home / "restarted.json", json.dumps(_restarted(home) | dict.fromkeys(nodes, now)))


def _restarted(home: Path) -> dict[str, float]:
    try:
        return dict(json.loads((home / "restarted.json").read_text()))
    except FileNotFoundError:
        return {}


def _lost_its_node(job: JobSeen, start_at: datetime, restarted: Mapping[str, float]) -> bool:
    """One that is completing is on its way already: the node's slurmd, back again, says that nothing is left of it."""
    if not restarted or job.state == "COMPLETING":
        return False
    try:
        nodes = expand(job.nodes)
    except HostlistError:
        return False
    return any(start_at.timestamp() < restarted.get(node, 0) for node in nodes)


def lay(slurm: Slurm, ghosts: Iterable[str]) -> tuple[str, ...]:
    """Requeue each, or cancel what may not be requeued (srun, --no-requeue). Sentences of what was done. Idempotent."""
    return tuple(_lay(slurm, job_id) for job_id in ghosts)


def _lay(slurm: Slurm, job_id: str) -> str:
    try:
        slurm.requeue([job_id])
    except ConsoleError:
        with suppress(ConsoleError):  # it has gone by itself: all is well
            slurm.cancel([job_id])
        return f"Job {job_id} ended with its machines and could not be requeued."
    return f"Requeued job {job_id}, which ended with its machines."
