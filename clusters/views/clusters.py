"""The team's clusters."""

from dataclasses import dataclass

from django.db.models import Q, Sum
from django.http import HttpRequest, HttpResponse

from clusters.lifecycle import Status
from clusters.models import Cluster
from clusters.nodes import Health
from clusters.views.frame import facts_of
from console.access import team_view, why_not
from console.models import Membership, Team
from console.page import render_page
from console.roles import Action, Role, may

OUT = (Health.DOWN, Health.UNKNOWN)


@dataclass(frozen=True)
class Row:
    cluster: Cluster
    facts: str
    gpus: int
    gpus_used: int
    nodes: int
    nodes_down: int
    waiting: int
    running: int


@team_view(Action.VIEW)
def clusters(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Terminated clusters stay listed until they are deleted."""
    rows = [_row(cluster) for cluster in _clusters(membership.team)]
    can_create = may(Role(membership.role), Action.CREATE_CLUSTER)
    return render_page(
        request,
        "clusters/list.html",
        {
            "team": membership.team,
            "rows": rows,
            "can_create": can_create,
            "why_not_create": why_not(membership, Action.CREATE_CLUSTER),
        },
    )


def _clusters(team: Team) -> list[Cluster]:
    shown = team.clusters.exclude(status=Status.DELETED).select_related("team", "region", "revision")
    return list(shown.order_by("slug"))


def _row(cluster: Cluster) -> Row:
    nodes = cluster.nodes.aggregate(total=Sum("gpus"), used=Sum("gpus_allocated"))
    jobs = cluster.jobs.filter(is_finished=False)
    is_running = Q(state__iexact="RUNNING")
    return Row(
        cluster=cluster,
        facts=facts_of(cluster),
        gpus=nodes["total"] or 0,
        gpus_used=nodes["used"] or 0,
        nodes=cluster.nodes.count(),
        nodes_down=cluster.nodes.filter(health__in=OUT).count(),
        waiting=jobs.exclude(is_running).count(),
        running=jobs.filter(is_running).count(),
    )
