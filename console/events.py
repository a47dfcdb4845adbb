"""The audit trail's one writer."""

from collections.abc import Mapping

from django.contrib.auth.models import AnonymousUser

from console.models import Event, Team, User


def record(
    verb: str,
    *,
    by: User | AnonymousUser | None,
    team: Team | None = None,
    cluster: str = "",
    target: str = "",
    outcome: str = "done",
    detail: Mapping[str, object] | None = None,
    address: str | None = None,
) -> Event:
    """Write down that `by` did, or tried, `verb`. Runs in the caller's transaction; `detail` must hold no secret."""
    user = by if isinstance(by, User) else None
    return Event.objects.create(
        verb=verb,
        user=user,
        who=user.username if user else "quarterdeck",
        team=team,
        cluster=cluster,
        target=target[:200],
        outcome=outcome,
        detail=dict(detail or {}),
        address=address,
    )
