"""What an act costs, told before it is done: what restarts, which jobs end, which files go, what stays. Pure.

`impact_of` is the one place that works it out: dialogs, the API, the row of a change and the worker that asks again
before it applies all have it from here (`clusters.impacts` reads the rows that it needs). It is as true as the rows are
fresh: `as_of` says when they were seen.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import PurePosixPath
from statistics import median

import msgspec

from clusters.acts import (
    ENDINGS,
    Act,
    Does,
    Fate,
    PartKind,
    Touch,
    cancelled,
    homes_deleted,
    mounted,
    partitions_gone,
    signed_out,
    sort_of,
    spec_before,
    unmounted,
)
from clusters.spec import ClusterSpec
from console.words import count, listed

# From the kindest to the worst: the worst of what touches a job is its fate.
SEVERITY = (Fate.GOES_ON, Fate.RUNS_OUT, Fate.AWAITED, Fate.QUEUED, Fate.DROPPED, Fate.ENDS)
# Of one fate; beyond it jobs are counted. A form carries the list, and a queue may hold fifty thousand.
MOST_LISTED = 2000
STOPPED = (Fate.ENDS, Fate.QUEUED)
UNASKED = ("terminate", "delete")
RENEWS = frozenset({Does.RESTARTS, Does.GOES, Does.STOPS})


@dataclass(frozen=True)
class JobHere:
    """A job of the queue. `nodes` and `partitions` are names; `key` stays the same while the job lives."""

    key: str
    job_id: str
    name: str
    user: str
    gpus: int
    nodes: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    waits: bool = False
    start_at: datetime | None = None
    end_at: datetime | None = None


@dataclass(frozen=True)
class Seen:
    """What was observed of the cluster. Jobs that wait need not be listed where nothing but their number matters: then
    `waiting` counts them. `machines` are the nodes' other names; `took_s` is how long the last changes of
    this sort took."""

    jobs: Sequence[JobHere] = ()
    waiting: int = 0
    machines: Mapping[str, str] = field(default_factory=dict)
    took_s: Sequence[float] = ()
    as_of: datetime | None = None
    problem: str = ""


@dataclass(frozen=True)
class JobFate:
    """A job that does not simply go on."""

    key: str
    job_id: str
    name: str
    user: str
    gpus: int
    fate: Fate
    nodes: tuple[str, ...] = ()
    start_at: datetime | None = None
    end_at: datetime | None = None


@dataclass(frozen=True)
class Loss:
    """Files in `places` go on the named nodes, or on the part itself where it is no worker."""

    part: PartKind
    places: tuple[str, ...]
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Impact:
    """`touches` are in the order in which they happen; `jobs` only those that do not simply go on, and of each fate the
    first ones: how many there are beside them is `unlisted`.

    `running` and `waiting` count those that do. `terminals` are those that this console has open on a login node that
    restarts, None when nobody has counted. `takes_s` is the median of the last changes of this sort, None when
    there was none. `machines` names the touched nodes' machines, `mounted` and
    `unmounted` are paths. `signed_out` are login users whose sessions end, `homes_deleted` the homes that go.
    """

    sort: str
    touches: tuple[Touch, ...] = ()
    jobs: tuple[JobFate, ...] = ()
    unlisted: Mapping[Fate, int] = field(default_factory=dict)
    partitions_gone: tuple[str, ...] = ()
    mounted: tuple[str, ...] = ()
    unmounted: tuple[str, ...] = ()
    signed_out: tuple[str, ...] = ()
    homes_deleted: tuple[str, ...] = ()
    running: int = 0
    waiting: int = 0
    terminals: int | None = None
    takes_s: float | None = None
    as_of: datetime | None = None
    problem: str = ""
    machines: Mapping[str, str] = field(default_factory=dict)

    @property
    def ends(self) -> tuple[JobFate, ...]:
        return self._of(Fate.ENDS)

    @property
    def queued(self) -> tuple[JobFate, ...]:
        return self._of(Fate.QUEUED)

    @property
    def awaited(self) -> tuple[JobFate, ...]:
        return self._of(Fate.AWAITED)

    @property
    def dropped(self) -> tuple[JobFate, ...]:
        return self._of(Fate.DROPPED)

    @property
    def running_out(self) -> tuple[JobFate, ...]:
        return self._of(Fate.RUNS_OUT)

    @property
    def stopped(self) -> tuple[JobFate, ...]:
        """Running jobs whose run ends, whatever comes after."""
        return (*self.ends, *self.queued)

    def number(self, *fates: Fate) -> int:
        """Of all jobs with one of these fates, listed or not."""
        listed_ones = sum(job.fate in fates for job in self.jobs)
        return listed_ones + sum(self.unlisted.get(fate, 0) for fate in fates)

    @property
    def until(self) -> datetime | None:
        """The latest end of what is waited for; None when something has no time limit, or nothing is waited for."""
        ends = [job.end_at for job in self.awaited if job.end_at]
        return max(ends) if ends and len(ends) == len(self.awaited) else None

    @property
    def losses(self) -> tuple[Loss, ...]:
        found: dict[tuple[PartKind, tuple[str, ...]], list[str]] = {}
        for touch in self.touches:
            if touch.loses:
                found.setdefault((touch.part, touch.loses), []).extend(touch.nodes)
        return tuple(Loss(part, places, tuple(nodes)) for (part, places), nodes in found.items())

    @property
    def loses_homes(self) -> bool:
        """Whether what people keep in their homes on the login node goes."""
        places = (place for loss in self.losses if loss.part is PartKind.LOGIN for place in loss.places)
        return not {"/root", "/home"}.isdisjoint(places)

    def touched(self, *does: Does) -> tuple[Touch, ...]:
        return tuple(touch for touch in self.touches if touch.does in does)

    def nodes_that(self, *does: Does) -> tuple[str, ...]:
        found = (
            name for touch in self.touched(*does) if touch.part is PartKind.WORKERS for name in touch.nodes
        )
        return tuple(dict.fromkeys(found))

    def renews(self, part: PartKind) -> bool:
        """Whether the part restarts or goes, as far as it is one."""
        return any(touch.part is part for touch in self.touched(*RENEWS))

    def _of(self, fate: Fate) -> tuple[JobFate, ...]:
        return tuple(job for job in self.jobs if job.fate is fate)


def impact_of(act: Act, touches: Iterable[Touch], seen: Seen) -> Impact:
    """What `act` costs, given what the platform says that it touches."""
    touches = tuple(_spared(touch, spec_before(act)) for touch in touches)
    gone, whose = partitions_gone(act), cancelled(act)
    ends_all = isinstance(act, ENDINGS)
    worst = _worst_by_node(touches)
    jobs: list[JobFate] = []
    numbers: Counter[Fate] = Counter({Fate.DROPPED: seen.waiting} if ends_all else {})
    running, waiting = 0, 0 if ends_all else seen.waiting
    for job in seen.jobs:
        fate = _fate(job, worst, gone, ends_all=ends_all or job.user in whose)
        if fate is not Fate.GOES_ON:
            numbers[fate] += 1
            if numbers[fate] <= MOST_LISTED:
                jobs.append(_fated(job, fate))
        elif job.waits:
            waiting += 1
        else:
            running += 1
    named = {name for touch in touches for name in touch.nodes}
    return Impact(
        sort=sort_of(act),
        touches=touches,
        jobs=tuple(jobs),
        unlisted=_beyond(numbers, jobs),
        partitions_gone=tuple(sorted(gone)),
        mounted=mounted(act),
        unmounted=unmounted(act),
        signed_out=tuple(sorted(signed_out(act))),
        homes_deleted=tuple(sorted(homes_deleted(act))),
        running=running,
        waiting=waiting,
        takes_s=median(seen.took_s) if seen.took_s else None,
        as_of=seen.as_of,
        problem=seen.problem,
        machines={name: machine for name, machine in seen.machines.items() if name in named},
    )


def growth(promised: Impact, now: Impact, *, by_name: bool = True) -> tuple[str, ...]:
    """What `now` costs beyond what was promised, in sentences; empty when a person need not be asked again.

    `by_name` takes each job for itself, as between a dialog and its answer. Between a day and the next other jobs run
    in any case: then only more of them, or more GPUs, are more.
    """
    return (
        *_more_jobs(promised, now, STOPPED, "would end now", by_name=by_name),
        *_more_jobs(promised, now, (Fate.DROPPED,), "would leave the queue", by_name=by_name),
        *_more_restarts(promised, now),
        *_more_losses(promised, now),
        *(f"The home {path} would be deleted, too." for path in _fresh_homes(promised, now)),
    )


def to_json(impact: Impact) -> dict[str, object]:
    """The stored form: plain JSON types."""
    plain: dict[str, object] = msgspec.json.decode(msgspec.json.encode(impact))
    return plain


def from_json(data: object) -> Impact:
    """The reverse of `to_json`. Raises `msgspec.ValidationError`."""
    return msgspec.convert(data, Impact, strict=False)


def _beyond(numbers: Counter[Fate], jobs: Sequence[JobFate]) -> dict[Fate, int]:
    beyond = numbers - Counter(job.fate for job in jobs)
    return dict(beyond)


def _spared(touch: Touch, spec: ClusterSpec) -> Touch:
    """Without places that are volumes: nothing that restarts takes those along."""
    volumes = [PurePosixPath(mount.path) for mount in spec.mounts]
    loses = tuple(p for p in touch.loses if not any(PurePosixPath(p).is_relative_to(v) for v in volumes))
    return touch if loses == touch.loses else replace(touch, loses=loses)


def _worst_by_node(touches: Iterable[Touch]) -> dict[str, Fate]:
    worst: dict[str, Fate] = {}
    for touch in touches:
        for name in touch.nodes:
            worst[name] = max(worst.get(name, Fate.GOES_ON), touch.jobs, key=SEVERITY.index)
    return worst


def _fate(job: JobHere, worst: Mapping[str, Fate], gone: Collection[str], *, ends_all: bool) -> Fate:
    """A job ends with its partition, as NODE_FAIL: one that runs, and one that waits and names it, whatever others it
    names beside it (seen in 24.11: slurmctld reads the queue again and takes no list with an unknown name in it). Where
    its nodes are waited for, its partition goes after them."""
    is_stranded = not set(job.partitions).isdisjoint(gone)
    if job.waits:
        return Fate.DROPPED if ends_all or is_stranded else Fate.GOES_ON
    if ends_all:
        return Fate.ENDS
    by_nodes = (worst.get(name, Fate.GOES_ON) for name in job.nodes)
    fate = max(by_nodes, key=SEVERITY.index, default=Fate.GOES_ON)
    return Fate.ENDS if is_stranded and fate is not Fate.AWAITED else fate


def _fated(job: JobHere, fate: Fate) -> JobFate:
    return JobFate(
        key=job.key,
        job_id=job.job_id,
        name=job.name,
        user=job.user,
        gpus=job.gpus,
        fate=fate,
        nodes=job.nodes,
        start_at=job.start_at,
        end_at=job.end_at,
    )


def _more_jobs(
    promised: Impact, now: Impact, fates: tuple[Fate, ...], what: str, *, by_name: bool
) -> Iterable[str]:
    """By name as far as all have one. What the end of a cluster drops from its queue is never named, nor asked about:
    the queue of a busy one grows all the time."""
    if now.sort in UNASKED and fates == (Fate.DROPPED,):
        return
    before, after = ([job for job in impact.jobs if job.fate in fates] for impact in (promised, now))
    known = {job.key for job in before}
    if by_name and not any(promised.unlisted.get(fate) for fate in fates):
        if fresh := [f"{job.job_id} of {job.user}" for job in after if job.key not in known]:
            yield f"{listed(fresh)} {what}, too."
        return
    gpus_before, gpus_after = (sum(job.gpus for job in jobs) for jobs in (before, after))
    if now.number(*fates) > promised.number(*fates) or gpus_after > gpus_before:
        yield (
            f"{count(now.number(*fates), 'job')} with {count(gpus_after, 'GPU')} {what}, "
            f"where {promised.number(*fates)} with {gpus_before} were promised."
        )


def _more_restarts(promised: Impact, now: Impact) -> Iterable[str]:
    for part in PartKind:
        if part is not PartKind.WORKERS and now.renews(part) and not promised.renews(part):
            yield f"The {part} would restart, too."
    before = set(promised.nodes_that(*RENEWS))
    if fresh := [name for name in now.nodes_that(*RENEWS) if name not in before]:
        yield f"{listed(fresh)} would restart or go, too."


def _more_losses(promised: Impact, now: Impact) -> Iterable[str]:
    before = _lost_places(promised)
    for part, place in sorted(_lost_places(now) - before):
        yield f"Files in {place} of the {part} would go, too."


def _fresh_homes(promised: Impact, now: Impact) -> list[str]:
    return [path for path in now.homes_deleted if path not in promised.homes_deleted]


def _lost_places(impact: Impact) -> set[tuple[PartKind, str]]:
    return {(loss.part, place) for loss in impact.losses for place in loss.places}
