"""The cluster's changes, one of them with its log, its problems and what it changes, and going back to a revision."""

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from clusters.access import Door, cluster_view
from clusters.changes import cancel, rollback_to
from clusters.diff import FieldChange, diff
from clusters.lifecycle import Step
from clusters.machine import ChangeStatus
from clusters.models import Change, Revision
from clusters.views.frame import why_not
from console.errors import ConsoleError, Missing
from console.numbers import typed_number
from console.page import close_dialog, render_dialog, render_page
from console.roles import Action

PAGE_SIZE = 50
# What the database keeps a number in (PositiveIntegerField).
MOST_NUMBER = 2**31 - 1


@cluster_view(Action.VIEW)
def changes(request: HttpRequest, door: Door) -> HttpResponse:
    listed = door.cluster.changes.select_related("by", "base", "revision").order_by("-number")
    page = Paginator(listed, PAGE_SIZE).get_page(request.GET.get("page"))
    return render_page(
        request,
        "clusters/changes.html",
        {"door": door, "cluster": door.cluster, "tab": "changes", "page": page},
    )


@cluster_view(Action.VIEW)
def change(request: HttpRequest, door: Door, number: int) -> HttpResponse:
    found = find_change(door, number)
    where = {"team": door.cluster.team.slug, "cluster": door.cluster.slug, "number": number}
    return render_page(
        request,
        "clusters/change.html",
        {
            "door": door,
            "cluster": door.cluster,
            "tab": "changes",
            "change": found,
            "diff": _diff(found.base, found.revision),
            "cancel_url": reverse("change-cancellation", kwargs=where),
            "cancel_why_not": why_not(door, Action.CHANGE_CLUSTER, Step.CHANGE),
            "may_see_objects": door.may(Action.CHANGE_CLUSTER),
            "roll_back_url": reverse("rollback", kwargs=where) if _is_earlier(door, found) else "",
            "roll_back_why_not": why_not(door, Action.CHANGE_CLUSTER, Step.CHANGE),
        },
    )


@cluster_view(Action.CHANGE_CLUSTER)
def rollback(request: HttpRequest, door: Door, number: int) -> HttpResponse:
    """Back to the revision that change `number` made: what that means, then a new change that does it."""
    found = find_change(door, number)
    cluster = door.cluster
    if not _is_earlier(door, found) or found.revision is None or cluster.revision is None:
        raise Missing(
            f"Change {number} made no earlier revision to go back to.",
            "Choose a committed change of the list.",
        )
    context = {
        "door": door,
        "cluster": cluster,
        "change": found,
        "base_number": request.POST.get("base") or cluster.revision.number,
        "diff": _diff(cluster.revision, found.revision),
    }
    if request.method != "POST":
        return render_dialog(request, "clusters/rollback.html", context)
    try:
        made = rollback_to(
            cluster, found.revision.number, base=number_of(request.POST.get("base")), by=door.membership
        )
    except ConsoleError as error:
        return render_dialog(
            request, "clusters/rollback.html", {**context, "error": error}, status=error.status
        )
    return close_dialog(request, change_url(made))


@cluster_view(Action.CHANGE_CLUSTER)
def cancellation(request: HttpRequest, door: Door, number: int) -> HttpResponse:
    """Give a live change up: what is undone, then the wish, which the worker meets at its next look."""
    found = find_change(door, number)
    context: dict[str, object] = {
        "door": door,
        "cluster": door.cluster,
        "change": found,
        "back": change_url(found),
    }
    if request.method != "POST":
        return render_dialog(request, "clusters/change_cancel.html", context)
    try:
        cancel(found, by=door.membership)
    except ConsoleError as error:
        context["error"] = error
        return render_dialog(request, "clusters/change_cancel.html", context, status=error.status)
    return close_dialog(request, change_url(found))


def change_url(change: Change) -> str:
    cluster = change.cluster
    return reverse(
        "change", kwargs={"team": cluster.team.slug, "cluster": cluster.slug, "number": change.number}
    )


def number_of(text: str | None) -> int | None:
    return typed_number(text, most=MOST_NUMBER)


def _is_earlier(door: Door, change: Change) -> bool:
    """Whether the change made a revision that was current once and is not now."""
    was_current = change.status == ChangeStatus.COMMITTED and change.revision_id is not None
    return was_current and change.revision_id != door.cluster.revision_id


def _diff(old: Revision | None, new: Revision | None) -> tuple[FieldChange, ...]:
    return diff(old.parsed, new.parsed) if old and new else ()


def find_change(door: Door, number: int) -> Change:
    """With its log and revisions. Raises Missing."""
    found = (
        door.cluster.changes.select_related("by", "base", "revision")
        .prefetch_related("lines")
        .filter(number=number)
        .first()
    )
    if found is None:
        raise Missing(f"{door.cluster.slug} has no change {number}.", "The Changes tab lists them all.")
    return found
