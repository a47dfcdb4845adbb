"""Drain, resume and reboot nodes: GET says what it would end and lose, POST does it. Each is dialog and page."""

from collections.abc import Callable, Sequence

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from clusters.access import Door, cluster_view
from clusters.acts import Act, Drain, Reboot, Resume
from clusters.impacts import preview
from clusters.lifecycle import Status, Step, refusal
from clusters.models import Change, Node
from clusters.nodes import Health
from clusters.views.changes import change_url
from clusters.views.confirm import confirm
from console.errors import Conflict, Missing
from console.page import opened_over
from console.roles import Action
from console.words import listed
from slurm import operations, restarts
from slurm.restarts import Order
from slurm.views.pace import pace_of, timed


@cluster_view(Action.OPERATE_NODE)
def drain(request: HttpRequest, door: Door) -> HttpResponse:
    reason = request.POST.get("reason", "")
    nodes = _chosen(request, door)
    return _step(
        request,
        door,
        "drain",
        nodes,
        Drain(door.cluster.spec, _names(nodes)),
        lambda: operations.drain(door, _names(nodes), reason),
        {"reason": reason},
    )


@cluster_view(Action.OPERATE_NODE)
def resume(request: HttpRequest, door: Door) -> HttpResponse:
    nodes = _chosen(request, door)
    act = Resume(door.cluster.spec, _names(nodes))
    return _step(request, door, "resume", nodes, act, lambda: operations.resume(door, _names(nodes)), {})


@cluster_view(Action.OPERATE_NODE)
def reboot(request: HttpRequest, door: Door) -> HttpResponse:
    """`when` is `now` for a reboot that ends the jobs there."""
    nodes = _chosen(request, door)
    when_idle = (request.POST or request.GET).get("when", "idle") != "now"
    awaited = preview(door.cluster, Reboot(door.cluster.spec, _names(nodes), when_idle=True)).awaited
    pace = pace_of(request, len(nodes))
    # Without jobs there is nothing to wait for: the reboot is at once either way, and needs no drain before it.
    is_later = when_idle and (bool(awaited) or pace > 0)
    order = Order(None, _names(nodes), is_later, pace)
    return _step(
        request,
        door,
        "reboot",
        nodes,
        order.act(door.cluster.spec),
        lambda: restarts.carry_out(door, timed(order, request)),
        {"job_count": len(awaited), "when_idle": when_idle, "node_count": len(nodes), "at_once": pace},
        is_later=is_later,
    )


def _step(
    request: HttpRequest,
    door: Door,
    verb: str,
    nodes: Sequence[Node],
    act: Act,
    do: Callable[[], Change | None],
    more: dict[str, object],
    *,
    is_later: bool = False,
) -> HttpResponse:
    back = _back(request, door)
    context: dict[str, object] = {
        "door": door,
        "cluster": door.cluster,
        "nodes": nodes,
        "odd": _odd(verb, nodes),
        "back": back,
        **more,
    }

    def tell() -> Change | None:
        change = do()
        if change is None:
            messages.success(request, _said(verb, _names(nodes), is_later=is_later))
        return change

    return confirm(
        request,
        f"slurm/node_{verb}.html",
        context,
        tell,
        lambda change: change_url(change) if change else back,
        impact=preview(door.cluster, act),
    )


def _said(verb: str, names: Sequence[str], *, is_later: bool) -> str:
    if is_later:
        return f"{listed(list(names))}: no new jobs; the reboot comes when those that run have ended."
    done = {"drain": "drained", "resume": "resumed", "reboot": "rebooted"}[verb]
    return f"{listed(list(names))} {'is' if len(names) == 1 else 'are'} being {done}."


def _chosen(request: HttpRequest, door: Door) -> list[Node]:
    """Raises Conflict while the cluster's status forbids it, and Missing unless every name is a node of the cluster and
    at least one is given."""
    if why := refusal(Status(door.cluster.status), Step.OPERATE):
        raise Conflict(why, "Its page shows what it allows now.")
    names = list(dict.fromkeys((request.POST or request.GET).getlist("node")))
    if any("\0" in name for name in names):
        raise Missing(f"{door.cluster.slug} has no node with such a name.", "The Nodes tab lists them all.")
    nodes = list(door.cluster.nodes.filter(name__in=names))
    unknown = set(names) - {node.name for node in nodes}
    if unknown or not nodes:
        raise Missing(
            f"{door.cluster.slug} has no node {listed(sorted(unknown))}."
            if unknown
            else "No node is chosen.",
            "Choose nodes in the Nodes tab: press x on a row, or tick it.",
        )
    return nodes


def _names(nodes: Sequence[Node]) -> tuple[str, ...]:
    return tuple(node.name for node in nodes)


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
