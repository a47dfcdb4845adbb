"""Signing in, and where a person lands."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth import views as auth_views
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import AuthenticationForm
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.debug import sensitive_post_parameters

from console import events, live, oidc, oidc_sign_out, passkeys, refusals
from console.access import PUBLIC, SIGNED_IN, declares, teams_of
from console.admission import admit, confirm, enter, half_way, leave
from console.errors import ConsoleError, Missing, Rejected, TooMany, Unavailable
from console.factors import check_code, factors_of
from console.forms import CodeForm, PasskeyForm, PasswordOnlyForm
from console.models import User
from console.oidc_accounts import account_of
from console.page import render_page, with_headers
from console.passwords import check_password


@method_decorator(login_not_required, name="dispatch")
class SignIn(auth_views.LoginView):
    template_name = "console/sign_in.html"
    redirect_authenticated_user = True
    action = PUBLIC

    def post(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        try:
            return super().post(request, *args, **kwargs)
        except TooMany as error:
            context = self.get_context_data(form=self.get_form_class()(request), error=error)
            return with_headers(self.render_to_response(context, status=error.status), error)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        user = form.get_user()
        assert isinstance(user, User), "AUTH_USER_MODEL says so"
        return redirect(admit(self.request, user, how="password", after=self.get_success_url()))

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return {**super().get_context_data(**kwargs), **_ways(self.request)}


@sensitive_post_parameters()
@login_not_required
@declares(PUBLIC)
def second_factor(request: HttpRequest) -> HttpResponse:
    """After the first factor, for a person who has a second: a code, or a passkey of theirs."""
    half = half_way(request)
    if half is None:
        return redirect("sign-in")

    def pass_on(how: str) -> HttpResponse:
        enter(request, half.user, how=f"{half.how} and {how}", lasts_s=half.lasts_s)
        return redirect(half.after)

    return _ask(request, half.user, "console/second_factor.html", {"half": half}, pass_on)


@login_not_required
@declares(PUBLIC)
def start_over(request: HttpRequest) -> HttpResponse:
    leave(request)
    return redirect("sign-in")


@login_not_required
@declares(PUBLIC)
def passkey(request: HttpRequest) -> HttpResponse:
    """POST signs in with a passkey alone: it is both factors."""
    form = PasskeyForm(request.POST)
    if request.method != "POST" or not form.is_valid():
        return redirect("sign-in")
    try:
        user = passkeys.owner_of(form.cleaned_data["credential"])
    except Rejected as error:
        refusals.note_sign_in(None, "passkey", error.problems[0].message)
        return _refused(request, error)
    enter(request, user, how="passkey")
    return redirect(_next(request))


@login_not_required
@declares(PUBLIC)
def provider(request: HttpRequest) -> HttpResponse:
    """Off to the identity provider. Whoever is signed in comes to show again that it is them."""
    try:
        return oidc.begin(request, after=_next(request), anew=request.user.is_authenticated)
    except Unavailable as error:
        return _refused(request, error)


@login_not_required
@declares(PUBLIC)
def provider_callback(request: HttpRequest) -> HttpResponse:
    """Back from the identity provider."""
    try:
        identity, after = oidc.come_back(request)
        user = account_of(identity)
    except (oidc.NotLetIn, Unavailable) as error:
        refusals.note_sign_in(None, settings.OIDC_NAME, error.message)
        return _refused(request, error)
    url = admit(
        request, user, how=settings.OIDC_NAME, after=after, lasts_s=settings.OIDC_SESSION_S,
        factor=identity.has_factor,
    )  # fmt: skip
    return redirect(url)


@login_not_required
@declares(PUBLIC)
def passkey_options(request: HttpRequest) -> HttpResponse:
    """What the browser is to ask of a passkey: of the person who is signed in or half-way, else of anybody."""
    if request.method != "POST":
        raise Missing("Options are asked for by the page itself.")
    half = half_way(request)
    user = request.user if isinstance(request.user, User) else half.user if half else None
    return JsonResponse(passkeys.begin_use(user), headers={"Cache-Control": "no-store"})


@sensitive_post_parameters()
@declares(SIGNED_IN)
def confirm_person(request: HttpRequest) -> HttpResponse:
    """Before something that only the person may do: the second factor, or for whoever has none the password."""
    user = request.user
    assert isinstance(user, User), "LoginRequiredMiddleware lets nobody else through"

    def pass_on(how: str) -> HttpResponse:
        confirm(request)
        return redirect(_next(request))

    return _ask(request, user, "console/confirm.html", {"next": _next(request)}, pass_on)


class SignOut(auth_views.LogoutView):
    """Ends the session, and with it what its sockets may: they ask again at once."""

    action = SIGNED_IN

    def post(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        person, there = request.user, oidc_sign_out.address(request)
        response = super().post(request, *args, **kwargs)
        if isinstance(person, User):
            events.record("sign-out", by=person)
            live.rights_changed(person.pk)
        return _signed_out(request, there) if there else response


@declares(SIGNED_IN)
def home(request: HttpRequest) -> HttpResponse:
    """The person's only team, or the list of their teams."""
    teams = teams_of(request.user)
    if len(teams) == 1:
        return redirect("clusters", team=teams[0].slug)
    return render_page(request, "console/teams.html", {"teams": teams})


def _ways(request: HttpRequest) -> dict[str, object]:
    """What the sign-in page offers besides name and password."""
    return {
        "no_passkeys": passkeys.why_not(request),
        "provider_name": settings.OIDC_NAME if oidc.is_offered() else "",
    }


def _signed_out(request: HttpRequest, address: str) -> HttpResponse:
    """A page that goes on to the provider: browsers follow no redirect from a form to another site (form-action)."""
    context: dict[str, object] = {"address": address, "provider_name": settings.OIDC_NAME}
    response = render_page(request, "console/signed_out.html", context)
    response.headers["Cache-Control"] = "no-store"
    return response


def _refused(request: HttpRequest, error: ConsoleError) -> HttpResponse:
    """The sign-in page, saying why nobody was let in."""
    return render_page(
        request, "console/sign_in.html", {"error": error, **_ways(request)}, status=error.status
    )


def _ask(
    request: HttpRequest,
    user: User,
    template: str,
    context: dict[str, object],
    pass_on: Callable[[str], HttpResponse],
) -> HttpResponse:
    """Ask for what shows that it is `user`, and pass them on with the name of what did."""
    factors = factors_of(user)
    form = (CodeForm if factors.are_any else PasswordOnlyForm)(request.POST or None)
    context = {**context, "form": form, "factors": factors, **_ways(request)}
    if request.method != "POST":
        return render_page(request, template, context)
    try:
        return pass_on(_shown_by(request, user, form))
    except Rejected as error:
        for problem in error.problems:
            form.add_error(problem.path if problem.path in form.fields else None, problem.message)
        return render_page(request, template, context, status=error.status)
    except TooMany as error:
        context["error"] = error
        return with_headers(render_page(request, template, context, status=error.status), error)


def _shown_by(request: HttpRequest, user: User, form: CodeForm | PasswordOnlyForm) -> str:
    """What showed that it is `user`, in words. Raises Rejected, which is written down, and TooMany."""
    answer = PasskeyForm(request.POST)
    try:
        if answer.is_valid():
            passkeys.owner_of(answer.cleaned_data["credential"], user)
            return "passkey"
        if not form.is_valid():
            raise Rejected("Nothing was sent that shows who you are.")
        if isinstance(form, CodeForm):
            return check_code(user, form.cleaned_data["code"])
    except Rejected as error:
        why = error.problems[0].message if error.problems else error.message
        refusals.note_sign_in(user, "second factor", why)
        raise
    check_password(request, user, form.cleaned_data["password"])
    return "password"


def _next(request: HttpRequest) -> str:
    """Where to go afterwards, if that is here."""
    url = request.POST.get(REDIRECT_FIELD_NAME) or request.GET.get(REDIRECT_FIELD_NAME, "")
    is_ours = url_has_allowed_host_and_scheme(url, {request.get_host()}, require_https=request.is_secure())
    return url if is_ours else reverse("home")
