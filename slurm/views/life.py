"""Acts on a whole cluster, each with its impact before it is confirmed: scale, reconfigure, terminate, delete.

They live above `clusters` because an impact names jobs.
"""

from collections.abc import Callable, Mapping, Sequence

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from clusters import changes
from clusters.access import Door, cluster_view
from clusters.forms import ScaleForm
from clusters.lifecycle import Status, Step, refusal
from clusters.models import Change, Cluster
from clusters.scaling import coming, leaving, rescale
from clusters.views.changes import change_url
from console.errors import Conflict, ConsoleError
from console.page import close_dialog, render_dialog
from console.roles import Action
from slurm.occupancy import jobs_by_node
from slurm.waits import jobs_of_nodes

MOST_JOBS = 12
MOST_NODES = 16


@cluster_view(Action.CHANGE_CLUSTER)
def scale(request: HttpRequest, door: Door) -> HttpResponse:
    """GET with counts in the query shows their impact; POST asks for the change."""
    cluster = _allowed(door, Step.CHANGE)
    spec = cluster.spec
    base = cluster.revision.number if cluster.revision else 0
    typed = request.POST if request.method == "POST" else {**request.GET.dict(), "base": base}
    counts = {group.name: len(group.ordinals) for group in spec.groups}
    form = ScaleForm({**counts, **_single(typed)}, spec=spec)
    new_spec = rescale(spec, form.counts, form.chosen)
    going = leaving(spec, new_spec)
    context = {
        **_about(door),
        "form": form,
        "coming": coming(spec, new_spec),
        "going": jobs_of_nodes(cluster, going[:MOST_NODES]),
        "going_count": len(going),
        "job_count": _jobs_on(cluster, going),
        "gpus": new_spec.total_gpus,
    }
    if request.method != "POST" or not form.is_valid():
        return render_dialog(request, "slurm/scale.html", context)
    asked = form.cleaned_data
    return _act(
        request,
        "slurm/scale.html",
        context,
        lambda: changes.propose(
            cluster, new_spec, base=asked["base"], by=door.membership, force=asked["force"]
        ),
    )


@cluster_view(Action.CHANGE_CLUSTER)
def reconfigure(request: HttpRequest, door: Door) -> HttpResponse:
    cluster = _allowed(door, Step.RECONFIGURE)
    return _confirm(request, door, "reconfigure", lambda: changes.reconfigure(cluster, by=door.membership))


@cluster_view(Action.TERMINATE_CLUSTER)
def terminate(request: HttpRequest, door: Door) -> HttpResponse:
    cluster = _allowed(door, Step.TERMINATE)
    return _confirm(
        request, door, "terminate", lambda: changes.terminate(cluster, by=door.membership), is_typed=True
    )


@cluster_view(Action.DELETE_CLUSTER)
def delete(request: HttpRequest, door: Door) -> HttpResponse:
    """Ends in the team's list: a deleted cluster has no page to follow its deletion on."""
    cluster = _allowed(door, Step.DELETE)
    return _confirm(
        request,
        door,
        "delete",
        lambda: changes.delete(cluster, by=door.membership),
        is_typed=True,
        then=reverse("clusters", kwargs={"team": cluster.team.slug}),
    )


def _confirm(
    request: HttpRequest,
    door: Door,
    name: str,
    act: Callable[[], Change],
    *,
    is_typed: bool = False,
    then: str = "",
) -> HttpResponse:
    """Show the impact; on POST, with the cluster's name typed where that is asked for, act."""
    context = {**_about(door), **_of_cluster(door.cluster), "is_typed": is_typed}
    template = f"slurm/{name}.html"
    if request.method != "POST":
        return render_dialog(request, template, context)
    if is_typed and request.POST.get("name", "").strip() != door.cluster.slug:
        problem = f"That is not the name. Type {door.cluster.slug} to confirm."
        return render_dialog(request, template, {**context, "typed_problem": problem}, status=422)
    return _act(request, template, context, act, then)


def _act(
    request: HttpRequest,
    template: str,
    context: Mapping[str, object],
    act: Callable[[], Change],
    then: str = "",
) -> HttpResponse:
    """Do it and follow the change, or show why not above what was typed."""
    try:
        change = act()
    except ConsoleError as error:
        return render_dialog(request, template, {**context, "error": error}, status=error.status)
    return close_dialog(request, then or change_url(change))


def _allowed(door: Door, step: Step) -> Cluster:
    """Raises Conflict before a dialog is shown for what the cluster's status forbids."""
    if why := refusal(Status(door.cluster.status), step):
        raise Conflict(why, "Its page shows what it allows now.")
    return door.cluster


def _single(typed: Mapping[str, object]) -> dict[str, object]:
    return {key: typed[key] for key in typed}


def _about(door: Door) -> dict[str, object]:
    cluster = door.cluster
    back = reverse("cluster", kwargs={"team": cluster.team.slug, "cluster": cluster.slug})
    return {"door": door, "cluster": cluster, "back": back}


def _of_cluster(cluster: Cluster) -> dict[str, object]:
    queue = cluster.jobs.filter(is_finished=False)
    placed = queue.exclude(nodes="")
    return {
        "running": placed.order_by("start_at")[:MOST_JOBS],
        "running_count": placed.count(),
        "waiting_count": queue.filter(nodes="").count(),
        "node_count": cluster.nodes.count(),
    }


def _jobs_on(cluster: Cluster, names: Sequence[str]) -> int:
    """How many jobs hold something on the named nodes."""
    by_node = jobs_by_node(cluster) if names else {}
    return len({job.pk for name in names for job in by_node.get(name, ())})
