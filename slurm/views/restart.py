"""Restart the controller, the login node or the workers: GET says what it would end and lose, POST does it."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from clusters.access import Door, cluster_view
from clusters.acts import PartKind, RestartPart
from clusters.impacts import preview
from clusters.lifecycle import Status, Step, refusal
from clusters.models import Change
from clusters.views.changes import change_url
from clusters.views.confirm import confirm
from console.errors import Conflict
from console.page import opened_over
from console.roles import Action
from slurm import restarts
from slurm.restarts import Order
from slurm.views.pace import pace_of, suggested, timed


@cluster_view(Action.RESTART_CLUSTER)
def restart(request: HttpRequest, door: Door, part: str) -> HttpResponse:
    """Dialog and page. Afterwards back to where it was opened, where the service is seen to start."""
    which = restarts.named(door.cluster, part)
    if why := refusal(Status(door.cluster.status), Step.RESTART):
        raise Conflict(why, "Its page shows what it allows now.")
    back = _back(request, door)
    name, spec = restarts.PARTS[which], door.cluster.spec
    now = preview(door.cluster, RestartPart(spec, which))
    nodes = spec.node_names if which is PartKind.WORKERS else ()
    # Where the platform waits for jobs whatever is asked there is nothing to choose.
    is_choice = bool(now.stopped)
    when_idle = is_choice and (request.POST or request.GET).get("when", "idle") != "now"
    pace = pace_of(request, len(nodes), suggested(len(nodes)) if is_choice else 0)
    order = Order(which, (), when_idle or (bool(pace) and not is_choice and bool(nodes)), pace)

    def act() -> Change | None:
        change = restarts.carry_out(door, timed(order, request))
        if change is None:
            messages.success(request, _said(which, name, when_idle=when_idle))
        return change

    return confirm(
        request,
        "slurm/restart.html",
        {
            "door": door,
            "cluster": door.cluster,
            "name": name,
            "back": back,
            "job_count": len(now.stopped),
            "node_count": len(nodes),
            "when_idle": when_idle,
            "at_once": pace,
        },
        act,
        lambda change: change_url(change) if change else back,
        impact=preview(door.cluster, order.act(spec)),
    )


def _said(part: PartKind, name: str, *, when_idle: bool) -> str:
    if when_idle:
        return "No new jobs on the workers: each restarts when its own have ended."
    return f"The {name} {'are' if part is PartKind.WORKERS else 'is'} being restarted."


def _back(request: HttpRequest, door: Door) -> str:
    """The page of the cluster that the dialog was opened over, else the overview."""
    overview = reverse("cluster", kwargs={"team": door.cluster.team.slug, "cluster": door.cluster.slug})
    return opened_over(request, overview, overview)
