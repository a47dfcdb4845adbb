"""API tokens: bearer authentication for scripts. A token acts as its person, with that person's roles."""

import hashlib
import secrets

from django.db import transaction
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from console import events
from console.errors import Missing
from console.models import ApiToken, User
from console.throttle import TOKENS, address_of

# A fixed beginning lets secret scanners recognise a leaked token.
PREFIX = "qd_"


def make_token(user: User, name: str) -> str:
    """A new token of `user`, returned once: only its digest is kept."""
    token = PREFIX + secrets.token_urlsafe(32)
    with transaction.atomic():
        made = ApiToken.objects.create(user=user, name=name, prefix=token[:8], digest=_digest(token))
        events.record("token.make", by=user, target=f"{made.prefix}… {name}")
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
    """`Authorization: Bearer qd_...`"""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        scheme, _, value = get_authorization_header(request).decode("latin-1").partition(" ")
        if scheme.lower() != "bearer":
            return None
        token = ApiToken.objects.select_related("user").filter(digest=_digest(value.strip())).first()
        if token is None or not token.user.is_active:
            TOKENS.take(address_of(request))
            raise AuthenticationFailed("This token is not known here. Make a new one on your profile page.")
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=timezone.now())
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
