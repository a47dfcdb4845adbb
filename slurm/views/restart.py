"""Restart the controller, the login node or the workers: GET says what it would end and lose, POST does it."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from clusters.access import Door, cluster_view
from clusters.lifecycle import Status, Step, refusal
from console.errors import Conflict, ConsoleError
from console.page import close_dialog, opened_over, render_dialog
from console.roles import Action
from slurm import restarts


@cluster_view(Action.RESTART_CLUSTER)
def restart(request: HttpRequest, door: Door, part: str) -> HttpResponse:
    """Dialog and page. Afterwards back to where it was opened, where the service is seen to start."""
    impact = restarts.impact_of(door.cluster, part)
    if why := refusal(Status(door.cluster.status), Step.RESTART):
        raise Conflict(why, "Its page shows what it allows now.")
    back = _back(request, door)
    context: dict[str, object] = {"door": door, "cluster": door.cluster, "impact": impact, "back": back}
    template = f"slurm/restart_{part}.html"
    if request.method != "POST":
        return render_dialog(request, template, context)
    try:
        restarts.restart(door, part)
    except ConsoleError as error:
        return render_dialog(request, template, {**context, "error": error}, status=error.status)
    messages.success(request, f"The {impact.name} {'are' if impact.is_several else 'is'} being restarted.")
    return close_dialog(request, back)


def _back(request: HttpRequest, door: Door) -> str:
    """The page of the cluster that the dialog was opened over, else the overview."""
    overview = reverse("cluster", kwargs={"team": door.cluster.team.slug, "cluster": door.cluster.slug})
    return opened_over(request, overview, overview)
