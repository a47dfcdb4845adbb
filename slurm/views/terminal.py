"""The terminal's page: a shell on the login node. What moves is `static/js/terminal.js` and the socket."""

import re

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from clusters.access import Door, cluster_view
from clusters.provisioner import LoginEndpoint
from console.errors import ConsoleError
from console.page import render_page
from console.roles import Action
from slurm.terminal.limits import spoken
from slurm.terminal.opening import login_for, ssh_command

SESSION = re.compile(r"[\w-]{1,64}", re.ASCII)


@cluster_view(Action.TERMINAL)
def terminal(request: HttpRequest, door: Door) -> HttpResponse:
    """The page opens whatever the cluster's status: the socket says what is in the way, and when it is gone.

    `?session=` is one of the person's own that this page shall show, too.
    """
    return _page(request, door)


@cluster_view(Action.TERMINAL)
def shared(request: HttpRequest, door: Door, token: str) -> HttpResponse:
    """A terminal that somebody shares by this link. Whether the link is worth anything the socket finds out."""
    return _page(request, door, token)


def _page(request: HttpRequest, door: Door, share: str = "") -> HttpResponse:
    endpoint = _endpoint(door)
    where = {"team": door.cluster.team.slug, "cluster": door.cluster.slug}
    return render_page(
        request,
        "slurm/terminal.html",
        {
            "door": door,
            "tab": "terminal",
            "socket": f"/ws/t/{door.cluster.team.slug}/c/{door.cluster.slug}/terminal",
            "links": f"{reverse('terminal', kwargs=where)}shared/",
            "share": share,
            "session": session if SESSION.fullmatch(session := request.GET.get("session", "")) else "",
            "endpoint": endpoint,
            "ssh_command": ssh_command(endpoint) if endpoint else "",
            "idle": spoken(settings.TERMINAL_IDLE_S),
            "most": spoken(settings.TERMINAL_MOST_S),
        },
    )


def _endpoint(door: Door) -> LoginEndpoint | None:
    try:
        return login_for(door)
    except ConsoleError:
        return None
