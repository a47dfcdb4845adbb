"""A job's columns for templates: each filter takes the row and gives what one cell shows."""

from datetime import datetime

from django import template
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console.templatetags.ui import meter
from slurm import job_words
from slurm.job_states import ON_NODES, Face, face
from slurm.models import Job

MOST_ON_HOVER = 300

register = template.Library()
register.filter("visible", job_words.visible)
register.filter("clock", job_words.clock)
register.filter("limit", job_words.limit)


@register.filter
def job_face(job: Job) -> Face:
    return face(job.state, job.reason)


@register.filter
def job_url(job: Job) -> str:
    """The job's page; its cluster and team must be at hand, or each costs a query."""
    cluster = job.cluster
    return reverse("job", args=(cluster.team.slug, cluster.slug, job.key.removesuffix("_[]")))


@register.filter
def job_ran(job: Job) -> str:
    seconds = job_words.ran_s(job.start_at, job.end_at, timezone.now(), ended=job.is_finished)
    return "" if _waits(job) else job_words.clock(seconds)


@register.filter
def job_ticks(job: Job) -> datetime | None:
    """Since when the time it ran goes on counting; None when it stands still."""
    return job.start_at if job.state in ON_NODES else None


@register.filter
def job_why(job: Job) -> str:
    """Why it waits, or how it ended, in a sentence; empty when all is well."""
    return job.why or (job.reason if _waits(job) and job.reason != "None" else "")


@register.filter
def hover(text: str, shown: int) -> SafeString | str:
    """A title attribute with what a cell of `shown` characters cuts off; nothing where it cuts nothing off."""
    return format_html(' title="{}"', job_words.visible(text[:MOST_ON_HOVER])) if len(text) > shown else ""


@register.filter
def state_face(state: str) -> Face:
    return face(state)


@register.filter
def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


@register.simple_tag
def job_meter(job: Job) -> SafeString | str:
    """How much of its time limit a running job has had."""
    if not job.limit_s or job.start_at is None:
        return ""
    ran = (timezone.now() - job.start_at).total_seconds()
    return meter(
        min(ran, job.limit_s), job.limit_s, label=f"{job_words.clock(ran)} of {job_words.clock(job.limit_s)}"
    )


@register.filter
def gpu_hours(seconds: float) -> str:
    """GPU seconds as `5.3 GPU hours`."""
    hours = seconds / 3600
    return f"{hours:.0f} GPU hours" if hours >= 10 else f"{hours:.1f} GPU hours"


def _waits(job: Job) -> bool:
    return not job.is_finished and job.state not in ON_NODES
