"""A cluster's first page: what is in use, by whom, and what needs a look. Rows only: nothing here calls the cluster."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from django.db.models import Count, Min, Q, Sum
from django.http import HttpRequest, HttpResponse

from clusters.access import Door, cluster_view
from clusters.identities import NoLogin
from clusters.models import Cluster, Node
from clusters.nodes import Health
from clusters.views.parts import steps_of
from console.errors import ConsoleError
from console.page import render_page
from console.roles import Action
from slurm.attention import looks_of
from slurm.models import Job
from slurm.occupancy import jobs_by_node, with_cells
from slurm.terminal.opening import login_name

MOST_ROWS = 64


@dataclass(frozen=True)
class Numbers:
    """What the four figures show. `running` and `waiting` count records: an array that waits is one."""

    gpus: int
    gpus_used: int
    gpus_out: int
    nodes: int
    ready: int
    draining: int
    down: int
    gpu_nodes: int
    running: int
    waiting: int
    cpus: int
    cpus_used: int
    oldest: Job | None


@cluster_view(Action.VIEW)
def overview(request: HttpRequest, door: Door) -> HttpResponse:
    cluster = door.cluster
    jobs = jobs_by_node(cluster)
    return render_page(
        request,
        "clusters/overview.html",
        {
            "door": door,
            "cluster": cluster,
            "tab": "cluster",
            "numbers": _numbers(cluster),
            "rows": _rows(cluster, jobs),
            "hidden_rows": max(0, cluster.nodes.filter(gpus__gt=0).count() - MOST_ROWS),
            **_login(door),
            "change": cluster.changes.select_related("by").prefetch_related("lines").first(),
            "looks": looks_of(cluster),
            "steps": steps_of(cluster),
        },
    )


def _rows(cluster: Cluster, jobs: Mapping[str, Sequence[Job]]) -> list[Node]:
    with_gpus = cluster.nodes.filter(gpus__gt=0).order_by("group", "ordinal")[:MOST_ROWS]
    return with_cells(with_gpus, jobs)


def _login(door: Door) -> dict[str, object]:
    """Where to sign in and as whom, when the login node is up, or why the person cannot."""
    try:
        endpoint, name = door.cluster.provisioner.login(), login_name(door)
    except NoLogin as error:
        return {"login": None, "no_login": f"{error.message} {error.hint}"}
    except ConsoleError:
        return {"login": None}
    return {"login": replace(endpoint, user=name) if name else endpoint}


def _numbers(cluster: Cluster) -> Numbers:
    def of(*health: Health) -> Q:
        return Q(health__in=health)

    out = (Health.DRAINING, Health.DOWN, Health.UNKNOWN)
    # Names of columns may not be reused as names of sums, hence the prefix.
    sums = {
        "gpus": Sum("gpus"),
        "gpus_used": Sum("gpus_allocated"),
        "gpus_out": Sum("gpus", filter=of(*out)),
        "used_out": Sum("gpus_allocated", filter=of(*out)),
        "cpus": Sum("cpus"),
        "cpus_used": Sum("cpus_allocated"),
        "nodes": Count("pk"),
        "ready": Count("pk", filter=of(Health.OK, Health.BUSY)),
        "draining": Count("pk", filter=of(Health.DRAINING)),
        "down": Count("pk", filter=of(Health.DOWN, Health.UNKNOWN)),
        "gpu_nodes": Count("pk", filter=Q(gpus__gt=0)),
    }
    found = cluster.nodes.aggregate(**{f"n_{name}": total for name, total in sums.items()})
    count = {name: found[f"n_{name}"] or 0 for name in sums}
    count["gpus_out"] -= count.pop("used_out")
    queue = cluster.jobs.filter(is_finished=False)
    waits = Q(state__iexact="PENDING")
    oldest = queue.filter(waits).aggregate(at=Min("submit_at"))["at"]
    return Numbers(
        **count,
        running=queue.exclude(waits).count(),
        waiting=queue.filter(waits).count(),
        oldest=queue.filter(waits, submit_at=oldest).first() if oldest else None,
    )
