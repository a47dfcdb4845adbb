"""The identity provider's own second factor, where this console takes it for one: off unless the settings say what
counts. It belongs to the session that came with it, and to the API tokens made there: a password alone never has it.
"""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from console.models import BrowserSession, User

# In a session's data; `console.session_store` writes it beside the data, too.
CAME_WITH = "provider-factor"


def is_counted() -> bool:
    return bool(settings.OIDC_ISSUER and (settings.OIDC_FACTOR_AMR or settings.OIDC_FACTOR_ACR))


def is_shown_by(claims: Mapping[str, Any]) -> bool:
    """Whether these claims of an ID token, whose signature was checked, tell of a factor that counts: a method of `amr`
    (RFC 8176) or the class in `acr` (OpenID Connect Core 1.0, 2)."""
    methods = claims.get("amr")
    methods = methods if isinstance(methods, list) else []
    return claims.get("acr") in settings.OIDC_FACTOR_ACR or any(
        method in settings.OIDC_FACTOR_AMR for method in methods
    )


def keep(request: HttpRequest, *, came: bool) -> None:
    """What the newest sign-in of this session came with; an earlier one counts no more."""
    request.session.pop(CAME_WITH, None)
    if came:
        request.session[CAME_WITH] = True


def mark(user: User, session: Mapping[str, Any]) -> None:
    """Let `user` have what the session came with."""
    if session.get(CAME_WITH):
        user.came_with_factor = True


def mark_absent(user: User) -> None:
    """As `mark`, for what a person left running: while any session of theirs has it."""
    user.came_with_factor = is_counted() and _alive().filter(user=user).exists()


def has_come(user: User) -> bool:
    return user.came_with_factor and is_counted()


def less_those_who_came(people: QuerySet[User]) -> QuerySet[User]:
    """Without those who have such a session now."""
    return people.exclude(pk__in=_alive().values("user")) if is_counted() else people


def _alive() -> QuerySet[BrowserSession]:
    return BrowserSession.objects.filter(came_with_factor=True, expire_date__gt=timezone.now())
