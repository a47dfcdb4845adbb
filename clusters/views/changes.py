"""The cluster's changes, and one of them with its log, its problems and what it changes."""

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse

from clusters.access import Door, cluster_view
from clusters.models import Change
from console.errors import Missing
from console.page import render_page
from console.roles import Action

PAGE_SIZE = 50


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
    found = _change(door, number)
    return render_page(
        request,
        "clusters/change.html",
        {"door": door, "cluster": door.cluster, "tab": "changes", "change": found},
    )


def _change(door: Door, number: int) -> Change:
    found = (
        door.cluster.changes.select_related("by", "base", "revision")
        .prefetch_related("lines")
        .filter(number=number)
        .first()
    )
    if found is None:
        raise Missing(f"{door.cluster.slug} has no change {number}.", "The Changes tab lists them all.")
    return found
