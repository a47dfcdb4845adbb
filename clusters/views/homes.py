"""Who keeps files on the login node itself: asked by dialogs of what would lose them, once they are open."""

from django.http import HttpRequest, HttpResponse

from clusters.access import Door, cluster_view
from console.errors import ConsoleError
from console.page import render_page
from console.roles import Action

MOST_NAMED = 12


@cluster_view(Action.RESTART_CLUSTER)
def homes(request: HttpRequest, door: Door) -> HttpResponse:
    """A fragment. Asks the cluster, for some seconds at most; that it does not answer is an answer, too."""
    context: dict[str, object] = {"door": door, "cluster": door.cluster}
    try:
        found = door.cluster.provisioner.homes()
    except ConsoleError as error:
        return render_page(request, "clusters/_homes.html", {**context, "error": error})
    more = {
        "homes": found[:MOST_NAMED],
        "count": len(found),
        "mib": sum(home.bytes for home in found) // 2**20,
    }
    return render_page(request, "clusters/_homes.html", {**context, **more})
