"""The dialog that compares a login node's host key with the platform's, and accepts the new one."""

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from clusters.access import Door, cluster_view
from console.errors import ConsoleError
from console.page import close_dialog, render_dialog
from console.roles import Action, least_role
from slurm.host_keys import accept, fingerprint, waiting


@cluster_view(Action.TERMINAL)
def host_key(request: HttpRequest, door: Door) -> HttpResponse:
    return _dialog(request, door)


@cluster_view(Action.CHANGE_CLUSTER)
def acceptance(request: HttpRequest, door: Door) -> HttpResponse:
    """POST with the fingerprint that the dialog showed."""
    if request.method != "POST":
        return _dialog(request, door)
    try:
        accept(door, request.POST.get("fingerprint", ""))
    except ConsoleError as error:
        return _dialog(request, door, error)
    return close_dialog(request, _terminal(door))


def _dialog(request: HttpRequest, door: Door, error: ConsoleError | None = None) -> HttpResponse:
    seen = waiting(door.cluster)
    may = door.may(Action.CHANGE_CLUSTER)
    context: dict[str, object] = {
        "cluster": door.cluster,
        "seen": seen,
        "pinned": fingerprint(seen.pinned) if seen else "",
        "presented": fingerprint(seen.presented) if seen else "",
        "kind": seen.presented.split()[0] if seen else "",
        "why_not": "" if may else f"Needs the role {least_role(Action.CHANGE_CLUSTER).value}.",
        "back": _terminal(door),
        "error": error,
    }
    return render_dialog(request, "slurm/host_key.html", context, status=error.status if error else 200)


def _terminal(door: Door) -> str:
    where = {"team": door.cluster.team.slug, "cluster": door.cluster.slug}
    return reverse("terminal", kwargs=where)
