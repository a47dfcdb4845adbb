"""A job's columns for templates: each filter takes the row and gives what one cell shows.

A page has a hundred rows, so these are plain functions rather than nested tags: half of a list's time is its cells.
"""

from functools import lru_cache

from django import template
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console.templatetags.ui import meter, status
from slurm.jobs import words
from slurm.jobs.states import ON_NODES, Face, face
from slurm.models import Job

MOST_ON_HOVER = 300

register = template.Library()
register.filter("cut", words.cut)
register.filter("visible", words.visible)
register.filter("clock", words.clock)
register.filter("limit", words.limit)
register.filter("state_face", face)


@register.filter
def job_face(job: Job) -> Face:
    return face(job.state, job.reason)


@register.filter
def job_status(job: Job) -> SafeString:
    """The state as a shape, a word and a colour."""
    drawn = face(job.state, job.reason)
    return _status(drawn.word, drawn.tone)


@lru_cache(maxsize=64)
def _status(word: str, tone: str) -> SafeString:
    return status(word, tone)


@register.filter
def job_url(job: Job) -> str:
    """The job's page; its cluster and team must be at hand, or each costs a query."""
    cluster = job.cluster
    return _pages(cluster.team.slug, cluster.slug) + job.key.removesuffix("_[]") + "/"


@lru_cache(maxsize=256)
def _pages(team: str, cluster: str) -> str:
    return reverse("jobs", args=(team, cluster))


@register.filter
def job_ran(job: Job) -> SafeString | str:
    """How long it ran; for a job on nodes an element that goes on counting (js/ran.js)."""
    if not job.is_finished and job.state not in ON_NODES:
        return ""
    seconds = words.ran_s(job.start_at, job.end_at, timezone.now(), ended=job.is_finished)
    text = words.clock(seconds)
    if job.is_finished or job.start_at is None:
        return text
    since = job.start_at.isoformat(" ", "seconds").removesuffix("+00:00")
    return format_html(
        '<time data-ran="{}" title="Since {} UTC">{}</time>', int(job.start_at.timestamp()), since, text
    )


@register.filter
def job_why(job: Job) -> str:
    """Why it waits, or how it ended, in a sentence; empty when all is well."""
    if job.why or job.is_finished or job.state in ON_NODES:
        return job.why
    return "" if job.reason == "None" else job.reason


@register.filter
def hover(text: str, shown: int) -> SafeString | str:
    """A title attribute with what a cell of `shown` characters cuts off; nothing where it cuts nothing off."""
    return format_html(' title="{}"', words.cut(text, MOST_ON_HOVER)) if len(text) > shown else ""


@register.filter
def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


@register.simple_tag
def job_meter(job: Job) -> SafeString | str:
    """How much of its time limit a running job has had."""
    if not job.limit_s or job.start_at is None:
        return ""
    ran = (timezone.now() - job.start_at).total_seconds()
    label = f"{words.clock(ran)} of {words.clock(job.limit_s)}"
    return meter(min(ran, job.limit_s), job.limit_s, label=label)


@register.filter
def gpu_hours(seconds: float) -> str:
    """GPU seconds as `5.3 GPU hours`."""
    hours = seconds / 3600
    return f"{hours:.0f} GPU hours" if hours >= 10 else f"{hours:.1f} GPU hours"
