"""Recordings of a team's terminals: the list with its settings, and the page that replays one."""

from collections.abc import AsyncIterator, Iterator
from functools import partial

from asgiref.sync import sync_to_async
from django import forms
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import reverse

from console import events
from console.access import team_view, why_not
from console.dialog import ProblemForm, form_dialog
from console.models import Membership
from console.page import render_page
from console.roles import Action
from slurm.recordings import MOST_DAYS, Policy, policy_of, read, recordings_for, replay_for, set_policy

ROWS = 100


class PolicyForm(ProblemForm):
    record = forms.BooleanField(
        label="Record what terminals show",
        required=False,
        help_text="For terminals opened from then on. Everybody is told before theirs opens. Never what is typed.",
    )
    keep_days = forms.IntegerField(
        label="Days to keep a recording",
        min_value=1,
        max_value=MOST_DAYS,
        help_text="Older ones are deleted by themselves, those that are there already, too.",
    )


@team_view(Action.REPLAY_OWN)
def recordings(request: HttpRequest, membership: Membership) -> HttpResponse:
    page = Paginator(recordings_for(membership), ROWS).get_page(request.GET.get("page"))
    context = {
        "team": membership.team,
        "policy": policy_of(membership.team),
        "page": page,
        "why_not": why_not(membership, Action.REVIEW_TERMINALS),
    }
    return render_page(request, "slurm/recordings.html", context)


@team_view(Action.REVIEW_TERMINALS)
def settings(request: HttpRequest, membership: Membership) -> HttpResponse:
    team = membership.team
    policy = policy_of(team)
    form = PolicyForm(request.POST or None, initial={"record": policy.record, "keep_days": policy.keep_days})
    back = reverse("recordings", kwargs={"team": team.slug})

    def act() -> str:
        set_policy(team, Policy(**form.cleaned_data), by=membership)
        return back

    return form_dialog(request, "slurm/recording_settings.html", {"team": team, "back": back}, form, act)


@team_view(Action.REPLAY_OWN)
def recording(request: HttpRequest, membership: Membership, recording: str) -> HttpResponse:
    found = replay_for(membership, recording)
    return render_page(request, "slurm/recording.html", {"team": membership.team, "recording": found})


@team_view(Action.REPLAY_OWN)
def cast(request: HttpRequest, membership: Membership, recording: str) -> StreamingHttpResponse:
    """The recording itself. Every reading of it is in the audit trail."""
    found = replay_for(membership, recording)
    pieces = read(found)
    detail = {"whose": found.who, "began": found.began_at.isoformat(timespec="seconds")}
    events.record(
        "recording.play",
        by=membership.user,
        team=membership.team,
        cluster=found.cluster,
        target=found.name[:8],
        detail=detail,
    )
    headers = {
        "Content-Disposition": f'attachment; filename="{found.cluster}-{found.name[:8]}.cast"',
        "Cache-Control": "private, no-store",
    }
    return StreamingHttpResponse(_one_by_one(pieces), content_type="application/x-asciicast", headers=headers)


async def _one_by_one(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Read as fast as they are taken: Django would gather what is no asynchronous iterator in memory."""
    following = sync_to_async(partial(next, pieces, b""), thread_sensitive=False)
    while piece := await following():
        yield piece
