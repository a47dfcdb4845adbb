"""Acts on a whole cluster, each with its impact before it is confirmed: scale, reconfigure, terminate, delete."""

from collections.abc import Callable, Mapping, Sequence

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from clusters import changes
from clusters.access import Door, cluster_view
from clusters.acts import Act, Delete, Edit, Reapply, Terminate
from clusters.forms import ScaleForm, plan_field
from clusters.impacts import preview
from clusters.lifecycle import Status, Step, refusal
from clusters.models import Change, Cluster, Plan
from clusters.scaling import rescale
from clusters.spec import CPU_GROUP, GPU_GROUP
from clusters.views.changes import change_url
from clusters.views.confirm import confirm
from clusters.views.start import start_of
from console.errors import Conflict, Rejected
from console.page import render_dialog
from console.roles import Action


@cluster_view(Action.CHANGE_CLUSTER)
def scale(request: HttpRequest, door: Door) -> HttpResponse:
    """GET with counts in the query shows their impact; POST asks for the change."""
    cluster = _allowed(door, Step.CHANGE)
    spec = cluster.spec
    base = cluster.revision.number if cluster.revision else 0
    typed = request.POST if request.method == "POST" else {**request.GET.dict(), "base": base}
    plans = list(cluster.region.plans.order_by("slug"))
    counts = {group.name: len(group.ordinals) for group in spec.groups}
    form = ScaleForm({**_first_plans(plans), **counts, **_single(typed)}, spec=spec, plans=plans)
    new_spec = rescale(spec, form.counts, form.chosen, form.shapes)
    force = bool(form["force"].value())
    impact = preview(cluster, Edit(spec, new_spec, force))
    context: dict[str, object] = {**_about(door), "form": form, "gpus": new_spec.total_gpus, "impact": impact}
    if request.method == "POST" and not form.is_valid():
        return render_dialog(request, "slurm/scale.html", context)
    form.is_valid()

    def ask() -> Change:
        base, start_at = form.cleaned_data["base"], start_of(request.POST)
        try:
            return changes.propose(
                cluster, new_spec, base=base, by=door.membership, force=force, start_at=start_at
            )
        except Rejected as error:
            raise form.placed(error, new_spec) from error

    return confirm(request, "slurm/scale.html", context, ask, change_url, impact=impact)


@cluster_view(Action.CHANGE_CLUSTER)
def reconfigure(request: HttpRequest, door: Door) -> HttpResponse:
    cluster = _allowed(door, Step.RECONFIGURE)
    return _confirm(
        request,
        door,
        "reconfigure",
        Reapply(cluster.spec),
        lambda: changes.reconfigure(cluster, by=door.membership, start_at=start_of(request.POST)),
    )


@cluster_view(Action.TERMINATE_CLUSTER)
def terminate(request: HttpRequest, door: Door) -> HttpResponse:
    cluster = _allowed(door, Step.TERMINATE)
    return _confirm(
        request,
        door,
        "terminate",
        Terminate(cluster.spec),
        lambda: changes.terminate(cluster, by=door.membership, start_at=start_of(request.POST)),
        is_typed=True,
    )


@cluster_view(Action.DELETE_CLUSTER)
def delete(request: HttpRequest, door: Door) -> HttpResponse:
    """Ends in the team's list: a deleted cluster has no page to follow its deletion on."""
    cluster = _allowed(door, Step.DELETE)
    return _confirm(
        request,
        door,
        "delete",
        Delete(cluster.spec),
        lambda: changes.delete(cluster, by=door.membership, start_at=start_of(request.POST)),
        is_typed=True,
        then=lambda change: reverse("clusters", kwargs={"team": cluster.team.slug}),
    )


def _confirm(
    request: HttpRequest,
    door: Door,
    name: str,
    act: Act,
    do: Callable[[], Change],
    *,
    is_typed: bool = False,
    then: Callable[[Change], str] = change_url,
) -> HttpResponse:
    """Show the impact; on POST, with the cluster's name typed where that is asked for, do it."""
    impact = preview(door.cluster, act)
    context: dict[str, object] = {**_about(door), "is_typed": is_typed, "impact": impact}
    template = f"slurm/{name}.html"
    if request.method == "POST" and is_typed and request.POST.get("name", "").strip() != door.cluster.slug:
        problem = f"That is not the name. Type {door.cluster.slug} to confirm."
        return render_dialog(request, template, {**context, "typed_problem": problem}, status=422)
    return confirm(request, template, context, do, then, impact=impact)


def _allowed(door: Door, step: Step) -> Cluster:
    """Raises Conflict before a dialog is shown for what the cluster's status forbids."""
    if why := refusal(Status(door.cluster.status), step):
        raise Conflict(why, "Its page shows what it allows now.")
    return door.cluster


def _first_plans(plans: Sequence[Plan]) -> dict[str, object]:
    """What stands in the dialog for groups that are not there: none, of the first machines of their kind."""
    gpu = next((plan.slug for plan in plans if plan.gpus), "")
    cpu = next((plan.slug for plan in plans if not plan.gpus), "")
    return {plan_field(GPU_GROUP): gpu, plan_field(CPU_GROUP): cpu, GPU_GROUP: 0, CPU_GROUP: 0}


def _single(typed: Mapping[str, object]) -> dict[str, object]:
    return {key: typed[key] for key in typed}


def _about(door: Door) -> dict[str, object]:
    cluster = door.cluster
    back = reverse("cluster", kwargs={"team": cluster.team.slug, "cluster": cluster.slug})
    return {"door": door, "cluster": cluster, "back": back}
