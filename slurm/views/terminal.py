"""The terminal's page: a shell on the login node. What moves is `static/js/terminal.js` and the socket."""

from django.http import HttpRequest, HttpResponse

from clusters.access import Door, cluster_view
from clusters.provisioner import LoginEndpoint
from console.errors import ConsoleError
from console.page import render_page
from console.roles import Action
from slurm.terminal.opening import login_of, ssh_command


@cluster_view(Action.TERMINAL)
def terminal(request: HttpRequest, door: Door) -> HttpResponse:
    """The page opens whatever the cluster's status: the socket says what is in the way, and when it is gone."""
    endpoint = _endpoint(door)
    return render_page(
        request,
        "slurm/terminal.html",
        {
            "door": door,
            "tab": "terminal",
            "socket": f"/ws/t/{door.cluster.team.slug}/c/{door.cluster.slug}/terminal",
            "endpoint": endpoint,
            "ssh_command": ssh_command(endpoint) if endpoint else "",
        },
    )


def _endpoint(door: Door) -> LoginEndpoint | None:
    try:
        return login_of(door.cluster)
    except ConsoleError:
        return None
