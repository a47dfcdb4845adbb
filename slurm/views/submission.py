"""Submitting a job: a script, checked before it is sent, and what Slurm itself says about it."""

from collections.abc import Mapping

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from clusters.access import Door, cluster_view
from clusters.lifecycle import Status, Step, refusal
from clusters.models import Cluster
from console.errors import ConsoleError, Problem
from console.page import render_page
from console.roles import Action
from slurm import operations
from slurm.batch_script import MOST_BYTES, Room, problems, template
from slurm.containers import has_containers, known_containers
from slurm.outputs.values import parse_duration_s

PAGE = "slurm/submit.html"


@cluster_view(Action.SUBMIT_JOB)
def submit(request: HttpRequest, door: Door) -> HttpResponse:
    """GET gives a script to begin with; POST checks and sends it, and leads to the job's page."""
    rooms = rooms_of(door.cluster)
    if request.method != "POST":
        return _page(request, door, rooms, template(*_first(door.cluster, rooms)), ())
    script = _script(request)
    found = problems(script, rooms, containers=has_containers(door.cluster))
    stops = any(problem.blocking for problem in found)
    if stops or (found and "anyway" not in request.POST):
        return _page(request, door, rooms, script, found, status=422 if stops else 200)
    try:
        number = operations.submit(door, script=script)
    except ConsoleError as error:
        return _page(request, door, rooms, script, found, error=error, status=error.status)
    return HttpResponseRedirect(reverse("job", args=(door.cluster.team.slug, door.cluster.slug, number)))


@require_POST
@cluster_view(Action.SUBMIT_JOB)
def advice(request: HttpRequest, door: Door) -> HttpResponse:
    """What the checks say about a script as it is typed. Asks the database only."""
    known = known_containers(door.cluster)
    found = problems(_script(request), rooms_of(door.cluster), containers=known)
    return render_page(request, "slurm/_script_advice.html", {"problems": found})


def rooms_of(cluster: Cluster) -> dict[str, Room]:
    """What each partition offers, as last seen, the default one first."""
    most: dict[str, int] = {}
    for gpus, names in cluster.nodes.values_list("gpus", "partitions"):
        for name in names:
            most[name] = max(most.get(name, 0), gpus)
    seen = cluster.observed_partitions.order_by("-is_default", "name")
    return {
        partition.name: Room(
            nodes=partition.total_nodes,
            gpus_per_node=most.get(partition.name, 0),
            limit_s=parse_duration_s(str(partition.fields.get("MaxTime", ""))),
        )
        for partition in seen
    }


def _script(request: HttpRequest) -> str:
    """Browsers send CRLF, in which bash would find a carriage return at the end of every word."""
    return request.POST.get("script", "").replace("\r\n", "\n")


def _first(cluster: Cluster, rooms: Mapping[str, Room]) -> tuple[str, int]:
    name = next(iter(rooms), "all")
    return name, 1 if name in rooms and rooms[name].gpus_per_node else 0


def _page(
    request: HttpRequest,
    door: Door,
    rooms: Mapping[str, Room],
    script: str,
    found: tuple[Problem, ...],
    *,
    error: ConsoleError | None = None,
    status: int = 200,
) -> HttpResponse:
    context = {
        "door": door,
        "tab": "jobs",
        "rooms": rooms,
        "most_gpus": max((room.gpus_per_node for room in rooms.values()), default=0),
        "script": script,
        "containers": has_containers(door.cluster),
        "problems": found,
        "error": error,
        "only_advice": bool(found) and not any(problem.blocking for problem in found),
        "most_kib": MOST_BYTES // 1024,
        "why_not": refusal(Status(door.cluster.status), Step.OPERATE),
    }
    return render_page(request, PAGE, context, status=status)
