"""A job's page. What the watcher saw is there at once; what only Slurm itself knows is fetched when the page asks."""

from dataclasses import dataclass
from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone

from clusters.access import Door, cluster_view
from console.errors import Missing
from console.page import render_page, render_region
from console.roles import Action
from slurm.jobs.choice import steps_for
from slurm.jobs.facts import facts_of
from slurm.jobs.reading import array_of, job_named, own_of, same_number, submitter_of, was_submitted
from slurm.jobs.states import ON_NODES, Step, face
from slurm.models import Job

MOST_TASKS = 60
ROUTES = {
    Step.RELEASE: ("Release", "job-release"),
    Step.HOLD: ("Hold", "job-hold"),
    Step.REQUEUE: ("Requeue", "job-requeue"),
    Step.CANCEL: ("Cancel", "job-cancellation"),
}


@dataclass(frozen=True)
class Act:
    label: str
    url: str
    is_ending: bool


@dataclass(frozen=True)
class Moment:
    """One point of the timeline. `state` is past, now or ahead; without `at` it is not known when."""

    label: str
    at: datetime | None
    state: str


@cluster_view(Action.VIEW)
def job(request: HttpRequest, door: Door, job: str) -> HttpResponse:
    """Everything about one job; `?at=` picks an older one of the same number."""
    try:
        found = _found(request, door, job)
    except Missing:
        if not was_submitted(door.cluster, job):
            raise
        return render_page(request, "slurm/job_awaited.html", {"door": door, "tab": "jobs", "number": job})
    tasks = array_of(found)
    context = {
        "door": door,
        "tab": "jobs",
        "job": found,
        "acts": _acts(door, found),
        "moments": timeline(found, timezone.now()),
        "tasks": list(tasks[:MOST_TASKS]),
        "task_records": tasks.count(),
        "others": list(same_number(found)[:10]),
        "submitter": submitter_of(found),
        "is_running": found.state in ON_NODES,
    }
    return render_region(request, "slurm/job.html", "slurm/_job.html", context)


@cluster_view(Action.VIEW)
def facts(request: HttpRequest, door: Door, job: str) -> HttpResponse:
    """What scontrol, squeue and sacct say now. Asks the cluster: seconds, not milliseconds."""
    found = _found(request, door, job)
    context = {"door": door, "job": found, "facts": facts_of(door.cluster, found)}
    return render_page(request, "slurm/_job_facts.html", context)


def timeline(job: Job, now: datetime) -> tuple[Moment, ...]:
    """Submitted, started, ended: what was, what is, and what Slurm expects."""
    submitted = Moment("Submitted", job.submit_at, "past")
    if job.is_finished:
        started = (Moment("Started", job.start_at, "past"),) if job.start_at else ()
        return (submitted, *started, Moment(face(job.state).word.capitalize(), job.end_at, "now"))
    if job.state in ON_NODES:
        return (
            submitted,
            Moment("Started", job.start_at, "now"),
            Moment("Ends at the latest", job.end_at, "ahead"),
        )
    waiting = Moment(face(job.state, job.reason).word.capitalize(), None, "now")
    expected = job.start_at if job.start_at and job.start_at > now else None
    return (submitted, waiting, Moment("Starts, as planned", expected, "ahead"))


def _found(request: HttpRequest, door: Door, name: str) -> Job:
    at = request.GET.get("at", "")
    return job_named(door.cluster, name, int(at) if at.isascii() and at.isdigit() and len(at) < 12 else None)


def _acts(door: Door, job: Job) -> list[Act]:
    own = job.pk in own_of(door.cluster, door.membership.user, [job])
    may = steps_for(door, job, own=own)
    where = (door.cluster.team.slug, door.cluster.slug)
    return [
        Act(label, f"{reverse(name, args=where)}?job={job.key}", step is Step.CANCEL)
        for step, (label, name) in ROUTES.items()
        if step in may
    ]
