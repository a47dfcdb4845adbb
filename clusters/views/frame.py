"""What stands around the pages of clusters: the rail's list, and a cluster's header, tabs and menu.

`cluster_frame` is what `clusters/cluster.html` asks for; a page that extends it gives `door` and the name of its tab.
Nothing here decides what is allowed: it asks the door and `clusters.lifecycle`, and passes their reasons on.
"""

from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.functional import SimpleLazyObject

from clusters.access import Door
from clusters.lifecycle import Status, Step, allows, refusal
from clusters.machine import ChangeStatus
from clusters.models import Change, Cluster
from clusters.opening import right_to_answer
from clusters.spec import CPU_GROUP, GPU_GROUP
from console.access import standing_in
from console.models import User
from console.roles import Action

WATCHED = frozenset({Status.CREATING, Status.RUNNING, Status.FAILED})
MOST_IN_RAIL = 8
# Label, route, rank. A phone has room for those of rank 1; the higher the rank, the wider the page on which a tab
# stands in the row itself rather than under "More" (css/tabs.css).
TABS = (
    ("Overview", "cluster", 1),
    ("Nodes", "nodes", 1),
    ("Partitions", "partitions", 2),
    ("Jobs", "jobs", 1),
    ("Slurm configuration", "slurm-conf", 3),
    ("Volumes", "cluster-volumes", 4),
    ("Users & keys", "logins", 4),
    ("Accounts", "accounting", 4),
    ("Terminal", "terminal", 2),
    ("Files", "files", 3),
    ("Changes", "changes", 2),
    ("People", "cluster-people", 4),
)
LOGIN_TABS = frozenset({"terminal", "files"})
# Label, icon, route, what it asks of the role and of the lifecycle. A route that does not exist is not offered.
# What follows a colon is the route's `part`.
MENU = (
    ("Scale", "arrows-diagonal", "scale", Action.CHANGE_CLUSTER, Step.CHANGE),
    ("Update image", "versions", "upgrade", Action.CHANGE_CLUSTER, Step.CHANGE),
    ("Reconfigure", "refresh", "reconfigure", Action.CHANGE_CLUSTER, Step.RECONFIGURE),
    ("Restart controller", "rotate-clockwise", "restart:controller", Action.RESTART_CLUSTER, Step.RESTART),
    ("Restart login node", "rotate-clockwise", "restart:login", Action.RESTART_CLUSTER, Step.RESTART),
    ("Restart workers", "rotate-clockwise", "restart:workers", Action.RESTART_CLUSTER, Step.RESTART),
    ("Clone", "copy", "cluster-new", Action.CREATE_CLUSTER, Step.CLONE),
    ("Terminate", "power", "terminate", Action.TERMINATE_CLUSTER, Step.TERMINATE),
    ("Delete", "trash", "delete", Action.DELETE_CLUSTER, Step.DELETE),
)


@dataclass(frozen=True)
class Tab:
    label: str
    name: str
    url: str
    count: int | None
    rank: int


@dataclass(frozen=True)
class Item:
    """An entry of the menu. `why_not` is a sentence when the person may not; then there is no link."""

    label: str
    icon: str
    name: str
    url: str
    why_not: str

    @property
    def is_ending(self) -> bool:
        return self.name in {"terminate", "delete"}

    @property
    def is_dialog(self) -> bool:
        return self.name != "cluster-new"


@dataclass(frozen=True)
class Frame:
    cluster: Cluster
    facts: str
    tabs: tuple[Tab, ...]
    menu: tuple[Item, ...]
    live_url: str
    tick_s: float
    age_s: float | None
    is_watched: bool
    live_change: Change | None
    scheduled_change: Change | None
    stuck_change: Change | None
    cancel_url: str
    has_terminal: bool
    terminal_why_not: str

    @property
    def scale(self) -> Item | None:
        return next((item for item in self.menu if item.name == "scale"), None)

    @property
    def terminal(self) -> Tab | None:
        return next((tab for tab in self.tabs if tab.name == "terminal" and self.has_terminal), None)


def cluster_frame(door: Door) -> Frame:
    """Six small queries, whatever the cluster's size."""
    cluster = door.cluster
    begun = cluster.changes.select_related("base", "revision").order_by("-number")
    newest = begun.exclude(status=ChangeStatus.SCHEDULED).first()
    live = newest if newest and newest.is_live else None
    return Frame(
        cluster=cluster,
        facts=facts_of(cluster),
        tabs=_tabs(door),
        menu=_menu(door),
        live_url=f"/ws/t/{cluster.team.slug}/c/{cluster.slug}/live",
        tick_s=settings.WATCH_TICK_S,
        age_s=_age_s(cluster),
        is_watched=cluster.status in WATCHED,
        live_change=live,
        scheduled_change=begun.filter(status=ChangeStatus.SCHEDULED).first(),
        stuck_change=newest if newest and newest.status == "stuck" else None,
        cancel_url=_cancel_url(door, live) if live and live.rests else "",
        has_terminal=cluster.status == Status.RUNNING and door.may(Action.TERMINAL),
        terminal_why_not=door.why_not(Action.TERMINAL) if cluster.status == Status.RUNNING else "",
    )


def _cancel_url(door: Door, change: Change) -> str:
    """Where the change is cancelled; empty when it cannot be, or not by this person."""
    if not change.can_be_cancelled or not door.may(right_to_answer(change)):
        return ""
    where = {"team": door.cluster.team.slug, "cluster": door.cluster.slug, "number": change.number}
    return reverse("change-cancellation", kwargs=where)


def facts_of(cluster: Cluster) -> str:
    """`Slurm 24.11 · 4 × 8 H200 · local`, as far as it is known."""
    spec = cluster.spec
    gpus = spec.group(GPU_GROUP)
    cpus = spec.group(CPU_GROUP)
    parts = [f"Slurm {spec.slurm_version}"]
    if gpus and gpus.ordinals:
        parts.append(f"{len(gpus.ordinals)} × {gpus.shape.gpus} {gpus.shape.gpu_model or 'GPUs'}")
    if cpus and cpus.ordinals:
        parts.append(f"{len(cpus.ordinals)} CPU workers" if len(cpus.ordinals) > 1 else "1 CPU worker")
    return " · ".join([*parts, cluster.region.slug])


def _age_s(cluster: Cluster) -> float | None:
    if cluster.observed_at is None:
        return None
    return max(timezone.now() - cluster.observed_at, timedelta()).total_seconds()


def _tabs(door: Door) -> tuple[Tab, ...]:
    """Those of the login node only for who may open a terminal; every other part may be looked at by all."""
    cluster = door.cluster
    where = {"team": cluster.team.slug, "cluster": cluster.slug}
    counts = {
        "nodes": cluster.nodes.count(),
        "partitions": cluster.observed_partitions.count(),
        # `jobs` is what slurm.models.Job calls its way back; clusters does not import slurm.
        "jobs": cluster.jobs.filter(is_finished=False).count(),
        "cluster-volumes": len(cluster.spec.mounts),
        "changes": cluster.changes.count(),
    }
    return tuple(
        Tab(label, name, url, counts.get(name), rank)
        for label, name, rank in TABS
        if (name not in LOGIN_TABS or door.may(Action.TERMINAL)) and (url := _url(name, **where))
    )


def _menu(door: Door) -> tuple[Item, ...]:
    cluster = door.cluster
    where = {"team": cluster.team.slug, "cluster": cluster.slug}
    items = []
    for label, icon, route, action, step in MENU:
        name, _, part = route.partition(":")
        if name == "cluster-new":
            url = f"{_url(name, team=cluster.team.slug)}?from={cluster.slug}"
        else:
            url = _url(name, **where, **({"part": part} if part else {}))
        if url and allows(Status(cluster.status), step):
            items.append(Item(label, icon, name, url, why_not(door, action, step)))
    return tuple(items)


def why_not(door: Door, action: Action, step: Step) -> str:
    """One sentence saying why this person may not do this now; empty when they may."""
    status = Status(door.cluster.status)
    if not allows(status, step):
        return refusal(status, step)
    return door.why_not(action)


def _url(name: str, **where: str) -> str:
    try:
        return reverse(name, kwargs=where)
    except NoReverseMatch:
        return ""


@dataclass(frozen=True)
class Rail:
    """The team's clusters, the one that the page is about, and the entry that is lit."""

    clusters: list[Cluster]
    count: int
    inside: Cluster | None
    at: str


def rail(request: HttpRequest) -> dict[str, object]:
    """Context processor. Lazy: fragments that show no rail cost no query."""
    return {"rail": SimpleLazyObject(lambda: _rail(request))}


def _rail(request: HttpRequest) -> Rail:
    match = request.resolver_match
    if not match or not isinstance(request.user, User):
        return Rail([], 0, None, "")
    slug = match.kwargs.get("team")
    standing = standing_in(slug, request.user) if slug else None
    if standing is None:
        return Rail([], 0, None, match.url_name or "")
    of_team = Cluster.objects.filter(team=standing.team).exclude(status=Status.DELETED)
    clusters = list(of_team.order_by("slug"))
    inside = next((cluster for cluster in clusters if cluster.slug == match.kwargs.get("cluster")), None)
    shown = clusters[:MOST_IN_RAIL]
    if inside and inside not in shown:
        shown[-1] = inside
    return Rail(shown, len(clusters), inside, match.url_name or "")
