"""The Partitions tab: the list, one partition, and the dialogs that add, change and delete the team's own."""

from collections.abc import Callable

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import reverse
from django.views.decorators.http import require_POST

from clusters import impacts
from clusters.access import Door, cluster_view
from clusters.acts import Edit
from clusters.lifecycle import Status, Step, refusal
from clusters.models import Change, Cluster
from clusters.spec import MAX_OWN_PARTITIONS, ClusterSpec, PartitionSpec
from clusters.views.changes import change_url, number_of
from clusters.views.confirm import confirm
from clusters.views.frame import why_not
from clusters.views.start import start_of
from console.errors import Conflict, ConsoleError, Rejected
from console.page import close_dialog, render_dialog, render_page
from console.roles import Action
from slurm import partitions as acts
from slurm.jobs.filters import MATCHES
from slurm.models import Job
from slurm.partition_access import access_of
from slurm.partition_form import PartitionForm, initial_from

MOST_JOBS = 12
MOST_NODES = 100
MOST_PICKED = 512


@cluster_view(Action.VIEW)
def partitions(request: HttpRequest, door: Door) -> HttpResponse:
    cluster = door.cluster
    rows = acts.listed(cluster)
    own = [row for row in rows if row.is_own]
    context = {
        **_about(door),
        "platform": [row for row in rows if row.lock],
        "own": own,
        "unknown": acts.unknown(cluster),
        "most": MAX_OWN_PARTITIONS,
        "why_not": _why_not_add(door, len(own)),
        "change_why_not": why_not(door, Action.CHANGE_CLUSTER, Step.CHANGE),
    }
    return render_page(request, "slurm/partitions.html", context)


@cluster_view(Action.VIEW)
def partition(request: HttpRequest, door: Door, name: str) -> HttpResponse:
    """One partition: its nodes, its jobs, its line, and what Slurm itself says of it."""
    row = acts.named(door.cluster, name)
    jobs = _jobs(door.cluster, name)
    context = {
        **_about(door),
        "row": row,
        "line": acts.line_of(row.spec),
        "nodes": door.cluster.nodes.filter(name__in=row.coverage.names)[:MOST_NODES],
        "most_nodes": MOST_NODES,
        "jobs": jobs.order_by("-start_at", "-priority", "number")[:MOST_JOBS],
        "change_why_not": why_not(door, Action.CHANGE_CLUSTER, Step.CHANGE),
    }
    return render_page(request, "slurm/partition.html", context)


@cluster_view(Action.CHANGE_CLUSTER)
def add(request: HttpRequest, door: Door) -> HttpResponse:
    _allow(door)
    own = len(door.cluster.spec.partitions)
    if own >= MAX_OWN_PARTITIONS:
        raise Conflict(
            f"{door.cluster.slug} has {own} partitions of its own.", "Delete one that is no longer used."
        )
    return _dialog(
        request,
        door,
        None,
        lambda form: acts.add(
            door, form.partition, base=form.cleaned_data["base"], start_at=start_of(request.POST)
        ),
    )


@cluster_view(Action.CHANGE_CLUSTER)
def edit(request: HttpRequest, door: Door, name: str) -> HttpResponse:
    _allow(door)
    before = acts.own(door.cluster, name).spec
    return _dialog(
        request,
        door,
        before,
        lambda form: acts.edit(
            door, name, form.partition, base=form.cleaned_data["base"], start_at=start_of(request.POST)
        ),
    )


@require_POST
@cluster_view(Action.CHANGE_CLUSTER)
def preview(request: HttpRequest, door: Door) -> HttpResponse:
    """What the form would make, as it is typed: nodes, sums, the line, and the problems at their fields."""
    form = _read(request.POST, door.cluster.spec)
    context = _seen(door.cluster, form)
    # Nobody needs to be told that a field is empty before they came to it.
    for name in ("name", "nodes"):
        if not request.POST.get(name, "").strip():
            form.errors.pop(name, None)
    if request.POST.get("was"):
        del form.fields["name"]  # the form of an edit does not show it
    return render_page(request, "slurm/_partition_preview.html", {**context, "swaps": form})


@cluster_view(Action.CHANGE_CLUSTER)
def delete(request: HttpRequest, door: Door, name: str) -> HttpResponse:
    _allow(door)
    row = acts.own(door.cluster, name)
    spec = door.cluster.spec
    context = {
        **_about(door),
        "row": row,
        "base_number": request.POST.get("base") or _current(door.cluster),
    }
    return confirm(
        request,
        "slurm/partition_delete.html",
        context,
        lambda: acts.delete(
            door, name, base=number_of(request.POST.get("base")), start_at=start_of(request.POST)
        ),
        change_url,
        impact=impacts.preview(door.cluster, Edit(spec, acts.without(spec, name))),
    )


def _dialog(
    request: HttpRequest, door: Door, before: PartitionSpec | None, act: Callable[[PartitionForm], Change]
) -> HttpResponse:
    """The form of a new partition, or of `before`. On POST do it and follow the change, or show what is wrong."""
    spec = door.cluster.spec
    if request.method != "POST":
        begun = {**(initial_from(before) if before else {}), "base": _current(door.cluster)}
        return _form_page(request, door, PartitionForm(initial=begun), before)
    form = _read(request.POST, spec)
    if not form.is_valid():
        return _form_page(request, door, form, before, status=422)
    try:
        change = act(form)
    except ConsoleError as error:
        if isinstance(error, Rejected):
            form.show_problems(error.problems)
            # They stand at their fields now.
            error = Rejected(error.message, hint=error.hint)
        return _form_page(request, door, form, before, error=error, status=error.status)
    return close_dialog(request, change_url(change))


def _form_page(
    request: HttpRequest,
    door: Door,
    form: PartitionForm,
    before: PartitionSpec | None,
    *,
    error: ConsoleError | None = None,
    status: int = 200,
) -> HttpResponse:
    seen = form if form.is_bound else _read(_typed(form), door.cluster.spec)
    context = {**_about(door), "form": form, "before": before, "error": error, **_seen(door.cluster, seen)}
    context["access"] = access_of(door.cluster)
    context |= {"start_at": request.POST.get("start_at", ""), "when": request.POST.get("when", "")}
    return render_dialog(request, "slurm/partition_edit.html", context, status=status)


def _read(typed: QueryDict, spec: ClusterSpec) -> PartitionForm:
    """The form with everything that speaks against it at its fields. `was` names the partition that it replaces."""
    form = PartitionForm(typed)
    form.is_valid()
    known = {one.name for one in spec.partitions}
    was = typed.get("was", "")
    form.show_problems(acts.problems_of(spec, form.partition, instead_of=was if was in known else ""))
    return form


def _typed(form: PartitionForm) -> QueryDict:
    """The values that an unbound form shows, as if they had been sent."""
    sent = QueryDict(mutable=True)
    for bound in form:
        value = bound.value()
        if value not in (None, "", False):
            sent[bound.name] = str(value)
    return sent


def _seen(cluster: Cluster, form: PartitionForm) -> dict[str, object]:
    """What a partition comes to, for the side of the form."""
    spec, wanted = cluster.spec, form.partition
    coverage = acts.covered(spec, wanted.nodes)
    machines = dict(cluster.nodes.values_list("name", "machine"))
    names, chosen = spec.node_names, set(coverage.names)
    taken = next(
        (one.name for one in spec.partitions if one.default and one.name != form.data.get("was")), "all"
    )
    was = str(form.data.get("was", ""))
    instead_of = was if any(one.name == was for one in spec.partitions) else ""
    after = acts.put(spec, wanted, instead_of=instead_of)
    return {
        "cluster": cluster,
        "impact": None if form.errors else impacts.preview(cluster, Edit(spec, after)),
        "coverage": coverage,
        "picks": [
            {"name": name, "machine": machines.get(name, ""), "is_on": name in chosen}
            for name in names[:MOST_PICKED]
        ],
        "more": max(0, len(names) - MOST_PICKED),
        "line": "" if form.errors else acts.line_of(wanted),
        "default_from": taken if wanted.default else "",
        "preview_url": _url(cluster, "partition-preview"),
    }


def _jobs(cluster: Cluster, name: str) -> QuerySet[Job]:
    return cluster.jobs.filter(MATCHES["partition"](name), is_finished=False)


def _allow(door: Door) -> None:
    """Raises Conflict before a dialog is shown for what the cluster's status forbids."""
    if why := refusal(Status(door.cluster.status), Step.CHANGE):
        raise Conflict(why, "Its page shows what it allows now.")


def _why_not_add(door: Door, own: int) -> str:
    if own >= MAX_OWN_PARTITIONS:
        return f"{MAX_OWN_PARTITIONS} own partitions are the most that a cluster has."
    return why_not(door, Action.CHANGE_CLUSTER, Step.CHANGE)


def _current(cluster: Cluster) -> int:
    return cluster.revision.number if cluster.revision else 0


def _about(door: Door) -> dict[str, object]:
    return {
        "door": door,
        "cluster": door.cluster,
        "tab": "partitions",
        "back": _url(door.cluster, "partitions"),
    }


def _url(cluster: Cluster, name: str) -> str:
    return reverse(name, kwargs={"team": cluster.team.slug, "cluster": cluster.slug})
