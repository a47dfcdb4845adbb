"""What a filter of the job list means to the database: terms as conditions, sort keys as orders.

Called by `slurm.jobs.reading` only. Every value goes through the ORM; the one regular expression that is built here
comes from checked names.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import reduce
from operator import or_

from django.contrib.auth.models import AnonymousUser
from django.db.models import F, Q
from django.db.models.expressions import OrderBy
from django.utils import timezone

from clusters.identities import slurm_users_of
from clusters.models import Cluster
from console.models import User
from slurm.host_pattern import holds
from slurm.jobs.query import SORTS, STATES, Bound, JobQuery, Match, Term
from slurm.jobs.states import ENDED, HELD_STATES, NEVER
from slurm.models import IS_WAITING, Submission
from slurm.states import HELD_REASONS

Viewer = User | AnonymousUser | None

# Waiting jobs come after those on nodes; the index `job_line` is this order.
QUEUE_ORDER: tuple[OrderBy, ...] = (IS_WAITING.asc(), F("priority").desc(), F("number").asc())
HISTORY_ORDER: tuple[OrderBy, ...] = (F("end_at").desc(nulls_last=True), F("number").desc())
COLUMNS = {
    "id": "number",
    "user": "user",
    "name": "name",
    "partition": "partition",
    "state": "state",
    "gpus": "gpus",
    "nodes": "node_count",
    "limit": "limit_s",
    "priority": "priority",
    "submitted": "submit_at",
    "ended": "end_at",
}
OPERATORS = {"=": "exact", ">": "gt", ">=": "gte", "<": "lt", "<=": "lte"}
NUMBERS = {
    "gpus": "gpus",
    "nodes": "node_count",
    "cpus": "cpus",
    "tasks": "task_count",
    "priority": "priority",
}


def midnight(now: datetime | None = None) -> datetime:
    """When today began, in the console's time zone."""
    return timezone.localtime(now).replace(hour=0, minute=0, second=0, microsecond=0)


def mine(clusters: Sequence[Cluster], viewer: Viewer) -> Q:
    """Jobs that run under the person's name or a user linked to them, and those that the person submitted here."""
    if viewer is None or not viewer.pk:
        return Q(pk__in=[])
    linked = slurm_users_of(clusters[0].team_id, viewer.pk) if clusters else frozenset()
    own = Submission.objects.filter(by_id=viewer.pk)
    submitted = (
        Q(cluster=cluster)
        & (
            Q(number__in=own.filter(cluster=cluster).values("number"))
            | Q(array_number__in=own.filter(cluster=cluster).values("number"))
        )
        for cluster in clusters
    )
    return reduce(or_, submitted, Q(user__in={viewer.get_username(), *linked}))


def where(query: JobQuery, clusters: Sequence[Cluster], viewer: Viewer) -> Q:
    where = Q() if query.names_states else Q(is_finished=False)
    for term in query.terms:
        meaning = _meaning(term, clusters, viewer)
        where &= ~meaning if term.negated else meaning
    return where


def _meaning(term: Term, clusters: Sequence[Cluster], viewer: Viewer) -> Q:
    if isinstance(term, Bound):
        return _bound(term)
    if term.field == "user":
        return _any(lambda name: mine(clusters, viewer) if name == "me" else Q(user=name), term)
    return _any(MATCHES[term.field], term)


def _any(meaning: Callable[[str], Q], term: Match) -> Q:
    return reduce(or_, map(meaning, term.values))


def _state(word: str) -> Q:
    if word == "any":
        return Q()
    if word == "held":
        reasons = reduce(or_, (Q(reason__contains=part) for part in HELD_REASONS))
        return Q(state="PENDING") & reasons | Q(state__in=HELD_STATES)
    if word == "cannot-run":
        return Q(state="PENDING", reason__in=NEVER)
    states = STATES[word]
    # The indexes begin with is_finished, so it is said even where the states imply it.
    return Q(is_finished=states[0] in ENDED, state__in=states)


def _id(job_id: str) -> Q:
    if job_id.isdigit():
        return Q(number=int(job_id)) | Q(array_number=int(job_id))
    return Q(key=job_id.partition("[")[0] + "[]" if "[" in job_id else job_id)


def _text(word: str) -> Q:
    found = Q(name__icontains=word) | Q(user=word)
    return found | _id(word) if word.isascii() and word.isdigit() and len(word) <= 15 else found


def _partition(name: str) -> Q:
    # A job may ask for several: `debug,train`.
    return Q(partition=name) | Q(partition__regex=rf"(^|,){_literal(name)}(,|$)")


def _literal(text: str) -> str:
    return "".join(c if c.isalnum() else f"\\{c}" for c in text)


def _ended_today(word: str) -> Q:
    return Q(is_finished=True, end_at__gte=midnight())


MATCHES: dict[str, Callable[[str], Q]] = {
    "text": _text,
    "name": lambda text: Q(name__icontains=text),
    "id": _id,
    "state": _state,
    "partition": _partition,
    "node": lambda name: Q(nodes__regex=holds(name)),
    "ended": _ended_today,
    "account": lambda name: Q(account=name),
    "qos": lambda name: Q(qos=name),
    "cluster": lambda slug: Q(cluster__slug=slug),
}


def _bound(term: Bound) -> Q:
    if term.field in NUMBERS:
        return Q(**{f"{NUMBERS[term.field]}__{OPERATORS[term.op]}": term.value})
    if term.field == "limit":
        return Q(**{f"limit_s__{OPERATORS[term.op]}": term.value})
    return _age(term)


def _age(term: Bound) -> Q:
    """Ages turn round: older than two hours is before that moment. `ran` is counted for jobs on nodes."""
    # A century is longer than any record and still a date.
    moment = timezone.now() - timedelta(seconds=min(term.value, 3_155_760_000))
    turned = {"=": "lte", ">": "lt", ">=": "lte", "<": "gt", "<=": "gte"}[term.op]
    if term.field == "ended":
        return Q(**{"is_finished": True, f"end_at__{turned}": moment})
    if term.field == "submitted":
        return Q(**{f"submit_at__{turned}": moment})
    return Q(**{"is_finished": False, f"start_at__{turned}": moment}) & ~Q(state__in=STATES["waiting"])


def order(query: JobQuery) -> Sequence[OrderBy]:
    if not query.sort:
        return HISTORY_ORDER if _only_ended(query) else QUEUE_ORDER
    if query.sort == "ran":
        # The longest run started first.
        start = (
            F("start_at").asc(nulls_last=True) if query.descending else F("start_at").desc(nulls_last=True)
        )
        return (IS_WAITING.asc(), start, F("number").asc())
    column = F(COLUMNS[query.sort])
    first = column.desc(nulls_last=True) if query.descending else column.asc(nulls_last=True)
    return (first, F("priority").desc(), F("number").asc())


def _only_ended(query: JobQuery) -> bool:
    ages = any(term.field == "ended" and not term.negated for term in query.terms)
    words = query.states
    return ages or (bool(words) and all(STATES[word][0] in ENDED for word in words))


assert set(SORTS) == {*COLUMNS, "ran"}
