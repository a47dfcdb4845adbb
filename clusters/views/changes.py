"""The cluster's changes, one of them with its log, its problems and what it changes, and going back to a revision."""

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from clusters import answers, changes, rolling
from clusters.access import Door, cluster_view
from clusters.acts import Edit
from clusters.diff import FieldChange, diff
from clusters.impact import Impact, from_json
from clusters.impacts import act_of, preview
from clusters.lifecycle import Step
from clusters.machine import ChangeStatus
from clusters.models import Change, Revision
from clusters.opening import right_to_answer
from clusters.views.confirm import confirm
from clusters.views.frame import why_not
from clusters.views.start import start_of
from console.errors import Conflict, Missing
from console.numbers import typed_number
from console.page import render_page
from console.roles import Action

PAGE_SIZE = 50
# What the database keeps a number in (PositiveIntegerField).
MOST_NUMBER = 2**31 - 1


@cluster_view(Action.VIEW)
def listing(request: HttpRequest, door: Door) -> HttpResponse:
    listed = door.cluster.changes.select_related("by", "base", "revision").defer("impact").order_by("-number")
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
            "impact": from_json(found.impact) if found.impact else None,
            "restart": rolling.standing(rolling.from_json(found.course)) if found.course else None,
            "cancel_url": reverse("change-cancellation", kwargs=where),
            "confirm_url": reverse("change-confirmation", kwargs=where),
            "force_url": reverse("change-force", kwargs=where),
            "can_be_forced": answers.forced(found) is not None,
            "cancel_why_not": why_not(door, right_to_answer(found), Step.CHANGE),
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
    earlier = found.revision
    after = changes.restored(cluster, earlier)
    context = {
        "door": door,
        "cluster": cluster,
        "change": found,
        "base_number": request.POST.get("base") or cluster.revision.number,
        "diff": diff(cluster.revision.parsed, after),
    }
    base = number_of(request.POST.get("base"))
    return confirm(
        request,
        "clusters/rollback.html",
        context,
        lambda: changes.rollback_to(
            cluster, earlier.number, base=base, by=door.membership, start_at=start_of(request.POST)
        ),
        change_url,
        impact=preview(cluster, Edit(cluster.revision.parsed, after)),
    )


@cluster_view(Action.RESTART_CLUSTER)
def cancellation(request: HttpRequest, door: Door, number: int) -> HttpResponse:
    """Give a live change up: what is undone, then the wish, which the worker meets at its next look."""
    found = _answerable(door, number)
    context: dict[str, object] = {
        "door": door,
        "cluster": door.cluster,
        "change": found,
        "back": change_url(found),
    }
    return confirm(
        request,
        "clusters/change_cancel.html",
        context,
        lambda: answers.cancel(found, by=door.membership),
        change_url,
        impact=_impact_of_undoing(found),
    )


@cluster_view(Action.RESTART_CLUSTER)
def forcing(request: HttpRequest, door: Door, number: int) -> HttpResponse:
    """Wait no longer for the jobs that a change waits for: which end, then the wish."""
    found = _answerable(door, number)
    act = answers.forced(found)
    if act is None:
        raise Conflict(
            f"Change {number} is {found.status}: it waits for no job.", "Its page shows how it goes."
        )
    return confirm(
        request,
        "clusters/change_force.html",
        {"door": door, "cluster": door.cluster, "change": found, "back": change_url(found)},
        lambda: answers.force(found, by=door.membership),
        change_url,
        impact=preview(door.cluster, act),
    )


@cluster_view(Action.RESTART_CLUSTER)
def confirmation(request: HttpRequest, door: Door, number: int) -> HttpResponse:
    """Say yes to what an asking change costs by now."""
    found = _answerable(door, number)
    act = act_of(found)
    if found.status != ChangeStatus.ASKING or act is None:
        raise Conflict(
            f"Change {number} is {found.status}: it asks for nothing.", "Its page shows how it goes."
        )
    where = {"team": door.cluster.team.slug, "cluster": door.cluster.slug, "number": number}
    context: dict[str, object] = {
        "door": door,
        "cluster": door.cluster,
        "change": found,
        "cancel_url": reverse("change-cancellation", kwargs=where),
        "back": change_url(found),
    }
    return confirm(
        request,
        "clusters/change_confirm.html",
        context,
        lambda: answers.confirm(found, by=door.membership),
        change_url,
        impact=preview(door.cluster, act),
    )


def _impact_of_undoing(change: Change) -> Impact:
    """Nodes that were to go are still there, and those that came go after their jobs. What has no way back is refused
    when it is asked for; of what has not begun there is nothing to undo."""
    if change.status in answers.UNBEGUN:
        return preview(change.cluster, Edit(change.cluster.spec, change.cluster.spec))
    after = change.revision.parsed if change.revision else change.cluster.spec
    return preview(change.cluster, Edit(after, change.base.parsed if change.base else after))


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


def _answerable(door: Door, number: int) -> Change:
    """Raises Missing, or Forbidden for whom this change is no business."""
    found = find_change(door, number)
    door.require(right_to_answer(found))
    return found


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
