"""Being let in: from the first factor to a session that is signed in, whatever the first factor was.

A person with a second factor is half-way after the first: the session knows who they say they are, `request.user` does
not, and no page but the one that asks for the second shows anything. Both are good for minutes only.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Concatenate, ParamSpec
from urllib.parse import urlencode

from django.contrib import auth
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.crypto import constant_time_compare

from console import events, provider_factor
from console.factors import has_second_factor
from console.models import User
from console.page import close_dialog

P = ParamSpec("P")
HALF, CONFIRMED = "half-way", "confirmed-at"
HALF_S = 600
CONFIRMED_S = 600
BACKEND = "console.passwords.PasswordBackend"


@dataclass(frozen=True)
class Half:
    """A person whose first factor was right. `how` says which, `after` where they wanted to go."""

    user: User
    how: str
    after: str
    lasts_s: int | None


def admit(
    request: HttpRequest,
    user: User,
    *,
    how: str,
    after: str,
    lasts_s: int | None = None,
    factor: bool = False,
) -> str:
    """Where to go now that the first factor was right: on to the second, or in, for `lasts_s` seconds if not as long as
    usual. `factor` says that the identity provider asked for one already; one that is set up here is asked for all the
    same.
    """
    if not has_second_factor(user):
        enter(request, user, how=how, lasts_s=lasts_s, factor=factor)
        return after
    request.session.cycle_key()
    request.session[HALF] = {
        "user": user.pk,
        "digest": user.get_session_auth_hash(),
        "how": how,
        "after": after,
        "lasts_s": lasts_s,
        "at": time.time(),
    }
    return reverse("second-factor")


def half_way(request: HttpRequest) -> Half | None:
    """None when nobody is, when it took too long, or when the account was closed or its password changed meanwhile."""
    kept = request.session.get(HALF)
    if not kept or time.time() - kept["at"] > HALF_S:
        return None
    user = User.objects.filter(pk=kept["user"], is_active=True).first()
    if user is None or not constant_time_compare(kept["digest"], user.get_session_auth_hash()):
        return None
    return Half(user, kept["how"], kept["after"], kept["lasts_s"])


def enter(
    request: HttpRequest, user: User, *, how: str, lasts_s: int | None = None, factor: bool = False
) -> None:
    """Sign in: the last step, after all that was asked."""
    with transaction.atomic():
        request.session.pop(HALF, None)
        auth.login(request, user, backend=BACKEND)
        request.session.set_expiry(lasts_s)
        provider_factor.keep(request, came=factor)
        confirm(request)
        events.record("sign-in", by=user, detail={"why": f"with {how}"})


def leave(request: HttpRequest) -> None:
    """Forget who was half-way."""
    request.session.pop(HALF, None)


def confirm(request: HttpRequest) -> None:
    """The person has just shown that it is them."""
    request.session[CONFIRMED] = time.time()


def is_confirmed(request: HttpRequest) -> bool:
    return bool(time.time() - request.session.get(CONFIRMED, 0) < CONFIRMED_S)


def confirmed(
    view: Callable[Concatenate[HttpRequest, P], HttpResponse],
) -> Callable[Concatenate[HttpRequest, P], HttpResponse]:
    """Ask a person who was not asked for ten minutes to show again that it is them, and come back then."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if is_confirmed(request):
            return view(request, *args, **kwargs)
        url = f"{reverse('confirm')}?{urlencode({'next': request.path})}"
        return close_dialog(request, url)

    return guarded
