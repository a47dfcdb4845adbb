"""Browser sessions: whose they are, where from, and their end. Sockets outlive the request that opened them, so the
person is read again from the database.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib import import_module
from itertools import islice

from django.conf import settings
from django.contrib import auth
from django.db import transaction
from django.db.models import Case, Q, QuerySet, Value, When
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from console import events, live, provider_factor
from console.browsers import browser_words
from console.errors import Missing
from console.models import BrowserSession, User
from console.throttle import address_of

# How exact `seen_at` is: not every request need write.
SEEN_S = 60
# Rows read at once, so that a list of any length costs no memory.
BATCH = 100


@dataclass(frozen=True)
class OpenSession:
    """One that is still let in. `handle` names it on pages: the key itself would let its reader in."""

    handle: str
    browser: str
    address: str
    began_at: datetime
    seen_at: datetime
    is_this: bool


def signed_in(session_key: str | None) -> User:
    """The person. Raises Missing when there is none any more: signed out, shut out, or a changed password."""
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(session_key)
    user = auth.get_user(request)
    if not isinstance(user, User):
        raise Missing("You are signed out.", "Sign in and open the page again.")
    provider_factor.mark(user, request.session)
    return user


def note_seen(request: HttpRequest) -> None:
    """Write down where the session's browser is, at most once a minute. One statement; nothing without a session."""
    now = timezone.now()
    old = Q(seen_at=None) | Q(seen_at__lt=now - timedelta(seconds=SEEN_S))
    BrowserSession.objects.filter(old, session_key=request.session.session_key).update(
        seen_at=now,
        address=events.ip_of(address_of(request)),
        browser=request.headers.get("User-Agent", "").replace("\0", "")[:200],
    )


@dataclass(frozen=True)
class OpenSessions:
    """Those of `user`, the one with the key `this` first, then the latest seen. A slice of them reads no further than
    its end: whoever signs in by script has thousands."""

    user: User
    this: str | None

    def __getitem__(self, part: slice) -> list[OpenSession]:
        return [_shown(row, self.this) for row in islice(self._rows(), part.start, part.stop)]

    def _rows(self) -> Iterator[BrowserSession]:
        """Less those that a changed password has shut out and that were not used since."""
        is_other = Case(When(session_key=self.this or "", then=Value(0)), default=Value(1))
        rows = _alive(self.user).order_by(
            is_other, Coalesce("seen_at", "began_at").desc(), "-began_at", "session_key"
        )
        return (row for row in rows.iterator(BATCH) if _is_let_in(row, self.user))


def end_session(user: User, handle: str) -> None:
    """Sign the browser out: its next request is asked to sign in, its sockets close within seconds. Raises Missing."""
    keys = _alive(user).values_list("session_key", flat=True).iterator(BATCH)
    key = next((key for key in keys if _handle(key) == handle), None)
    row = BrowserSession.objects.filter(session_key=key or "").first()
    if row is None:
        raise Missing("There is no such session.", "It may have ended meanwhile; your profile lists them.")
    _end([row.session_key], user, "session.end", browser_words(row.browser))


def end_all(user: User, *, but: str | None = None) -> None:
    """Sign every browser out, less the one whose session has the key `but`."""
    keys = user.browser_sessions.exclude(session_key=but or "").values_list("session_key", flat=True)
    _end(list(keys), user, "session.end-all", "everywhere else" if but else "everywhere")


def _end(keys: list[str], user: User, verb: str, target: str) -> None:
    with transaction.atomic():
        BrowserSession.objects.filter(session_key__in=keys).delete()
        events.record(verb, by=user, target=target)
        live.rights_changed(user.pk)


def _alive(user: User) -> QuerySet[BrowserSession]:
    return user.browser_sessions.filter(expire_date__gt=timezone.now())


def _is_let_in(row: BrowserSession, user: User) -> bool:
    """As `django.contrib.auth.get_user` judges: the session holds a digest of the password."""
    store = import_module(settings.SESSION_ENGINE).SessionStore()
    digest = store.decode(row.session_data).get(auth.HASH_SESSION_KEY, "")
    known = [user.get_session_auth_hash(), *user.get_session_auth_fallback_hash()]
    return any(constant_time_compare(digest, one) for one in known)


def _shown(row: BrowserSession, this: str | None) -> OpenSession:
    return OpenSession(
        handle=_handle(row.session_key),
        browser=browser_words(row.browser),
        address=row.address or "",
        began_at=row.began_at,
        seen_at=row.seen_at or row.began_at,
        is_this=row.session_key == this,
    )


def _handle(session_key: str) -> str:
    return hashlib.sha256(session_key.encode()).hexdigest()[:16]
