"""One's own account: the password and the API tokens. Nobody sees another person's."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters

from console.access import SIGNED_IN, declares
from console.forms import PasswordForm, TokenForm
from console.models import User
from console.page import close_dialog, render_dialog, render_page
from console.passwords import change_password
from console.roles import Scope
from console.tokens import make_token, revoke_token, token_of


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


def _me(request: HttpRequest) -> User:
    assert isinstance(request.user, User), "LoginRequiredMiddleware lets nobody else through"
    return request.user
