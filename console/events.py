"""The audit trail's one writer.

Where a request came from is known to the middleware alone, which says it around the request (`coming_from`); what is
recorded meanwhile carries it, so that acts need not pass it down.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC
from ipaddress import IPv6Address, ip_address
from math import isfinite
from secrets import token_bytes

from django.contrib.auth.models import AnonymousUser
from django.db import connection, transaction
from django.utils import timezone

from console import secrets, sink
from console.chain import START, Link, link
from console.models import Event, Membership, Team, User

_origin: ContextVar[str | None] = ContextVar("origin", default=None)
# The first half of the advisory lock's name; the second is the chain's.
LOCK = 0x61756474


@contextmanager
def coming_from(address: str) -> Iterator[None]:
    """Events recorded within are from `address`; one that is no IP address (a unix socket's) is not kept."""
    token = _origin.set(ip_of(address))
    try:
        yield
    finally:
        _origin.reset(token)


def ip_of(text: str) -> str | None:
    """As PostgreSQL's inet gives it back: without an IPv6 zone, and an IPv4 address in IPv6 clothes undressed."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)


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
    as_staff: bool | None = None,
) -> Event:
    """Write down that `by` did, or tried, `verb`. Runs in the caller's transaction; `detail` must hold no secret.

    `address` is where it came from; left out, it is the current request's. `as_staff` marks what platform staff do in a
    team they are not in; left out, it is looked up. Until the transaction ends, others who
    record for the same team wait: an act that locks rows locks them before it records.
    """
    user = by if isinstance(by, User) else None
    event = Event(
        verb=verb,
        user=user,
        who=user.username if user else "quarterdeck",
        team=team,
        team_slug=team.slug if team else "",
        cluster=cluster,
        target=str(_kept(target))[:200],
        outcome=outcome,
        detail=_kept(detail or {}),
        address=ip_of(address or "") or _origin.get(),
        as_staff=_visits(user, team) if as_staff is None else as_staff,
        chain=team.pk if team else 0,
    )
    with transaction.atomic():
        _append(event)
    transaction.on_commit(lambda: sink.tell(event), robust=True)
    return event


def values_of(event: Event) -> dict[str, object]:
    """What the digest covers: everything that the row says, as JSON."""
    plain = (
        "team_id",
        "team_slug",
        "user_id",
        "who",
        "cluster",
        "verb",
        "target",
        "outcome",
        "detail",
        "address",
    )
    at = event.at.astimezone(UTC).isoformat(timespec="microseconds")
    # Said only where it is so: events that were written before staff were marked keep their digests.
    # Migration 0003 chains rows from before the mark.
    marks = {"as_staff": True} if getattr(event, "as_staff", False) else {}
    return {"at": at, "chain": event.chain, **{name: getattr(event, name) for name in plain}, **marks}


def _visits(user: User | None, team: Team | None) -> bool:
    """Whether the person acts here as platform staff. A query for staff alone."""
    if user is None or team is None or not user.is_staff:
        return False
    return not Membership.objects.filter(user=user, team=team).exists()


def chain_key() -> bytes:
    """The key of all chains; made when first asked for."""
    return secrets.get_or_make("audit", "chain-key", lambda: token_bytes(32))


def _append(event: Event) -> None:
    """Take the next place in the chain. The lock comes before the look: a statement sees what was committed by then."""
    key = chain_key()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [LOCK, event.chain % 2**31])
    last = Event.objects.filter(chain=event.chain).order_by("-number").values_list("number", "digest").first()
    number, previous = last or (0, START)
    event.at = timezone.now()
    _place(event, link(key, number + 1, previous, values_of(event)))
    event.save(force_insert=True)


def _place(event: Event, place: Link) -> None:
    event.number, event.previous, event.digest = place.number, place.previous, place.digest


def _kept(value: object) -> object:
    """As PostgreSQL gives it back from JSON: what somebody tried is recorded whatever it held.

    NUL and halves of characters it keeps in no text; 1e3 it returns as 1000; a tuple comes back as a list.
    """
    if isinstance(value, str):
        return value.replace("\0", "").encode(errors="replace").decode()
    if isinstance(value, Mapping):
        return {str(_kept(str(key))): _kept(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_kept(part) for part in value]
    if isinstance(value, float):
        return int(value) if value.is_integer() else value if isfinite(value) else str(value)
    return value
