"""The nodes of a cluster, one of them, and those of all the team's clusters."""

from itertools import groupby

from django.core.paginator import Paginator
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse

from clusters.access import Door, cluster_view
from clusters.lifecycle import Status, Step
from clusters.models import Cluster, Node
from clusters.nodes import Health
from clusters.views.frame import why_not
from console.access import team_view
from console.errors import Missing
from console.models import Event, Membership
from console.page import render_page
from console.roles import Action
from slurm.node_query import order, parse_query
from slurm.occupancy import jobs_by_node, with_cells, with_jobs

PAGE_SIZE = 100
CHIPS = (
    ("All", ""),
    ("Idle", "state:ok"),
    ("In use", "state:busy"),
    ("Draining", "state:draining"),
    ("Down", "state:down"),
)


@cluster_view(Action.VIEW)
def nodes(request: HttpRequest, door: Door) -> HttpResponse:
    """`?q=` filters, `?sort=` sorts, 100 a page; all done by the database."""
    text = request.GET.get("q", "").strip()
    query = parse_query(text)
    listed = door.cluster.nodes.filter(query.where).order_by(*order(request.GET.get("sort", "")))
    page = Paginator(listed, PAGE_SIZE).get_page(request.GET.get("page"))
    return render_page(
        request,
        "slurm/nodes.html",
        {
            "door": door,
            "cluster": door.cluster,
            "tab": "nodes",
            "page": page,
            "rows": with_jobs(page.object_list, jobs_by_node(door.cluster)),
            "q": text,
            "query_problem": query.problem,
            "chips": _chips(door.cluster.nodes.all(), text),
            "operate_why_not": why_not(door, Action.OPERATE_NODE, Step.OPERATE),
        },
    )


def _chips(nodes: QuerySet[Node], text: str) -> list[dict[str, object]]:
    health = {f"state:{h.value}": Count("pk", filter=Q(health=h)) for h in Health}
    counts = nodes.aggregate(all=Count("pk"), **{key.replace(":", "_"): c for key, c in health.items()})
    return [
        {
            "label": label,
            "query": query,
            "count": counts[query.replace(":", "_") or "all"],
            "is_on": text == query,
        }
        for label, query in CHIPS
    ]


@team_view(Action.VIEW)
def team_nodes(request: HttpRequest, membership: Membership) -> HttpResponse:
    """The nodes of all the team's clusters, to look through; what is done to them is done in their cluster."""
    text = request.GET.get("q", "").strip()
    query = parse_query(text)
    of_team = Node.objects.filter(cluster__team=membership.team).exclude(cluster__status=Status.DELETED)
    listed = of_team.filter(query.where).select_related("cluster__team")
    listed = listed.order_by("cluster__slug", *order(request.GET.get("sort", "")))
    page = Paginator(listed, PAGE_SIZE).get_page(request.GET.get("page"))
    rows: list[Node] = []
    for cluster, members in groupby(page.object_list, key=lambda found: found.cluster):
        rows += with_jobs(members, jobs_by_node(cluster))
    return render_page(
        request,
        "slurm/team_nodes.html",
        {
            "team": membership.team,
            "page": page,
            "rows": rows,
            "q": text,
            "query_problem": query.problem,
            "chips": _chips(of_team, text),
        },
    )


@cluster_view(Action.VIEW)
def node(request: HttpRequest, door: Door, name: str) -> HttpResponse:
    found = door.cluster.nodes.filter(name=name).first()
    if found is None:
        raise Missing(
            f"{door.cluster.slug} has no node {name}.",
            "It may have been scaled away; the Nodes tab lists those that are there.",
        )
    jobs = jobs_by_node(door.cluster)
    return render_page(
        request,
        "slurm/node.html",
        {
            "door": door,
            "cluster": door.cluster,
            "tab": "nodes",
            "node": with_cells([found], jobs)[0],
            "jobs": jobs.get(name, ()),
            "events": _events(door.cluster, name),
            "operate_why_not": why_not(door, Action.OPERATE_NODE, Step.OPERATE),
        },
    )


def _events(cluster: Cluster, name: str) -> list[Event]:
    """What was done to the node from here, newest first."""
    of_cluster = Event.objects.filter(team=cluster.team, cluster=cluster.slug, target__contains=name)
    return [event for event in of_cluster[:40] if name in event.target.replace(",", " ").split()][:10]
