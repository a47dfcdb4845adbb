"""The dialog that turns enforcement on: the line of slurm.conf, its impact, and who would be shut out."""

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from clusters.access import Door, cluster_view
from clusters.impacts import preview
from clusters.lifecycle import Status, Step, refusal
from clusters.views.changes import change_url
from clusters.views.confirm import confirm
from clusters.views.start import start_of
from console.errors import Conflict
from console.page import opened_over
from console.roles import Action
from slurm.accounts.accounting import ledger_of
from slurm.accounts.enforcing import enforce, enforcing_of
from slurm.diff_view import stretches


@cluster_view(Action.CHANGE_CLUSTER)
def enforcement(request: HttpRequest, door: Door) -> HttpResponse:
    """Dialog and page; afterwards to the change. Blocks for two exchanges with the platform."""
    if why := refusal(Status(door.cluster.status), Step.CHANGE):
        raise Conflict(why, "Its page shows what it allows now.")
    wanted = enforcing_of(door.cluster, ledger_of(door.cluster))
    home = reverse("accounting", args=(door.cluster.team.slug, door.cluster.slug))
    context: dict[str, object] = {
        "door": door,
        "cluster": door.cluster,
        "shut_out": wanted.shut_out,
        "stretches": stretches(wanted.lines),
        "back": opened_over(request, home, home),
    }
    return confirm(
        request,
        "slurm/account_enforcement.html",
        context,
        lambda: enforce(door, wanted, start_at=start_of(request.POST)),
        change_url,
        impact=preview(door.cluster, wanted.act),
    )
