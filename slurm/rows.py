"""Jobs as seen, turned into rows: only those that differ are written.

Called by `slurm.watch` only. What the table holds is remembered in the process that watches the cluster, under its
watch token, so that an unchanged look costs no query. The memory is renewed when the transaction has committed, and
not before, so a look that was rolled back is simply made again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from clusters.models import Cluster
from clusters.observation import JobSeen, NodeSeen
from slurm.jobs.ids import key_of, number, waits_in
from slurm.models import Job
from slurm.reasons import Survey, explain, looks_at_nodes
from slurm.states import UNKNOWN, is_finished

Key = tuple[str, datetime]
Values = tuple[object, ...]
FIELDS = (
    "number",
    "job_id",
    "array_number",
    "task_count",
    "name",
    "user",
    "account",
    "partition",
    "qos",
    "state",
    "is_finished",
    "reason",
    "why",
    "priority",
    "nodes",
    "node_count",
    "cpus",
    "gpus",
    "memory_mib",
    "limit_s",
    "start_at",
    "end_at",
    "dependency",
    "comment",
    "work_dir",
    "exit_code",
)
_FINISHED = FIELDS.index("is_finished")
_JOB_ID = FIELDS.index("job_id")
_BATCH = 2000
# Beyond this rows go by COPY, five times cheaper than INSERTs, and come back without their pks.
MANY = 1000


@dataclass(frozen=True)
class Memory:
    """The last look that was committed. `seen` and `held` have the keys of the queue at that look."""

    token: str
    jobs: tuple[JobSeen, ...] | None = None
    nodes: tuple[NodeSeen, ...] | None = None
    seen: Mapping[Key, JobSeen] = field(default_factory=dict)
    held: Mapping[Key, Values] = field(default_factory=dict)


@dataclass(frozen=True)
class Difference:
    """What a look changed: rows to write, rows that left, rows that got another submit time by being requeued.

    `ended` are those that left without a last word; `finished` counts those among `changed` whose last word was seen.
    """

    changed: Mapping[Key, Values]
    added: int
    moved: Mapping[Key, Key]
    ended: tuple[Key, ...]
    split: tuple[Key, ...]
    finished: int = 0

    def __bool__(self) -> bool:
        return bool(self.changed or self.moved or self.ended or self.split)


_memories: dict[int, Memory] = {}


def memory_of(cluster: Cluster, jobs: Sequence[JobSeen]) -> Memory:
    """What the table holds of the jobs that wait, run or are in this queue. Without a token it is read every time."""
    memory = _memories.get(cluster.pk)
    if memory is not None and memory.token and memory.token == cluster.watch_token:
        return memory
    return Memory(cluster.watch_token, held=_load(cluster, jobs))


def remember(cluster: Cluster, memory: Memory) -> None:
    """From the commit on; a token-less look is never remembered."""
    if memory.token:
        transaction.on_commit(lambda: _memories.__setitem__(cluster.pk, memory))


def forget(cluster: Cluster) -> None:
    """The rows may no longer hold what is remembered."""
    _memories.pop(cluster.pk, None)


def _load(cluster: Cluster, jobs: Sequence[JobSeen]) -> dict[Key, Values]:
    oldest = min((job.submit_at for job in jobs if is_finished(job.state)), default=None)
    wanted = Q(is_finished=False)
    if oldest is not None:
        wanted |= Q(submit_at__gte=oldest)
    rows = Job.objects.filter(wanted, cluster=cluster).values_list("key", "submit_at", *FIELDS)
    return {(key, submit_at): tuple(values) for key, submit_at, *values in rows.iterator(chunk_size=_BATCH)}


def compare(memory: Memory, jobs: Sequence[JobSeen], survey: Survey) -> tuple[Difference, Memory]:
    """What differs, and the memory to keep once it is written. Touches no database."""
    seen = {(key_of(job.job_id), job.submit_at): job for job in jobs}
    held: dict[Key, Values] = {}
    changed: dict[Key, Values] = {}
    for key, job in seen.items():
        before = memory.held.get(key)
        if before is not None and memory.seen.get(key) is job and not looks_at_nodes(job):
            held[key] = before
            continue
        held[key] = values = values_of(job, explain(job, survey))
        if values != before:
            changed[key] = values
    gone = [key for key, values in memory.held.items() if key not in seen and not values[_FINISHED]]
    difference = _sort_out(gone, changed, memory.held)
    return difference, Memory(memory.token, seen=seen, held=held)


def _sort_out(gone: Iterable[Key], changed: Mapping[Key, Values], held: Mapping[Key, Values]) -> Difference:
    """A job that left unfinished was requeued (it is there again, submitted later, or waits with its array's rest),
    was the waiting part of an array (all of its tasks have rows of their own now), or ended while nobody looked."""
    new = {key[0]: key for key in changed if key not in held}
    arrays = {key[0]: str(values[_JOB_ID]) for key, values in changed.items() if key[0].endswith("[]")}
    moved: dict[Key, Key] = {}
    ended: list[Key] = []
    split: list[Key] = []
    for key in gone:
        later = new.get(key[0])
        if later is not None and later[1] > key[1]:
            moved[key] = later
        elif key[0].endswith("[]") or waits_in(key[0], arrays.get(f"{key[0].partition('_')[0]}_[]", "")):
            split.append(key)
        else:
            ended.append(key)
    finished = sum(
        bool(values[_FINISHED]) and key in held and not held[key][_FINISHED]
        for key, values in changed.items()
    )
    return Difference(changed, len(new) - len(moved), moved, tuple(ended), tuple(split), finished)


def write(cluster: Cluster, difference: Difference) -> list[Job]:
    """Perform it, inside a transaction. The rows that changed or came, with their pks; none when they are many."""
    jobs = Job.objects.filter(cluster=cluster)
    for (key, submit_at), (_, later) in difference.moved.items():
        jobs.filter(key=key, submit_at=submit_at).update(submit_at=later)
    for key, submit_at in difference.split:
        jobs.filter(key=key, submit_at=submit_at).delete()
    for start in range(0, len(difference.ended), _BATCH):
        _end_unseen(cluster, difference.ended[start : start + _BATCH])
    if len(difference.changed) > MANY:
        _upsert_many(cluster, difference.changed)
        return []
    return _upsert(cluster, difference.changed)


def _end_unseen(cluster: Cluster, keys: Sequence[Key]) -> None:
    wanted = {key for key, _ in keys}
    rows = Job.objects.filter(cluster=cluster, is_finished=False, key__in=wanted)
    left, now = set(keys), timezone.now()
    ended = [row for row in rows if (row.key, row.submit_at) in left]
    for row in ended:
        row.state, row.is_finished, row.reason = UNKNOWN, True, ""
        # Until now it was the end that its time limit allowed.
        row.end_at = min(row.end_at or now, now)
        row.why = "Left the queue unseen; accounting has not said how it ended."
    Job.objects.bulk_update(ended, ["state", "is_finished", "reason", "why", "end_at"], batch_size=_BATCH)


def _upsert(cluster: Cluster, rows: Mapping[Key, Values]) -> list[Job]:
    jobs = [
        Job(cluster=cluster, key=key, submit_at=submit_at, **dict(zip(FIELDS, values, strict=True)))
        for (key, submit_at), values in rows.items()
    ]
    if not jobs:
        return []
    return Job.objects.bulk_create(
        jobs,
        update_conflicts=True,
        unique_fields=["cluster", "key", "submit_at"],
        update_fields=FIELDS,
        batch_size=_BATCH,
    )


def _upsert_many(cluster: Cluster, rows: Mapping[Key, Values]) -> None:
    columns = ("key", "submit_at", *FIELDS)
    named = ", ".join(map(connection.ops.quote_name, columns))
    new = ", ".join(f"{name} = excluded.{name}" for name in map(connection.ops.quote_name, FIELDS))
    with connection.cursor() as cursor:
        cursor.execute(
            f"CREATE TEMPORARY TABLE job_now ON COMMIT DROP AS SELECT {named} FROM slurm_job WITH NO DATA"
        )
        with cursor.copy(f"COPY job_now ({named}) FROM STDIN") as copy:
            for key, values in rows.items():
                copy.write_row((*key, *values))
        cursor.execute(
            f"INSERT INTO slurm_job (cluster_id, {named}) SELECT %s, {named} FROM job_now "
            f"ON CONFLICT (cluster_id, key, submit_at) DO UPDATE SET {new}",
            [cluster.pk],
        )
        cursor.execute("DROP TABLE job_now")


def values_of(job: JobSeen, why: str) -> Values:
    """In the order of FIELDS."""
    return (
        number(job.job_id),
        job.job_id,
        job.array_job_id,
        job.task_count,
        job.name,
        job.user[:64],
        job.account[:64],
        job.partition,
        job.qos[:64],
        job.state[:20],
        is_finished(job.state),
        job.reason,
        why,
        job.priority,
        job.nodes,
        job.node_count,
        job.cpus,
        job.gpus,
        job.memory_mib,
        job.limit_s,
        job.start_at,
        job.end_at,
        job.dependency,
        job.comment,
        job.work_dir,
        job.exit_code[:20],
    )
