"""One's own account: the password, second factors, API tokens, open sessions. Nobody sees another person's."""

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters

from console import oidc, passkeys
from console.access import SIGNED_IN, declares
from console.factors import factors_of
from console.forms import PasswordForm, TokenForm
from console.models import User
from console.numbers import typed_number
from console.page import close_dialog, render_dialog, render_page
from console.passwords import change_password
from console.provider_factor import has_come
from console.roles import Scope
from console.sessions import OpenSessions, end_all, end_session
from console.tokens import make_token, revoke_token, token_of

# Sessions on the profile, and on a page of their own.
SHOWN, ROWS = 5, 50
MOST_PAGES = 10_000


@sensitive_post_parameters()
@declares(SIGNED_IN)
def profile(request: HttpRequest) -> HttpResponse:
    """GET shows; POST changes the password."""
    user = _me(request)
    form = PasswordForm(user, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        change_password(request, user, form)
        messages.success(request, "Your password is changed, and you are signed out everywhere else.")
        return redirect("profile")
    context = {
        "form": form,
        "tokens": user.api_tokens.order_by("-created_at"),
        "ssh_keys": user.ssh_keys.order_by("pk"),
        "factors": factors_of(user),
        "came_with_factor": has_come(user),
        "requiring": user.teams.filter(requires_second_factor=True).order_by("slug"),
        "provider_name": settings.OIDC_NAME if oidc.is_offered() else "",
        "no_passkeys": passkeys.why_not(request),
        **_sessions(request, most=SHOWN),
        "memberships": user.memberships.select_related("team").order_by("team__slug"),
    }
    return render_page(request, "console/profile.html", context, status=422 if form.errors else 200)


@declares(SIGNED_IN)
def new_token(request: HttpRequest) -> HttpResponse:
    """The answer to the POST is the only place that ever shows the token."""
    user = _me(request)
    form = TokenForm(request.POST or None)
    context: dict[str, object] = {"form": form, "back": reverse("profile")}
    if request.method != "POST":
        return render_dialog(request, "console/token_new.html", context)
    if not form.is_valid():
        return render_dialog(request, "console/token_new.html", context, status=422)
    scopes = {Scope(scope) for scope in form.cleaned_data["scopes"]}
    days = form.cleaned_data["days"] or None
    context["token"] = make_token(user, form.cleaned_data["name"], scopes=scopes, days=days)
    context["tokens"] = user.api_tokens.order_by("-created_at")
    response = render_dialog(request, "console/token_made.html", context, status=201)
    response.headers["Cache-Control"] = "no-store"
    return response


@declares(SIGNED_IN)
def token_revocation(request: HttpRequest, number: int) -> HttpResponse:
    token = token_of(_me(request), number)
    back = reverse("profile")
    if request.method != "POST":
        return render_dialog(request, "console/token_revocation.html", {"token": token, "back": back})
    revoke_token(token)
    return close_dialog(request, back)


@declares(SIGNED_IN)
def sessions(request: HttpRequest) -> HttpResponse:
    """All of them, the page's own first; `page` counts from 1."""
    number = typed_number(request.GET.get("page", "1"), most=MOST_PAGES) or 1
    context = _sessions(request, most=ROWS, first=(number - 1) * ROWS)
    return render_page(request, "console/sessions.html", {**context, "number": number, "is_whole": True})


@declares(SIGNED_IN)
def session_end(request: HttpRequest, session: str) -> HttpResponse:
    """POST signs one browser out; the page's own one like signing out."""
    user = _me(request)
    if request.method != "POST":
        return redirect("profile")
    end_session(user, session)
    return redirect("sessions" if "whole" in request.POST else "profile")


@declares(SIGNED_IN)
def sessions_end(request: HttpRequest) -> HttpResponse:
    """POST signs every browser out, this one included."""
    user = _me(request)
    if request.method != "POST":
        return render_dialog(request, "console/sessions_end.html", {"back": reverse("profile")})
    end_all(user)
    logout(request)
    return close_dialog(request, reverse("sign-in"))


def _sessions(request: HttpRequest, *, most: int, first: int = 0) -> dict[str, object]:
    found = OpenSessions(_me(request), request.session.session_key)[first : first + most + 1]
    return {"sessions": found[:most], "more_sessions": len(found) > most}


def _me(request: HttpRequest) -> User:
    assert isinstance(request.user, User), "LoginRequiredMiddleware lets nobody else through"
    return request.user
