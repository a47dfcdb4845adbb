"""One's own second factors: setting one up, taking one away, new recovery codes. Each asks who is there first."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.views.decorators.debug import sensitive_variables

from console import factors, passkeys
from console.access import SIGNED_IN, declares
from console.admission import confirmed
from console.errors import ConsoleError, Missing, Rejected
from console.forms import AppCodeForm, NewPasskeyForm
from console.models import User
from console.page import close_dialog, render_dialog


@declares(SIGNED_IN)
@confirmed
@sensitive_variables()
def new_app(request: HttpRequest) -> HttpResponse:
    """GET offers a new secret; POST of a code from it takes it on."""
    user = _me(request)
    form = AppCodeForm(request.POST or None)
    if request.method != "POST":
        return _shown(
            request, "console/app_new.html", {"form": form, "offer": factors.offer_app(request, user)}
        )
    error: ConsoleError | None = None
    if form.is_valid():
        try:
            return _added(request, factors.add_app(request, user, form.cleaned_data["code"]))
        except ConsoleError as refused:
            error = _placed(refused, form)
    context: dict[str, object] = {"form": form, "error": error, "offer": factors.offered_app(request, user)}
    return _shown(request, "console/app_new.html", context, status=error.status if error else 422)


@declares(SIGNED_IN)
@confirmed
def app_removal(request: HttpRequest) -> HttpResponse:
    user = _me(request)
    if request.method != "POST":
        return _removal(request, user, "Authenticator app")
    factors.remove_app(user)
    return close_dialog(request, reverse("profile"))


@declares(SIGNED_IN)
@confirmed
def new_passkey(request: HttpRequest) -> HttpResponse:
    """POST takes on what the browser made after `passkey_options`."""
    form = NewPasskeyForm(request.POST or None)
    context: dict[str, object] = {"form": form, "why_not": passkeys.why_not(request)}
    if request.method != "POST":
        return _shown(request, "console/passkey_new.html", context)
    if not form.is_valid():
        return _shown(request, "console/passkey_new.html", context, status=422)
    try:
        codes = passkeys.add(_me(request), form.cleaned_data["name"], form.cleaned_data["credential"])
    except Rejected as error:
        context["error"] = error
        return _shown(request, "console/passkey_new.html", context, status=error.status)
    return _added(request, codes)


@declares(SIGNED_IN)
@confirmed
def passkey_options(request: HttpRequest) -> HttpResponse:
    """What the browser is to make a passkey of; POST, since the session keeps the challenge."""
    if request.method != "POST":
        raise Missing("Options are asked for by the page itself.")
    return JsonResponse(passkeys.begin_new(_me(request)), headers={"Cache-Control": "no-store"})


@declares(SIGNED_IN)
@confirmed
def passkey_removal(request: HttpRequest, number: int) -> HttpResponse:
    user = _me(request)
    if request.method != "POST":
        found = next((one for one in factors.factors_of(user).passkeys if one.pk == number), None)
        if found is None:
            raise Missing("You have no such passkey.", "It may be removed already; your profile lists them.")
        return _removal(request, user, f"Passkey {found.name}")
    factors.remove_passkey(user, number)
    return close_dialog(request, reverse("profile"))


@declares(SIGNED_IN)
@confirmed
@sensitive_variables()
def recovery_codes(request: HttpRequest) -> HttpResponse:
    """GET asks; POST makes new ones and shows them, this once."""
    user = _me(request)
    if request.method != "POST":
        left = factors.factors_of(user).codes_left
        return render_dialog(request, "console/codes_new.html", {"left": left, "back": reverse("profile")})
    return _codes_shown(request, factors.new_codes(user))


def _added(request: HttpRequest, codes: list[str]) -> HttpResponse:
    """With the first factor come the recovery codes."""
    if codes:
        return _codes_shown(request, codes)
    messages.success(request, "Your second factor is added.")
    return close_dialog(request, reverse("profile"))


def _codes_shown(request: HttpRequest, codes: list[str]) -> HttpResponse:
    return _shown(request, "console/codes_made.html", {"codes": codes}, status=201)


def _removal(request: HttpRequest, user: User, what: str) -> HttpResponse:
    is_last = factors.factors_of(user).count == 1
    teams = user.teams.filter(requires_second_factor=True).order_by("slug") if is_last else []
    context = {"what": what, "is_last": is_last, "teams": list(teams), "back": reverse("profile")}
    return render_dialog(request, "console/factor_removal.html", context)


def _shown(
    request: HttpRequest, template: str, context: dict[str, object], *, status: int = 200
) -> HttpResponse:
    """A dialog that no cache keeps: it holds a secret."""
    response = render_dialog(request, template, {"back": reverse("profile"), **context}, status=status)
    response.headers["Cache-Control"] = "no-store"
    return response


def _placed(error: ConsoleError, form: AppCodeForm) -> ConsoleError:
    """Problems of the code at its field; the error itself for what stands above the form."""
    for problem in error.problems if isinstance(error, Rejected) else ():
        form.add_error(problem.path, f"{problem.message} {problem.hint}")
    return error


def _me(request: HttpRequest) -> User:
    assert isinstance(request.user, User), "LoginRequiredMiddleware lets nobody else through"
    return request.user
