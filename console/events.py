"""The audit trail's one writer.

Where a request came from is known to the middleware alone, which says it around the request (`coming_from`); what is
recorded meanwhile carries it, so that acts need not pass it down.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from ipaddress import ip_address
from typing import TypeVar

from django.contrib.auth.models import AnonymousUser

from console.models import Event, Team, User

T = TypeVar("T")
_origin: ContextVar[str | None] = ContextVar("origin", default=None)


@contextmanager
def coming_from(address: str) -> Iterator[None]:
    """Events recorded within are from `address`; one that is no IP address (a unix socket's) is not kept."""
    token = _origin.set(_ip(address))
    try:
        yield
    finally:
        _origin.reset(token)


def _ip(text: str) -> str | None:
    """Without an IPv6 zone: PostgreSQL's inet has none."""
    try:
        return str(ip_address(text.partition("%")[0]))
    except ValueError:
        return None


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
    """Write down that `by` did, or tried, `verb`. Runs in the caller's transaction; `detail` must hold no secret.

    `address` is where it came from; left out, it is the current request's.
    """
    user = by if isinstance(by, User) else None
    return Event.objects.create(
        verb=verb,
        user=user,
        who=user.username if user else "quarterdeck",
        team=team,
        cluster=cluster,
        target=_kept(target)[:200],
        outcome=outcome,
        detail={key: _kept(value) for key, value in (detail or {}).items()},
        address=address or _origin.get(),
    )


def _kept(value: T) -> T:
    """Without NUL, which PostgreSQL keeps in no text and no JSON: what somebody tried is recorded whatever it held."""
    return value.replace("\0", "") if isinstance(value, str) else value  # type: ignore[return-value]
