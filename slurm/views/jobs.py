"""The list of jobs, of one cluster and of a team. What is shown is asked of `jobs.reading`, nothing is computed."""

from dataclasses import dataclass
from urllib.parse import urlencode

from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from clusters.access import Door, cluster_view
from clusters.lifecycle import Status
from clusters.models import Cluster
from console.access import team_view
from console.models import Membership
from console.page import render_region
from console.roles import Action, Role, may
from slurm.jobs.query import JobQuery, parse
from slurm.jobs.reading import PAGE_SIZE, JobCounts, JobPage, job_counts, job_list, team_job_list

TABLE = "slurm/_job_table.html"
ROW = "slurm/_job_row.html"
EXAMPLES = (
    ("user:lin", "user:me is you, user:lin,mo either"),
    ("state:held", "waiting, running, finished, failed, cannot-run, any"),
    ("gpus:>4", "also nodes: cpus: tasks: priority:"),
    ("node:slinky-2", "jobs on that node"),
    ("partition:debug", "also account: qos: name:"),
    ("ran:>1d", "also limit:<2h submitted:<1d ended:today"),
    ("-user:mo", "a minus turns it round"),
    ("train", "in the name, or a user, or a number"),
)
CHIPS = (
    ("Queue", "queue", ""),
    ("Mine", "mine", "user:me"),
    ("Running", "running", "state:running"),
    ("Waiting", "waiting", "state:waiting"),
    ("Finished today", "finished_today", "state:finished ended:today"),
)
STEPS = (
    ("Hold", "job-hold"),
    ("Release", "job-release"),
    ("Requeue", "job-requeue"),
    ("Cancel", "job-cancellation"),
)


@dataclass(frozen=True)
class Chip:
    """A ready-made filter with its count."""

    label: str
    count: int
    url: str
    on: bool


@dataclass(frozen=True)
class Act:
    label: str
    url: str
    is_ending: bool


@dataclass(frozen=True)
class Empty:
    """What an empty list says, and the way on."""

    title: str
    text: str = ""
    href: str = ""
    label: str = ""
    icon: str = "list-check"


@cluster_view(Action.VIEW)
def jobs(request: HttpRequest, door: Door) -> HttpResponse:
    """The cluster's queue and recent history."""
    query = query_of(request)
    counts = job_counts([door.cluster], request.user)
    found = job_list(door.cluster, query, request.user, counts.queue)
    context = _listing(request, query, found, counts)
    context |= {
        "door": door,
        "tab": "jobs",
        "empty": _empty(query, door),
        "selectable": door.may(Action.CONTROL_JOB, own=True),
        "can_control": door.may(Action.CONTROL_JOB, own=True),
        "acts": _acts(door),
    }
    return render_region(request, "slurm/jobs.html", TABLE, context)


@team_view(Action.VIEW)
def team_jobs(request: HttpRequest, membership: Membership) -> HttpResponse:
    """The jobs of all the team's clusters in one list."""
    query = query_of(request)
    clusters = list(
        Cluster.objects.filter(team=membership.team).exclude(status=Status.DELETED).order_by("slug")
    )
    counts = job_counts(clusters, request.user)
    found = team_job_list(clusters, query, request.user, counts.queue)
    context = _listing(request, query, found, counts)
    context |= {
        "team": membership.team,
        "with_cluster": True,
        "clusters": clusters,
        "empty": _empty(query),
        "can_submit": may(Role(membership.role), Action.SUBMIT_JOB),
    }
    return render_region(request, "slurm/team_jobs.html", TABLE, context)


def query_of(request: HttpRequest) -> JobQuery:
    """The filter, sort and page that the address names."""
    asked = request.GET
    return parse(asked.get("q", ""), asked.get("sort", ""), asked.get("page", "1"))


def _listing(request: HttpRequest, query: JobQuery, found: JobPage, counts: JobCounts) -> dict[str, object]:
    return {
        "query": query,
        "found": found,
        "pager": _pager(found),
        "order": _order_words(query),
        "chips": _chips(request.path, query, counts),
        "examples": EXAMPLES,
        "row": ROW,
    }


def _pager(found: JobPage) -> Page[int]:
    """The page's numbers for the pager: it asks for a count and needs no query."""
    return Paginator(range(found.total), PAGE_SIZE).page(found.page)


def _order_words(query: JobQuery) -> str:
    if query.sort:
        return f"{query.sort}, {'highest' if query.descending else 'lowest'} first"
    return "newest end first" if set(query.states) & {"finished", "ended", "bad"} else "by priority"


def _chips(path: str, query: JobQuery, counts: JobCounts) -> list[Chip]:
    on = _chip_that_is_on(query)
    return [
        Chip(label, getattr(counts, name), _link(path, query, adds), on == name)
        for label, name, adds in CHIPS
    ]


def _chip_that_is_on(query: JobQuery) -> str:
    states = set(query.states)
    if query.is_mine and not states:
        return "mine"
    if not states:
        return "" if query.names_states else "queue"
    named = {frozenset({"running"}): "running", frozenset({"waiting"}): "waiting"}
    if states == {"finished"} and "ended:today" in query.text:
        return "finished_today"
    return named.get(frozenset(states), "")


def _link(path: str, query: JobQuery, adds: str) -> str:
    """The list with the chip's terms in place of those on the same fields; everything else typed stays."""
    text = query.without_chips(adds)
    return f"{path}?{urlencode({'q': text})}" if text else path


def _acts(door: Door) -> list[Act]:
    where = (door.cluster.team.slug, door.cluster.slug)
    return [Act(label, reverse(name, args=where), label == "Cancel") for label, name in STEPS]


def _empty(query: JobQuery, door: Door | None = None) -> Empty:
    if query.terms:
        return _nothing_found(query)
    if door is None:
        return Empty("No jobs in any queue", "Jobs of all the team's clusters appear here.")
    where = (door.cluster.team.slug, door.cluster.slug)
    if door.cluster.observed_at is None:
        return Empty(
            "Not looked at yet", "The queue appears once the cluster's controller answers.", icon="clock"
        )
    if door.may(Action.SUBMIT_JOB):
        text = "Submit one here, or with sbatch in the terminal."
        return Empty("The queue is empty", text, reverse("job-submit", args=where), "Submit job")
    return Empty("The queue is empty", "Jobs appear here within seconds of their submission.")


def _nothing_found(query: JobQuery) -> Empty:
    if query.names_states:
        return Empty(
            "No job fits this filter",
            "Take a term out of it, or press a chip.",
            "?",
            "Show the queue",
            "filter-off",
        )
    elsewhere = urlencode({"q": query.rewritten("state", add="state:any")})
    return Empty(
        "No job in the queue fits this filter",
        "Only jobs that have not ended were searched.",
        f"?{elsewhere}",
        "Search ended jobs too",
        "filter-off",
    )
