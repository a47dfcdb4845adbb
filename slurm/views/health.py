"""Platform staff's page of how the terminals are: counts that return to zero when nobody uses one."""

from django.http import HttpRequest, HttpResponse

from console.access import staff_view
from console.errors import Unavailable
from console.models import User
from console.page import render_page
from slurm.terminal.health import health


@staff_view
def terminals(request: HttpRequest, user: User) -> HttpResponse:
    try:
        context: dict[str, object] = {"health": health()}
    except Unavailable as error:
        context = {"error": error}
    return render_page(request, "slurm/terminal_health.html", context)
