"""Clusters follow their people: keys of profiles, roles that ended and accounts that were closed reach the login nodes.

Each is a change like any other, which nobody asked for: it stands in the cluster's log and is undone if it fails. Asked
every few seconds, and at once when a person changed something themselves; whoever asks twice finds nothing to do.
"""

import logging
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from clusters.along import take_along, with_people
from clusters.changes import propose_unasked
from clusters.lifecycle import Status
from clusters.locks import locked
from clusters.login_people import logins_now
from clusters.machine import LIVE, ChangeStatus
from clusters.models import Change, Cluster
from clusters.spec import ClusterSpec
from console.errors import ConsoleError

log = logging.getLogger(__name__)
# After a change of this sort has failed.
REST = timedelta(minutes=5)


def follow_all() -> None:
    """Every cluster that runs and has login users."""
    rows = Cluster.objects.filter(status=Status.RUNNING, revision__spec__logins__on=True)
    for cluster in rows.select_related("team", "region", "revision"):
        if logins_now(cluster, cluster.spec.logins) != cluster.spec.logins:
            try:
                follow(cluster)
            except ConsoleError as error:
                # One that cannot follow holds up no other: keys that were taken back have to go from all of them.
                log.error("%s does not follow its people: %s", cluster.key, error)


def follow(cluster: Cluster) -> Change | None:
    """None where nothing differs, or another change is on its way and does not wait: the next question finds the same.
    One that waits takes it along."""
    with transaction.atomic():
        cluster = locked(cluster.pk)
        if cluster.status != Status.RUNNING or cluster.revision is None or _has_just_failed(cluster):
            return None
        before = cluster.spec
        after = before.with_logins(logins_now(cluster, before.logins))
        return _ask(cluster, after) if after != before else None


def follow_up() -> None:
    """What a change was to take along and ended without is asked for by itself."""
    left = Change.objects.filter(takes_along=True).exclude(status__in=LIVE)
    for change in left.select_related("base"):
        try:
            _follow_up(change)
        except ConsoleError as error:
            log.error("what %s did not take along is not asked for: %s", change, error)


def _follow_up(change: Change) -> None:
    with transaction.atomic():
        cluster = locked(change.cluster_id)
        if cluster.changes.filter(status__in=LIVE).exists():
            return
        is_mine = Change.objects.filter(pk=change.pk, takes_along=True).update(takes_along=False)
        if not is_mine or cluster.status != Status.RUNNING or change.base is None:
            return
        after = with_people(cluster.spec, change.base.parsed)
        if after != cluster.spec:
            propose_unasked(cluster, after)


def _ask(cluster: Cluster, after: ClusterSpec) -> Change | None:
    if cluster.changes.filter(status__in=LIVE).exists():
        return take_along(cluster, after, by=None)
    return propose_unasked(cluster, after)


def _has_just_failed(cluster: Cluster) -> bool:
    own = cluster.changes.filter(by=None, ended_at__gt=timezone.now() - REST)
    return own.exclude(status=ChangeStatus.COMMITTED).exists()
