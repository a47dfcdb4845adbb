"""The recorder for jobs: the only writer of Job rows, together with `slurm.history`, which it asks for.

Called by `clusters.watch` with each observation, inside the tick's transaction. Ended jobs stay as history. A job that
left the queue without a final state (the watcher was away for longer than MinJobAge) becomes UNKNOWN and accounting is
asked for it after the commit, in a worker, since no command is run in a transaction.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models.functions import Coalesce
from django.utils import timezone

from clusters.models import Cluster
from clusters.observation import Observation
from clusters.watch import Shown
from console import live
from slurm import rows
from slurm.models import Job
from slurm.reasons import survey
from slurm.tasks import settle_jobs

MOST_FRAGMENTS = 200
KEEP = timedelta(days=30)
KEEP_ROWS = 50_000
PRUNE_EVERY = timedelta(minutes=10)
_pruned_at: dict[int, datetime] = {}


def record(cluster: Cluster, seen: Observation) -> Shown | None:
    """Write the jobs that differ. A queue that could not be read changes nothing."""
    if seen.jobs is None:
        return None
    _prune_now_and_then(cluster)
    memory = rows.memory_of(cluster, seen.jobs)
    if seen.jobs is memory.jobs and seen.nodes is memory.nodes:
        return None
    difference, after = rows.compare(memory, seen.jobs, survey(seen.nodes or (), seen.partitions or ()))
    changed = rows.write(cluster, difference) if difference else []
    rows.remember(cluster, replace(after, jobs=seen.jobs, nodes=seen.nodes))
    if difference.ended:
        transaction.on_commit(lambda: settle_jobs.delay(cluster.pk), robust=True)
    return _shown(changed, difference) if difference else None


def _shown(changed: list[Job], difference: rows.Difference) -> Shown:
    """Changed rows by themselves; where rows came or went, or very many changed, the page fetches its list again."""
    came_or_went = difference.added or difference.ended or difference.finished or difference.split
    if len(difference.changed) > MOST_FRAGMENTS:
        return Shown(refresh=("jobs",))
    fragments = tuple(live.fragment("slurm/_job_row.html", f"job-{job.pk}", job=job) for job in changed)
    return Shown(fragments, ("jobs",) if came_or_went else ())


def _prune_now_and_then(cluster: Cluster) -> None:
    now = timezone.now()
    if now - _pruned_at.get(cluster.pk, now - PRUNE_EVERY) >= PRUNE_EVERY:
        prune(cluster, now)
        _pruned_at[cluster.pk] = now


def prune(cluster: Cluster, now: datetime, *, keep_rows: int = KEEP_ROWS) -> int:
    """Delete ended jobs that are older than 30 days or beyond the newest 50,000; how many went."""
    ended = Job.objects.filter(cluster=cluster, is_finished=True).annotate(at=Coalesce("end_at", "submit_at"))
    last_kept = ended.order_by("-at").values_list("at", flat=True)[keep_rows - 1 : keep_rows].first()
    oldest = max(now - KEEP, last_kept) if last_kept else now - KEEP
    return ended.filter(at__lt=oldest).delete()[0]
