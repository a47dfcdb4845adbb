"""Asking accounting about jobs that left the queue while nobody looked.

Called by `slurm.tasks` in a worker. May run twice and at the same time: rows are written only while they still are
UNKNOWN. A cluster without accounting leaves them so, with that as the reason.
"""

from collections.abc import Sequence
from datetime import timedelta

from clusters.models import Cluster
from clusters.observation import JobSeen
from console.errors import ConsoleError
from slurm.client import Slurm
from slurm.jobs.ids import key_of
from slurm.models import Job
from slurm.reasons import explain, survey
from slurm.rows import FIELDS, values_of
from slurm.states import UNKNOWN, is_finished

MOST_AT_ONCE = 500


def settle(cluster: Cluster, slurm: Slurm | None = None) -> int:
    """Fill in how UNKNOWN jobs ended; how many were. Blocks for one sacct call (20 s at most)."""
    rows = list(Job.objects.filter(cluster=cluster, state=UNKNOWN).order_by("-submit_at")[:MOST_AT_ONCE])
    if not rows:
        return 0
    slurm = slurm or Slurm(cluster.provisioner.executor())
    since = min(row.submit_at for row in rows) - timedelta(seconds=1)
    try:
        ended = _by_key(slurm.history(since, sorted({row.number for row in rows})))
    except ConsoleError as error:
        _mark(cluster, rows, f"Left the queue unseen; how it ended is not known. {error.message}")
        raise
    found = [(row, ended[row.key]) for row in rows if row.key in ended]
    missing = [row for row in rows if row.key not in ended]
    _mark(cluster, missing, "Left the queue unseen; accounting does not know how it ended.")
    return sum(_fill(row, job) for row, job in found)


def _by_key(jobs: Sequence[JobSeen]) -> dict[str, JobSeen]:
    """The last final record of each job: a requeued one has several."""
    return {
        key_of(job.job_id): job
        for job in sorted(jobs, key=lambda job: job.submit_at)
        if is_finished(job.state)
    }


def _fill(row: Job, job: JobSeen) -> int:
    """What the queue knew and accounting does not (the array's number, the priority) stays."""
    values = dict(zip(FIELDS, values_of(job, explain(job, survey(()))), strict=True))
    names = ("state", "reason", "why", "nodes", "node_count", "start_at", "end_at", "exit_code")
    return Job.objects.filter(pk=row.pk, state=UNKNOWN).update(**{name: values[name] for name in names})


def _mark(cluster: Cluster, rows: Sequence[Job], why: str) -> None:
    Job.objects.filter(cluster=cluster, pk__in=[row.pk for row in rows], state=UNKNOWN).update(why=why)
