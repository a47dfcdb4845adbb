"""One's own open terminals, and where recordings of them are. Nobody sees another person's."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from console.access import SIGNED_IN, declares
from console.errors import ConsoleError
from console.models import User
from console.page import render_page
from slurm.recordings import recorded_of
from slurm.terminal.limits import MOST_PER_PERSON
from slurm.terminal.own import close_own, own_terminals


@declares(SIGNED_IN)
def terminals(request: HttpRequest) -> HttpResponse:
    context: dict[str, object] = {"most": MOST_PER_PERSON, "recorded": recorded_of(_me(request))}
    try:
        context["terminals"] = own_terminals(_me(request))
    except ConsoleError as error:
        context["error"] = error
    return render_page(request, "slurm/own_terminals.html", context)


@declares(SIGNED_IN)
def closing(request: HttpRequest, session: str) -> HttpResponse:
    """POST ends the terminal; one that has ended meanwhile is as good."""
    if request.method == "POST":
        try:
            close_own(_me(request), session)
            messages.success(request, "The terminal is closed.")
        except ConsoleError as error:
            messages.error(request, f"{error.message} {error.hint}".strip())
    return redirect("own-terminals")


def _me(request: HttpRequest) -> User:
    assert isinstance(request.user, User), "LoginRequiredMiddleware lets nobody else through"
    return request.user
