"""Drain, resume and reboot nodes: GET says what it would end and lose, POST does it. Each is dialog and page."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from clusters.access import Door, cluster_view
from clusters.lifecycle import Status, Step, refusal
from clusters.models import Node
from clusters.nodes import Health
from console.errors import Conflict, ConsoleError, Missing
from console.page import close_dialog, opened_over, render_dialog
from console.roles import Action
from console.words import listed
from slurm import operations
from slurm.models import Job
from slurm.occupancy import jobs_by_node

MOST_NAMED = 12


@dataclass(frozen=True)
class Impact:
    """What the step meets: the nodes, the jobs on them, what of either makes the step odd."""

    nodes: Sequence[Node]
    jobs: Sequence[Job]
    job_count: int
    gpus: int
    odd: str


@cluster_view(Action.OPERATE_NODE)
def drain(request: HttpRequest, door: Door) -> HttpResponse:
    reason = request.POST.get("reason", "")
    return _step(
        request, door, "drain", lambda names: operations.drain(door, names, reason), {"reason": reason}
    )


@cluster_view(Action.OPERATE_NODE)
def resume(request: HttpRequest, door: Door) -> HttpResponse:
    return _step(request, door, "resume", lambda names: operations.resume(door, names), {})


@cluster_view(Action.OPERATE_NODE)
def reboot(request: HttpRequest, door: Door) -> HttpResponse:
    when_idle = request.POST.get("when") == "idle"
    return _step(
        request, door, "reboot", lambda names: operations.reboot(door, names, when_idle=when_idle), {}
    )


def _step(
    request: HttpRequest,
    door: Door,
    verb: str,
    act: Callable[[Sequence[str]], None],
    typed: dict[str, str],
) -> HttpResponse:
    if why := refusal(Status(door.cluster.status), Step.OPERATE):
        raise Conflict(why, "Its page shows what it allows now.")
    names = list(dict.fromkeys((request.POST or request.GET).getlist("node")))
    if any("\0" in name for name in names):
        raise Missing(f"{door.cluster.slug} has no node with such a name.", "The Nodes tab lists them all.")
    context: dict[str, object] = {
        "door": door,
        "cluster": door.cluster,
        "verb": verb,
        "impact": _impact(door, names, verb),
        "back": _back(request, door),
        **typed,
    }
    template = f"slurm/node_{verb}.html"
    if request.method != "POST":
        return render_dialog(request, template, context)
    try:
        act(names)
    except ConsoleError as error:
        return render_dialog(request, template, {**context, "error": error}, status=error.status)
    messages.success(request, _said(verb, names, is_later=request.POST.get("when") == "idle"))
    return close_dialog(request, _back(request, door))


def _said(verb: str, names: list[str], *, is_later: bool) -> str:
    if is_later:
        return f"{listed(names)}: no new jobs; the reboot comes when those that run have ended."
    done = {"drain": "drained", "resume": "resumed", "reboot": "rebooted"}[verb]
    return f"{listed(names)} {'is' if len(names) == 1 else 'are'} being {done}."


def _impact(door: Door, names: Sequence[str], verb: str) -> Impact:
    """Raises Missing unless every name is a node of the cluster, and at least one is given."""
    nodes = list(door.cluster.nodes.filter(name__in=names))
    unknown = set(names) - {node.name for node in nodes}
    if unknown or not nodes:
        raise Missing(
            f"{door.cluster.slug} has no node {listed(sorted(unknown))}."
            if unknown
            else "No node is chosen.",
            "Choose nodes in the Nodes tab: press x on a row, or tick it.",
        )
    by_node = jobs_by_node(door.cluster)
    jobs = list({job.pk: job for node in nodes for job in by_node.get(node.name, ())}.values())
    return Impact(
        nodes=nodes,
        jobs=jobs[:MOST_NAMED],
        job_count=len(jobs),
        gpus=sum(node.gpus_allocated for node in nodes),
        odd=_odd(verb, nodes),
    )


def _odd(verb: str, nodes: Sequence[Node]) -> str:
    """One sentence about nodes for which the step does nothing, or not what one may think; else empty."""
    if verb == "drain":
        already = [node.name for node in nodes if node.health == Health.DRAINING]
        return f"{listed(already)}: already draining; only the reason changes." if already else ""
    if verb == "resume":
        fit = [node.name for node in nodes if node.health in (Health.OK, Health.BUSY)]
        down = [node.name for node in nodes if node.state.endswith("*")]
        if down:
            return f"{listed(down)}: does not answer; it will be down again unless its slurmd is back."
        return f"{listed(fit)}: takes jobs already; nothing will change." if fit else ""
    return ""


def _back(request: HttpRequest, door: Door) -> str:
    """The page of the cluster that the dialog was opened over, else the list of nodes."""
    where = {"team": door.cluster.team.slug, "cluster": door.cluster.slug}
    return opened_over(request, reverse("cluster", kwargs=where), reverse("nodes", kwargs=where))
