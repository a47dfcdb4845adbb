"""What happened in a team: the audit trail, filtered, 100 a page, and as files."""

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass

from asgiref.sync import sync_to_async
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.utils import timezone

from console.access import team_view
from console.activity import OUTCOMES, Wanted, about, choices, events_of, json_lines, sheet, verb_words
from console.models import Event, Membership
from console.page import render_region
from console.roles import Action

PAGE_SIZE = 100


@dataclass(frozen=True)
class Row:
    event: Event
    what: str
    about: str


@team_view(Action.VIEW_ACTIVITY)
def activity(request: HttpRequest, membership: Membership) -> HttpResponse:
    """`?q=`, `?who=`, `?verb=`, `?cluster=`, `?outcome=`, `?since=` and `?until=` narrow it."""
    wanted = Wanted.from_query(request.GET.dict())
    page = Paginator(events_of(membership.team, wanted), PAGE_SIZE).get_page(request.GET.get("page"))
    context = {
        "team": membership.team,
        "wanted": wanted,
        "choices": choices(membership.team, wanted),
        "page": page,
        "rows": [Row(event, verb_words(event.verb), about(event)) for event in page.object_list],
        "outcomes": OUTCOMES,
    }
    return render_region(request, "console/activity.html", "console/_activity.html", context)


@team_view(Action.VIEW_ACTIVITY)
def activity_sheet(request: HttpRequest, membership: Membership) -> StreamingHttpResponse:
    """What the same filter shows, newest first, for a spreadsheet."""
    return _file(request, membership, sheet, "csv", "text/csv; charset=utf-8")


@team_view(Action.VIEW_ACTIVITY)
def activity_lines(request: HttpRequest, membership: Membership) -> StreamingHttpResponse:
    """The same for programs: JSON lines with every detail."""
    return _file(request, membership, json_lines, "jsonl", "application/jsonl; charset=utf-8")


def _file(
    request: HttpRequest,
    membership: Membership,
    write: Callable[[QuerySet[Event]], Iterator[str]],
    ending: str,
    content_type: str,
) -> StreamingHttpResponse:
    found = events_of(membership.team, Wanted.from_query(request.GET.dict()))
    name = f"activity-{membership.team.slug}-{timezone.now():%Y-%m-%d}.{ending}"
    return StreamingHttpResponse(
        _in_pieces(write(found)),
        content_type=content_type,
        headers={"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"},
    )


async def _in_pieces(pieces: Iterator[str]) -> AsyncIterator[str]:
    """Read in the request's own thread. Django would collect an ordinary iterator whole before it sends any of it."""
    read = sync_to_async(lambda: next(pieces, None))
    while (piece := await read()) is not None:
        yield piece
