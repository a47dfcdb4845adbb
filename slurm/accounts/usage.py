"""How much of each limit a person uses, what the last days took, and why waiting jobs have their priority.

Pure. What runs is counted from the jobs as seen last; minutes come from the controller, where they fade. Sources:
resource_limits.html and priority_multifactor.html of Slurm's documentation.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from clusters.observation import JobSeen
from slurm.accounts.book import Book
from slurm.accounts.enforcement import Enforcement
from slurm.accounts.limit_words import resource_words, value_words
from slurm.accounts.limits import ASSOCIATION_LIMITS, QOS_LIMITS, Kind, Limit, tres_of
from slurm.jobs.states import ON_NODES
from slurm.outputs.accounts import Association, Qos
from slurm.outputs.shares import Priority, Share

DAYS = 7


class JobLike(Protocol):
    """What is counted of an unfinished job."""

    user: str
    account: str
    qos: str
    state: str
    task_count: int
    gpus: int
    cpus: int
    memory_mib: int | None
    node_count: int


@dataclass(frozen=True)
class Use:
    """One limit and how much of it is used. `used` is None for limits of each single job, and where it is not known."""

    scope: str
    limit: Limit
    words: str
    used: float | None = None
    total: float = 0
    used_words: str = ""

    @property
    def is_full(self) -> bool:
        return self.used is not None and self.used >= self.total


@dataclass(frozen=True)
class Part:
    """A factor of a priority: `most` is its weight, 0 where it has none of its own."""

    name: str
    label: str
    value: int
    most: int


@dataclass(frozen=True)
class Ranked:
    """Why a waiting job has its priority: the parts that count, largest first, and a sentence."""

    number: int
    partition: str
    total: int
    parts: tuple[Part, ...]
    nice: int
    sentence: str


@dataclass(frozen=True)
class Day:
    """What the jobs of one day (UTC) took."""

    start: datetime
    gpu_hours: float
    cpu_hours: float
    jobs: int


LABELS: Mapping[str, str] = {
    "fair_share": "Fair share",
    "age": "Age",
    "qos_factor": "QOS",
    "partition_factor": "Partition",
    "job_size": "Size",
    "association": "Account",
    "tres": "Resources",
    "site": "Site",
}
_WHY: Mapping[str, str] = {
    "fair_share": "how little of its share has been used",
    "age": "how long it has waited",
    "qos_factor": "the priority of its QOS",
    "partition_factor": "the partition",
    "job_size": "its size",
    "association": "the priority of its account",
    "tres": "the resources it asks for",
    "site": "the site's own factor",
}


def uses_of(
    book: Book,
    user: str,
    jobs: Sequence[JobLike],
    shares: Sequence[Share],
    qos_minutes: Mapping[str, Mapping[str, int]],
) -> list[Use]:
    """Every limit that holds for the user: of the associations, of the accounts above them, of the QOS they may use."""
    mine = book.of_user(user)
    accounts = dict.fromkeys(name for one in mine for name in book.above(one.account))
    names = dict.fromkeys(name for one in mine for name in one.qos)
    uses = [use for one in mine for use in _of_association(one, jobs)]
    uses += [use for name in accounts for use in _of_account(book, name, jobs, shares)]
    known = (book.named_qos(name) for name in names)
    return uses + [use for qos in known if qos for use in _of_qos(qos, user, jobs, qos_minutes.get(qos.name))]


def ranked(priority: Priority, enforcement: Enforcement) -> Ranked:
    values = {**priority.parts, "tres": sum(priority.tres.values())}
    parts = [
        Part(name, label, values[name], enforcement.weights.get(name, 0))
        for name, label in LABELS.items()
        if values.get(name)
    ]
    parts.sort(key=lambda part: -part.value)
    return Ranked(
        priority.number,
        priority.partition,
        priority.total,
        tuple(parts),
        priority.nice,
        _sentence(parts, priority),
    )


def days_of(jobs: Iterable[JobSeen], now: datetime, days: int = DAYS) -> list[Day]:
    """The last days, today last, each job cut at midnight (UTC)."""
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    starts = [today - timedelta(days=back) for back in reversed(range(days))]
    ran = [(job, job.start_at, min(job.end_at or now, now)) for job in jobs if job.start_at]
    found = []
    for start in starts:
        spent = [(job, _overlap_s(begun, ended, start)) for job, begun, ended in ran]
        found.append(
            Day(
                start=start,
                gpu_hours=sum(job.gpus * seconds for job, seconds in spent) / 3600,
                cpu_hours=sum(job.cpus * seconds for job, seconds in spent) / 3600,
                jobs=sum(seconds > 0 for _, seconds in spent),
            )
        )
    return found


def _overlap_s(begun: datetime, ended: datetime, start: datetime) -> float:
    return max(0.0, (min(ended, start + timedelta(days=1)) - max(begun, start)).total_seconds())


def _of_association(one: Association, jobs: Sequence[JobLike]) -> list[Use]:
    """Max... limits hold for each association by itself; the rest are the account's business."""
    scope = f"{one.user} in {one.account}" + (f", {one.partition}" if one.partition else "")
    mine = [job for job in jobs if (job.user, job.account) == (one.user, one.account)]
    limits = [limit for limit in ASSOCIATION_LIMITS if limit.option.startswith("Max")]
    return _uses(scope, limits, one.limits, {"": mine}, None)


def _of_account(book: Book, name: str, jobs: Sequence[JobLike], shares: Sequence[Share]) -> list[Use]:
    """Grp... limits hold for all jobs of the account and of what is below it."""
    own = book.account(name)
    if own is None:
        return []
    below = book.below(name)
    theirs = [job for job in jobs if job.account in below]
    minutes = next((one.used_minutes for one in shares if (one.account, one.user) == (name, "")), None)
    limits = [limit for limit in ASSOCIATION_LIMITS if limit.option.startswith("Grp")]
    return _uses(f"account {name}", limits, own.limits, {"": theirs}, minutes)


def _of_qos(qos: Qos, user: str, jobs: Sequence[JobLike], minutes: Mapping[str, int] | None) -> list[Use]:
    all_ = [job for job in jobs if job.qos == qos.name]
    mine = [job for job in all_ if job.user == user]
    return _uses(f"QOS {qos.name}", QOS_LIMITS, qos.limits, {"": all_, "PerUser": mine}, minutes)


def _uses(
    scope: str,
    limits: Iterable[Limit],
    values: Mapping[str, str],
    jobs: Mapping[str, Sequence[JobLike]],
    minutes: Mapping[str, float] | None,
) -> list[Use]:
    """`jobs` by the ending of the option whose limits count them; "" for the others."""
    found: list[Use] = []
    for limit in limits:
        value = values.get(limit.option, "")
        counted = next((jobs[end] for end in jobs if end and limit.option.endswith(end)), jobs[""])
        if value and (limit.kind is Kind.COUNT):
            found.append(_count_use(scope, limit, int(value), counted))
        elif (
            value
            and limit.kind is Kind.TRES
            and not limit.option.endswith(("PerJob", "PerNode", "PerAccount"))
        ):
            found += [_tres_use(scope, limit, name, total, counted) for name, total in tres_of(value).items()]
        elif value and limit.option == "GrpTRESMins":
            found += [
                _minutes_use(scope, limit, name, total, minutes) for name, total in tres_of(value).items()
            ]
        elif value:
            found.append(Use(scope, limit, value_words(limit, value)))
    return found


def _count_use(scope: str, limit: Limit, total: int, jobs: Sequence[JobLike]) -> Use:
    words = value_words(limit, str(total))
    if limit.option.endswith("PerAccount"):
        return Use(scope, limit, words)
    waits = "Submit" in limit.option
    used = sum(job.task_count for job in jobs if waits or job.state in ON_NODES)
    return Use(scope, limit, words, used, total, str(used))


def _tres_use(scope: str, limit: Limit, name: str, total: int, jobs: Sequence[JobLike]) -> Use:
    words, measure = resource_words(name, total), _MEASURES.get(name)
    if measure is None:
        return Use(scope, limit, words)
    used = sum(measure(job) for job in jobs if job.state in ON_NODES)
    return Use(scope, limit, words, used, total, resource_words(name, used))


def _minutes_use(scope: str, limit: Limit, name: str, total: int, minutes: Mapping[str, float] | None) -> Use:
    words = resource_words(name, total, "-minutes")
    if minutes is None:
        return Use(scope, limit, words)
    used = minutes.get(name, 0.0)
    return Use(scope, limit, words, used, total, resource_words(name, used, "-minutes"))


_MEASURES: Mapping[str, Callable[[JobLike], int]] = {
    "gres/gpu": lambda job: job.gpus,
    "cpu": lambda job: job.cpus,
    "mem": lambda job: job.memory_mib or 0,
    "node": lambda job: job.node_count,
}


def _sentence(parts: Sequence[Part], priority: Priority) -> str:
    if not parts:
        return "No factor counts for it: such jobs start in the order of their submission."
    first, *others = parts
    most = f" of at most {first.most}" if first.most else ""
    words = [f"The largest part, {first.value}{most}, is for {_WHY[first.name]}"]
    if others:
        words.append(f"then {others[0].value} for {_WHY[others[0].name]}")
    lowered = f" Its owner lowered it by {priority.nice} (--nice)." if priority.nice > 0 else ""
    return ", ".join(words) + "." + lowered
