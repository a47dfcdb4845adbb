"""Which clusters hold which volumes: read from their specs, where mounts are.

A volume is attached while a cluster that may run mounts it, in its current revision or in one that a live change
brings or would go back to. A terminated cluster holds nothing: it does not start again.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from clusters.lifecycle import Status
from clusters.machine import LIVE, ChangeStatus
from clusters.models import Change, Cluster, Revision
from clusters.spec import Mount
from console.models import Team

LET_GO = frozenset({Status.TERMINATED, Status.DELETED})
# A change that waits for its time is as good as on its way.
HOLDING = LIVE | {ChangeStatus.SCHEDULED}


@dataclass(frozen=True)
class Attachment:
    """`is_settled` is False while only a change on its way says so."""

    cluster: Cluster
    mount: Mount
    is_settled: bool


def attachments_of(team: Team) -> dict[str, list[Attachment]]:
    """By the volumes' keys. Two queries, whatever the number of volumes."""
    clusters = team.clusters.exclude(status__in=LET_GO).select_related("revision").order_by("slug")
    found: dict[str, list[Attachment]] = {}
    moving = _moving(clusters)
    for cluster in clusters:
        settled = {mount.volume: mount for mount in _mounts(cluster.revision)}
        coming = {
            mount.volume: mount for revision in moving.get(cluster.pk, ()) for mount in _mounts(revision)
        }
        for volume, mount in {**coming, **settled}.items():
            found.setdefault(volume, []).append(Attachment(cluster, mount, volume in settled))
    return found


def _moving(clusters: Iterable[Cluster]) -> dict[int, list[Revision]]:
    """The revisions that live changes, and creations that failed, are about."""
    moving: dict[int, list[Revision]] = {}
    live = Change.objects.filter(
        cluster__in=[c.pk for c in clusters], status__in=HOLDING, revision__isnull=False
    )
    for change in live.select_related("revision"):
        if change.revision:
            moving.setdefault(change.cluster_id, []).append(change.revision)
    for cluster in clusters:
        if cluster.revision is None and (newest := cluster.revisions.first()):
            moving.setdefault(cluster.pk, []).append(newest)
    return moving


def _mounts(revision: Revision | None) -> tuple[Mount, ...]:
    return revision.parsed.mounts if revision else ()
