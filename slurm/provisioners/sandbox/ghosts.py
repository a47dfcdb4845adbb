"""Jobs that Slurm believes to run although they ended with the whole cluster.

When every process of a cluster ends at once (Ctrl-C of the console, a power cut), the controller comes back with its
saved queue, and its nodes' uptime, which is this machine's, does not tell it that they were gone: in 24.11 such a job
stayed RUNNING for minutes, a reconfigure included. A real machine's reboot would have it requeued at once, so that is
what happens here.
"""

from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from clusters.observation import JobSeen
from console.errors import ConsoleError
from slurm.client import Slurm

HELD_BY_A_PROCESS = frozenset({"RUNNING", "COMPLETING", "SUSPENDED", "STOPPED"})


def ghosts_of(jobs: Iterable[JobSeen], home: Path) -> tuple[str, ...]:
    """The ids of jobs that started before the cluster's present keeper did."""
    try:
        began = datetime.fromtimestamp((home / "keeper/pid.json").stat().st_mtime, UTC)
    except FileNotFoundError:
        return ()
    return tuple(j.job_id for j in jobs if j.state in HELD_BY_A_PROCESS and j.start_at and j.start_at < began)


def lay(slurm: Slurm, ghosts: Iterable[str]) -> tuple[str, ...]:
    """Requeue each, or cancel what may not be requeued (srun, --no-requeue). Sentences of what was done. Idempotent."""
    return tuple(_lay(slurm, job_id) for job_id in ghosts)


def _lay(slurm: Slurm, job_id: str) -> str:
    try:
        slurm.requeue([job_id])
    except ConsoleError:
        with suppress(ConsoleError):  # it has gone by itself: all is well
            slurm.cancel([job_id])
        return f"Job {job_id} ended with the cluster and could not be requeued."
    return f"Requeued job {job_id}, which ended with the cluster."
