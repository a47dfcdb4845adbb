"""Reading jobs: lists, counts and one job, all filtered, sorted and paged by the database.

Queries only: what is shown is the views' business, and rows are written by the watcher alone. What a query
means in SQL is in `slurm.jobs.filters`. A list costs a few queries whatever the length of the queue.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import Count, Q, QuerySet

from clusters.identities import slurm_users_of
from clusters.models import Cluster
from console.errors import Missing
from console.models import User
from slurm.jobs.filters import Viewer, midnight, mine, order, where
from slurm.jobs.query import JOB_ID, STATES, JobQuery
from slurm.models import Job, Submission

PAGE_SIZE = 100
# What the list does not show stays in the database: a comment may be long.
# How far the cluster's clock may be from the console's.
CLOCK_SLACK = timedelta(minutes=5)
FAR_FUTURE = 32_503_680_000  # the year 3000: what a date still holds
DEFERRED = ("comment", "work_dir", "dependency", "account", "qos")


@dataclass(frozen=True)
class JobPage:
    """One page of a list. `total` counts the whole list; `page` is the last one if the list has shrunk."""

    jobs: Sequence[Job]
    total: int
    page: int

    @property
    def pages(self) -> int:
        return max(1, -(-self.total // PAGE_SIZE))

    @property
    def first(self) -> int:
        return (self.page - 1) * PAGE_SIZE + 1 if self.jobs else 0

    @property
    def last(self) -> int:
        return (self.page - 1) * PAGE_SIZE + len(self.jobs)


@dataclass(frozen=True)
class JobCounts:
    """The numbers on the chips: records, as listed (an array that waits is one)."""

    queue: int
    mine: int
    running: int
    waiting: int
    finished_today: int


def job_list(cluster: Cluster, query: JobQuery, viewer: Viewer = None, queue: int | None = None) -> JobPage:
    """The page of the cluster's jobs that `query` asks for; `user:me` is `viewer`. Three queries at most.

    `queue` is how long the whole queue is, where that was counted already.
    """
    return _page(cluster.jobs.all(), [cluster], query, viewer, queue)


def team_job_list(
    clusters: Sequence[Cluster], query: JobQuery, viewer: Viewer = None, queue: int | None = None
) -> JobPage:
    """The same over several clusters, each job with its cluster and team at hand."""
    jobs = Job.objects.filter(cluster__in=clusters).select_related("cluster__team")
    return _page(jobs, clusters, query, viewer, queue)


def job_counts(clusters: Sequence[Cluster], viewer: Viewer = None, now: datetime | None = None) -> JobCounts:
    """What the chips say. Two queries over indexes, whatever is filtered."""
    jobs = Job.objects.filter(cluster__in=clusters)
    queue = jobs.filter(is_finished=False).aggregate(
        queue=Count("pk"),
        waiting=Count("pk", filter=Q(state__in=STATES["waiting"])),
        mine=Count("pk", filter=mine(clusters, viewer)),
    )
    ended = jobs.filter(is_finished=True, end_at__gte=midnight(now)).count()
    return JobCounts(
        queue=queue["queue"],
        mine=queue["mine"],
        running=queue["queue"] - queue["waiting"],
        waiting=queue["waiting"],
        finished_today=ended,
    )


def job_named(cluster: Cluster, name: str, submitted: int | None = None) -> Job:
    """The newest record of `12`, `12_3` or a waiting array's number.

    `submitted` (epoch seconds) picks an older one.
    Raises Missing: slurmctld may know a job that was never seen here.
    """
    found = _newest(cluster, name, submitted) if JOB_ID.fullmatch(name) else None
    if found is None:
        raise Missing(
            f"No job {name} has been seen on {cluster.slug}.",
            "A job appears here within seconds of its submission; `sacct` knows older ones.",
        )
    return found


def same_number(job: Job) -> QuerySet[Job]:
    """Other records that carry this job's id: Slurm counts from 1 again after a reset or a wrap."""
    return job.cluster.jobs.filter(key=job.key).exclude(pk=job.pk).order_by("-submit_at")


def array_of(job: Job) -> QuerySet[Job]:
    """Every record of the job's array, itself included; none when it is not part of one."""
    if job.array_number is None:
        return Job.objects.none()
    # By number alone: a requeued task no longer shares the array's moment of submission.
    return job.cluster.jobs.filter(array_number=job.array_number).order_by("-task_count", "number", "key")


def jobs_named(cluster: Cluster, keys: Sequence[str]) -> list[Job]:
    """The newest record of each key, in the order of `keys`; those never seen are left out."""
    wanted = [key for key in keys if JOB_ID.fullmatch(key)]
    newest = cluster.jobs.filter(key__in=wanted).order_by("key", "-submit_at").distinct("key")
    found = {job.key: job for job in newest}
    return [found[key] for key in dict.fromkeys(wanted) if key in found]


def own_of(cluster: Cluster, viewer: Viewer, jobs: Sequence[Job]) -> frozenset[int]:
    """The primary keys of those of `jobs` that the person submitted through the console, or that run as a Slurm user
    who is linked to them in the team."""
    if viewer is None or not viewer.pk:
        return frozenset()
    numbers = {number for job in jobs for number in (job.number, job.array_number) if number is not None}
    submitted = Submission.objects.filter(cluster=cluster, by_id=viewer.pk, number__in=numbers)
    times: dict[int, list[datetime]] = {}
    for number, at in submitted.values_list("number", "at"):
        times.setdefault(number, []).append(at)
    linked = slurm_users_of(cluster.team_id, viewer.pk)
    return frozenset(job.pk for job in jobs if job.user in linked or _is_of(job, times))


def submitter_of(job: Job) -> User | None:
    """Who submitted the job through the console, if it was submitted here."""
    numbers = [number for number in (job.number, job.array_number) if number is not None]
    found = Submission.objects.filter(
        cluster_id=job.cluster_id, number__in=numbers, at__lte=job.submit_at + CLOCK_SLACK
    )
    newest = found.select_related("by").order_by("-at").first()
    return newest.by if newest else None


def was_submitted(cluster: Cluster, name: str) -> bool:
    """Whether a job of that number was submitted here: the watcher sees it within a look or two."""
    if not JOB_ID.fullmatch(name):
        return False
    return Submission.objects.filter(cluster=cluster, number=int(name.partition("_")[0])).exists()


def _is_of(job: Job, times: Mapping[int, Sequence[datetime]]) -> bool:
    """Numbers are used again in time: a submission says nothing about jobs that are older than it.

    A requeued job has a later submit time and stays its owner's.
    """
    made = [*times.get(job.number, ()), *times.get(job.array_number or 0, ())]
    return any(job.submit_at >= at - CLOCK_SLACK for at in made)


def _newest(cluster: Cluster, name: str, submitted: int | None) -> Job | None:
    jobs = cluster.jobs.filter(key__in=[name, f"{name}_[]"])
    if submitted is not None:
        at = datetime.fromtimestamp(min(submitted, FAR_FUTURE), tz=UTC)
        jobs = jobs.filter(submit_at__gte=at, submit_at__lt=at + timedelta(seconds=1))
    return jobs.order_by("-submit_at", "key").first() or _task_of(cluster, name)


def _task_of(cluster: Cluster, name: str) -> Job | None:
    """A bare array number leads to one of its records."""
    if not name.isdigit():
        return None
    return cluster.jobs.filter(array_number=int(name)).order_by("-submit_at", "-task_count", "number").first()


def _page(
    jobs: QuerySet[Job],
    clusters: Sequence[Cluster],
    query: JobQuery,
    viewer: Viewer,
    queue: int | None,
) -> JobPage:
    chosen = jobs.filter(where(query, clusters, viewer))
    rows = _rows(jobs, chosen, query, query.page)
    if rows and len(rows) < PAGE_SIZE:
        return JobPage(rows, (query.page - 1) * PAGE_SIZE + len(rows), query.page)
    total = _count(chosen, query, queue) if rows or query.page > 1 else 0
    if rows or not total:
        return JobPage(rows, total, query.page if rows else 1)
    last = -(-total // PAGE_SIZE)
    return JobPage(_rows(jobs, chosen, query, last), total, last)


def _count(chosen: QuerySet[Job], query: JobQuery, queue: int | None) -> int:
    return chosen.count() if query.terms or queue is None else queue


def _rows(jobs: QuerySet[Job], chosen: QuerySet[Job], query: JobQuery, page: int) -> list[Job]:
    # Sorting keys alone, then reading a hundred rows, keeps a deep page's sort in memory.
    start = (page - 1) * PAGE_SIZE
    keys = chosen.order_by(*order(query)).values("pk")[start : start + PAGE_SIZE]
    return list(jobs.filter(pk__in=keys).defer(*DEFERRED).order_by(*order(query)))
