"""Looking at one cluster: observe it, start again what should run, write what differs, show it.

Called by the watcher process (`clusters.watcher`) and, for the last look at an ended cluster, by
`clusters.endings`. `record` is the first of `settings.RECORDERS`; each app above adds its own, so that the
imports go down only.
"""

import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import timedelta
from functools import cache

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.module_loading import import_string

from clusters import lasting
from clusters.lifecycle import Status
from clusters.machine import LIVE, ChangeStatus, Kind
from clusters.models import Cluster, Node, Partition
from clusters.nodes import Health
from clusters.observation import Observation, Part, PartState
from clusters.provisioner import Provisioner
from clusters.rows import Written, forget, write_nodes, write_partitions
from clusters.show import overview
from console import events, live
from console.errors import ConsoleError

WATCHED = (Status.CREATING, Status.RUNNING, Status.FAILED, Status.TERMINATING)
HOLD_S = 15.0
MOST_FRAGMENTS = 200
MOST_EVENTS = 20
log = logging.getLogger(__name__)


class NotOurs(Exception):
    """The cluster is held by another watcher now, or is no longer watched. Nothing was written."""


@dataclass(frozen=True)
class Shown:
    """What open pages should get after a look: fragments, and names of regions that fetch themselves again."""

    fragments: tuple[live.Fragment, ...] = ()
    refresh: tuple[str, ...] = ()


Recorder = Callable[[Cluster, Observation], Shown | None]


def watch_once(cluster: Cluster, provisioner: Provisioner | None = None) -> Observation:
    """One look at a cluster held under its `watch_token`. Blocks for as long as the platform takes to answer.

    Raises NotOurs, and whatever the database raises; a sick cluster is an answer, not an error.
    """
    provisioner = provisioner or cluster.provisioner
    seen = provisioner.observe()
    revived = _revive(cluster, provisioner, seen)
    hand_over(cluster, seen, token=cluster.watch_token)
    for sentence in revived:
        events.record("part.revived", by=None, team=cluster.team, cluster=cluster.slug, target=sentence)
    return seen


def hand_over(cluster: Cluster, seen: Observation, *, token: str | None = None) -> None:
    """Give the observation to every recorder in one transaction, and on commit send one message to the pages.

    With a `token` the cluster must still be held under it. Raises NotOurs.
    """
    try:
        with transaction.atomic():
            _mark(cluster, seen, token)
            shown = [found for recorder in recorders() if (found := recorder(cluster, seen)) is not None]
            live.publish(
                live.cluster_topic(cluster.key),
                [fragment for found in shown for fragment in found.fragments],
                refresh=sorted({name for found in shown for name in found.refresh}),
                at=cluster.observed_at and cluster.observed_at.isoformat(),
                problem=seen.problem,
            )
    except BaseException:
        forget(cluster)
        raise


@cache
def recorders() -> tuple[Recorder, ...]:
    return tuple(import_string(path) for path in settings.RECORDERS)


def record(cluster: Cluster, seen: Observation) -> Shown:
    """Nodes, partitions and parts. What could not be read stays as it was last seen."""
    nodes = write_nodes(cluster, seen.nodes) if seen.nodes is not None else Written[Node]()
    partitions = (
        write_partitions(cluster, seen.partitions) if seen.partitions is not None else Written[Partition]()
    )
    parts_changed = _write_parts(cluster, seen)
    if parts_changed:
        lasting.finish(cluster, seen.parts)
    _record_health(cluster, nodes)
    fragments, refresh = _shown_nodes(cluster, nodes)
    if nodes or partitions or parts_changed:
        fragments += [overview(cluster)]
        refresh += ["cluster"]
    return Shown(tuple(fragments), (*refresh, *(["partitions"] if partitions else [])))


def _write_parts(cluster: Cluster, seen: Observation) -> bool:
    parts = [_part(part) for part in seen.parts]
    if parts == cluster.parts or (seen.problem and not parts):
        return False
    cluster.parts = parts
    cluster.save(update_fields=["parts"])
    return True


def _mark(cluster: Cluster, seen: Observation, token: str | None) -> None:
    """The tick's one certain write: when we looked, how long we hold the cluster, and its own facts that
    differ."""
    fields: dict[str, object] = {"tried_at": seen.taken_at, "observed_problem": seen.problem}
    if _is_fresh(cluster, seen):
        fields["observed_at"] = seen.taken_at
    if seen.drift is not None and seen.drift != cluster.observed_drift:
        fields["observed_drift"] = seen.drift
    rows = Cluster.objects.filter(pk=cluster.pk)
    if token is not None:
        rows = rows.filter(watch_token=token, status__in=WATCHED)
        fields["watch_until"] = timezone.now() + timedelta(seconds=HOLD_S)
    if not rows.update(**fields):
        raise NotOurs(str(cluster))
    for name, value in fields.items():
        setattr(cluster, name, value)


def _is_fresh(cluster: Cluster, seen: Observation) -> bool:
    """A cluster that is being created has no nodes to read yet: its parts are the whole answer."""
    return not seen.problem or (cluster.status == Status.CREATING and bool(seen.parts))


def _part(part: Part) -> dict[str, object]:
    return {**asdict(part), "state": part.state.value, "since": part.since and part.since.isoformat()}


def _revive(cluster: Cluster, provisioner: Provisioner, seen: Observation) -> tuple[str, ...]:
    is_whole = bool(seen.parts) and all(part.state is PartState.UP for part in seen.parts)
    if is_whole and not seen.unfinished and not _came_back(cluster, seen):
        return ()
    if not _should_run(cluster):
        return ()
    try:
        return provisioner.revive()
    except ConsoleError as error:
        log.warning("not revived: cluster %s: %s", cluster, error.message)
        return ()


def _came_back(cluster: Cluster, seen: Observation) -> bool:
    """Whether a part ended and was started again since the last look, too quickly to be seen down."""
    before = {part.get("name"): part.get("restarts", 0) for part in cluster.parts}
    return any(part.restarts > before.get(part.name, part.restarts) for part in seen.parts)


def _should_run(cluster: Cluster) -> bool:
    """Running, and no worker is changing it right now; or Creating with everything already applied. A restart changes
    nothing that would come in the way, and its nodes come back by this."""
    change = cluster.changes.filter(status__in=LIVE).first()
    if cluster.status == Status.CREATING:
        return change is not None and (change.kind, change.status) == (Kind.CREATE, ChangeStatus.OBSERVING)
    is_free = change is None or change.rests or change.kind == Kind.RESTART
    return cluster.status == Status.RUNNING and is_free


def _record_health(cluster: Cluster, nodes: Written[Node]) -> None:
    """One event for each node that went down or came back, or one for them all when they are many."""
    flips = [
        (node, "node.down" if node.health == Health.DOWN else "node.up")
        for node, before in zip(nodes.changed, nodes.before, strict=True)
        if before and (node.health == Health.DOWN) != (before["health"] == Health.DOWN)
    ]
    for node, verb in flips[:MOST_EVENTS]:
        _event(cluster, verb, str(node), {"state": node.state, "reason": node.reason})
    if len(flips) > MOST_EVENTS:
        _event(cluster, "nodes.changed", f"and {len(flips) - MOST_EVENTS} more nodes", {})


def _event(cluster: Cluster, verb: str, target: str, detail: dict[str, object]) -> None:
    events.record(verb, by=None, team=cluster.team, cluster=cluster.slug, target=target, detail=detail)


def _shown_nodes(cluster: Cluster, nodes: Written[Node]) -> tuple[list[live.Fragment], list[str]]:
    """Rows that changed, or, where rows came or went or nearly all changed, that the page should fetch them
    all."""
    if nodes.added or nodes.removed or len(nodes.changed) > MOST_FRAGMENTS:
        return [], ["nodes"]
    return [fragment for node in nodes.changed for fragment in _node_fragments(cluster, node)], []


def _node_fragments(cluster: Cluster, node: Node) -> list[live.Fragment]:
    row = live.fragment("clusters/_node_row.html", f"node-{node.pk}", node=node, cluster=cluster)
    if not node.gpus:
        return [row]
    return [row, live.fragment("clusters/_gpu_row.html", f"gpus-{node.pk}", node=node, cluster=cluster)]
