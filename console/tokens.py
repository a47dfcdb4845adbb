"""API tokens: bearer authentication for scripts. A token acts as its person, within its scopes, until it expires.

It can be recognised by secret scanners: `qdk_[A-Za-z0-9_-]{43}`. Older ones begin with `qd_` and go on working.
"""

import hashlib
import secrets
from collections.abc import Collection
from datetime import timedelta

from django.db import transaction
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from console import events
from console.errors import Missing
from console.models import ApiToken, User
from console.roles import Scope
from console.throttle import TOKENS, address_of

PREFIX = "qdk_"
DAYS = 90
ALL_SCOPES = frozenset(Scope)
# How exact `last_used_at` is: a script's every request need not write.
USED_S = 60


def make_token(
    user: User, name: str, *, scopes: Collection[Scope] = ALL_SCOPES, days: int | None = DAYS
) -> str:
    """A new token of `user`, returned once: only its digest is kept. `days` of None: it never expires."""
    token = PREFIX + secrets.token_urlsafe(32)
    kept = " ".join(scope for scope in Scope if scope in scopes)
    ends = timezone.now() + timedelta(days=days) if days else None
    with transaction.atomic():
        made = ApiToken.objects.create(
            user=user, name=name, prefix=token[:10], digest=_digest(token), scopes=kept, expires_at=ends,
            came_with_factor=user.came_with_factor,
        )  # fmt: skip
        detail = {"scopes": kept, "expires": ends.isoformat() if ends else "never"}
        events.record("token.make", by=user, target=f"{made.prefix}… {name}", detail=detail)
    return token


def token_of(user: User, pk: int) -> ApiToken:
    """One of the person's own tokens. Raises Missing."""
    found = user.api_tokens.filter(pk=pk).first()
    if found is None:
        raise Missing("You have no such API token.", "It may be revoked already; your profile lists them.")
    return found


def revoke_token(token: ApiToken) -> None:
    """Scripts that use it are refused from now on."""
    with transaction.atomic():
        events.record("token.revoke", by=token.user, target=f"{token.prefix}… {token.name}")
        token.delete()


class BearerAuthentication(BaseAuthentication):
    """`Authorization: Bearer qdk_...`"""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        scheme, _, value = get_authorization_header(request).decode("latin-1").partition(" ")
        if scheme.lower() != "bearer":
            return None
        token = ApiToken.objects.select_related("user").filter(digest=_digest(value.strip())).first()
        if token is None or not token.user.is_active:
            TOKENS.take(address_of(request))
            raise AuthenticationFailed("This token is not known here. Make a new one on your profile page.")
        if token.has_expired:
            raise AuthenticationFailed("This token has expired. Make a new one on your profile page.")
        _note_use(token)
        token.user.token_scopes = frozenset(map(Scope, token.scopes.split()))
        token.user.came_with_factor = token.came_with_factor
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


def _note_use(token: ApiToken) -> None:
    now = timezone.now()
    if token.last_used_at is None or token.last_used_at < now - timedelta(seconds=USED_S):
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
