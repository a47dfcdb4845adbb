"""Which of the jobs a person picked may be cancelled, held, released or requeued, and what that costs.

Asked twice, by the dialog before it is confirmed and again when it is: the queue moves on in between. The rights are
those of `console.roles`, where a member's own jobs are those submitted through the console.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from clusters.access import Door
from console.roles import Action
from slurm.jobs.reading import jobs_named, own_of
from slurm.jobs.states import ON_NODES, Step, face, steps
from slurm.jobs.words import ran_s
from slurm.models import Job


@dataclass(frozen=True)
class Refusal:
    """A picked job that stays as it is, and why."""

    job_id: str
    why: str


@dataclass(frozen=True)
class Impact:
    """What the step does to running jobs: nothing for those that wait. `gpu_s` is GPU seconds of work."""

    running: int
    waiting: int
    tasks: int
    gpus: int
    lost_s: float
    gpu_s: float


@dataclass(frozen=True)
class Choice:
    """The picked jobs, sorted."""

    step: Step
    able: tuple[Job, ...]
    refused: tuple[Refusal, ...]
    impact: Impact

    @property
    def ids(self) -> tuple[str, ...]:
        """As Slurm's commands take them: with the indices of what still waits of an array."""
        return tuple(job.job_id for job in self.able)


def choose(door: Door, step: Step, keys: Sequence[str]) -> Choice:
    """Sort the jobs named by `keys` (`12`, `12_3`, `12_[]`) into those that can be stepped and those that cannot."""
    jobs = jobs_named(door.cluster, keys)
    own = own_of(door.cluster, door.membership.user, jobs)
    now = timezone.now()
    why = {job.pk: _why_not(door, job, step, job.pk in own, now) for job in jobs}
    able = tuple(job for job in jobs if not why[job.pk])
    refused = [Refusal(job.job_id, why[job.pk]) for job in jobs if why[job.pk]]
    found = {job.key for job in jobs}
    refused += [Refusal(key[:40], "It has not been seen here.") for key in keys if key not in found]
    return Choice(step, able, tuple(refused), impact_of(able, now))


def steps_for(door: Door, job: Job, *, own: bool, now: datetime | None = None) -> frozenset[Step]:
    """What the person may do to one job now."""
    moment = now or timezone.now()
    return frozenset(step for step in Step if not _why_not(door, job, step, own, moment))


def impact_of(jobs: Sequence[Job], now: datetime) -> Impact:
    running = [job for job in jobs if job.state in ON_NODES]
    spent = [(job, ran_s(job.start_at, job.end_at, now, ended=False) or 0.0) for job in running]
    return Impact(
        running=len(running),
        waiting=len(jobs) - len(running),
        tasks=sum(job.task_count for job in jobs),
        gpus=sum(job.gpus for job in running),
        lost_s=sum(seconds for _, seconds in spent),
        gpu_s=sum(seconds * job.gpus for job, seconds in spent),
    )


def _why_not(door: Door, job: Job, step: Step, own: bool, now: datetime) -> str:
    """One sentence, empty when the step may be done."""
    if not door.may(Action.CONTROL_JOB, own=own):
        if not door.may(Action.CONTROL_JOB, own=True):
            return door.why_not(Action.CONTROL_JOB)
        return f"It is a job of {job.user}; as {door.role.value} you control only your own."
    ended_s = (now - job.end_at).total_seconds() if job.is_finished and job.end_at else None
    if step in steps(job.state, job.reason, ended_s=ended_s):
        return ""
    if job.is_finished:
        return f"It has ended: {face(job.state).word}."
    return f"It is {face(job.state, job.reason).word}."
