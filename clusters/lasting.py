"""How long operations take: from the order until the parts that it starts anew are up again.

Changes keep their own times (`Change.begun_at`). An operation is one call that returns before anything has come back,
so its end is found by the watcher, in what the parts say of themselves. Only those count that begin at once: one that
waits for jobs says nothing about the next.
"""

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from django.utils import timezone

from clusters.models import Cluster, Operation
from clusters.observation import Part, PartState

# One that has not ended by then never will: its node is gone, or the cluster has ended.
LONGEST = timedelta(hours=1)
KEPT = 50


def begin(cluster: Cluster, sort: str, targets: Collection[str], *, at: datetime) -> None:
    """Ordered `at` a moment. `targets` are names of parts, or their kinds where all of one are meant."""
    cluster.operations.create(sort=sort, targets=sorted(targets), begun_at=at)


def finish(cluster: Cluster, parts: Iterable[Part]) -> None:
    """Write down which operations have ended by now. One query while there are none; for the watcher, when a part has
    changed."""
    parts = tuple(parts)
    for operation in cluster.operations.filter(ended_at=None):
        if ended_at := _end(operation, parts):
            operation.ended_at = ended_at
            operation.save(update_fields=["ended_at"])
            _forget_old(cluster, operation.sort)
        elif timezone.now() - operation.begun_at > LONGEST:
            operation.delete()


def _end(operation: Operation, parts: Iterable[Part]) -> datetime | None:
    """When the last of its parts came up; None while one of them has not."""
    mine = [part for part in parts if part.kind in operation.targets or part.name in operation.targets]
    moments = [part.since for part in mine if part.state is PartState.UP and part.since]
    if not mine or len(moments) < len(mine) or min(moments) < operation.begun_at:
        return None
    return max(moments)


def _forget_old(cluster: Cluster, sort: str) -> None:
    done = cluster.operations.filter(sort=sort).order_by("-begun_at")
    cluster.operations.filter(pk__in=list(done.values_list("pk", flat=True)[KEPT:])).delete()
