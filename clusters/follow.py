"""Clusters follow their people: keys of profiles, roles that ended and accounts that were closed reach the login nodes.

Each is a change like any other, which nobody asked for: it stands in the cluster's log and is undone if it fails. Asked
every few seconds, and at once when a person changed something themselves; whoever asks twice finds nothing to do.
"""

import logging
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from clusters.changes import propose_unasked
from clusters.lifecycle import Status
from clusters.locks import locked
from clusters.login_people import logins_now
from clusters.machine import LIVE, ChangeStatus
from clusters.models import Change, Cluster
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
    """None where nothing differs, or another change is on its way: the next question finds the same."""
    with transaction.atomic():
        cluster = locked(cluster.pk)
        if cluster.status != Status.RUNNING or cluster.revision is None or _is_taken(cluster):
            return None
        before = cluster.spec
        after = before.with_logins(logins_now(cluster, before.logins))
        return propose_unasked(cluster, after) if after != before else None


def _is_taken(cluster: Cluster) -> bool:
    """Whether a change is live, or one of this sort has just failed."""
    live = cluster.changes.filter(status__in=LIVE).exists()
    own = cluster.changes.filter(by=None, ended_at__gt=timezone.now() - REST)
    return live or own.exclude(status=ChangeStatus.COMMITTED).exists()
