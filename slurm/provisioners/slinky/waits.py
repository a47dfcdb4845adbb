"""Jobs that a change waits for: which they are, and until when. Pure.

Such a wait is no fault, however long it takes.
"""

from collections.abc import Sequence

from clusters.observation import JobSeen
from slurm import leaving
from slurm.provisioners.slinky.pods import Worker
from slurm.provisioners.slinky.running import Running

MOST_NAMED = 6


def listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{', '.join(names[:MOST_NAMED])}{more}"


def jobs_on(running: Running | None, names: list[str]) -> list[JobSeen]:
    return sorted(leaving.jobs_on(running.jobs, names), key=lambda job: job.job_id) if running else []


def until_jobs_ended(names: Sequence[str], jobs: Sequence[JobSeen], workers: Sequence[Worker]) -> str:
    which = ", ".join(f"{job.job_id} ({job.user})" for job in jobs[:MOST_NAMED])
    more = f" and {len(jobs) - MOST_NAMED} more" if len(jobs) > MOST_NAMED else ""
    what = "job" if len(jobs) == 1 else "jobs"
    return f"{listed(names)} goes when its {what} {which}{more} ended. {_until(jobs, workers)}"


def _until(jobs: Sequence[JobSeen], workers: Sequence[Worker]) -> str:
    """The operator notes the latest end on the pod; Slurm gives jobs without a limit one in a year's time."""
    if any(job.limit_s is None for job in jobs):
        return "There is no time limit."
    ends = [worker.deadline for worker in workers if worker.deadline] or [j.end_at for j in jobs if j.end_at]
    return f"At the latest that is at {max(ends):%Y-%m-%d %H:%M} UTC." if ends else ""
