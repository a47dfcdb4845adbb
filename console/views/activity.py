"""What happened in a team: the audit trail, filtered, 100 a page, and as a file for a spreadsheet."""

from dataclasses import dataclass

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from console.access import team_view
from console.activity import Wanted, about, choices, events_of, sheet, verb_words
from console.models import Event, Membership
from console.page import render_region
from console.roles import Action

PAGE_SIZE = 100
MOST_IN_SHEET = 50_000


@dataclass(frozen=True)
class Row:
    event: Event
    what: str
    about: str


@team_view(Action.VIEW_ACTIVITY)
def activity(request: HttpRequest, membership: Membership) -> HttpResponse:
    """`?q=`, `?who=`, `?verb=` and `?cluster=` narrow it."""
    wanted = Wanted.from_query(request.GET.dict())
    page = Paginator(events_of(membership.team, wanted), PAGE_SIZE).get_page(request.GET.get("page"))
    context = {
        "team": membership.team,
        "wanted": wanted,
        "choices": choices(membership.team, wanted),
        "page": page,
        "rows": [Row(event, verb_words(event.verb), about(event)) for event in page.object_list],
        "most_in_sheet": MOST_IN_SHEET,
    }
    return render_region(request, "console/activity.html", "console/_activity.html", context)


@team_view(Action.VIEW_ACTIVITY)
def activity_sheet(request: HttpRequest, membership: Membership) -> HttpResponse:
    """What the same filter shows, newest first; at most 50,000 rows."""
    found = events_of(membership.team, Wanted.from_query(request.GET.dict()))[:MOST_IN_SHEET]
    name = f"activity-{membership.team.slug}-{timezone.now():%Y-%m-%d}.csv"
    return HttpResponse(
        sheet(found.iterator(chunk_size=2000)),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"},
    )
