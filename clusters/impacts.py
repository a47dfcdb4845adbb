"""Impacts read off the rows: what an act would do to a cluster as it was last seen. Reads only, asks no cluster."""

from collections.abc import Iterator
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import Any

from django.conf import settings
from django.db.models import F, Q, QuerySet
from django.utils.module_loading import import_string

from clusters.acts import (
    Act,
    Delete,
    Does,
    Drain,
    Edit,
    Fate,
    PartKind,
    Reapply,
    Reboot,
    RestartPart,
    Resume,
    Terminate,
    Touch,
    cancelled,
    partitions_gone,
    sort_of,
)
from clusters.hostlist import HostlistError, expand
from clusters.impact import Impact, JobHere, Seen, impact_of
from clusters.machine import ChangeStatus, Kind
from clusters.models import Change, Cluster
from clusters.rolling import act_of_course, from_json
from console.errors import Unavailable

# How many changes or operations of a sort tell how long the next one takes.
MOST_PAST = 9
ACTS_OF_KIND: dict[Kind, type[Reapply | Terminate | Delete]] = {
    Kind.RECONFIGURE: Reapply,
    Kind.TERMINATE: Terminate,
    Kind.DELETE: Delete,
}


def preview(cluster: Cluster, act: Act) -> Impact:
    """For who is about to confirm: the open terminals are counted, too, where the login node restarts. Asks Redis."""
    found = promise(cluster, act)
    return replace(found, terminals=_terminals(cluster)) if found.renews(PartKind.LOGIN) else found


def promise(cluster: Cluster, act: Act) -> Impact:
    """Four queries and nothing else, so it may stand in a transaction. Jobs that wait are read one by one only where a
    partition goes: a queue may hold fifty thousand."""
    touches = touches_of(cluster, act)
    queue = cluster.jobs.filter(is_finished=False)
    named = [Q(partition__contains=name) for name in partitions_gone(act)]
    named += [Q(user__in=sorted(whose))] if (whose := cancelled(act)) else []
    listed = queue.filter(reduce(or_, named, ~Q(nodes="")))
    jobs = tuple(_jobs(listed))
    seen = Seen(
        jobs=jobs,
        waiting=queue.filter(nodes="").count() - sum(job.waits for job in jobs),
        machines=dict(cluster.nodes.values_list("name", "machine")),
        took_s=took_s(cluster, act),
        as_of=cluster.observed_at,
        problem=cluster.observed_problem,
    )
    return impact_of(act, touches, seen)


def touches_of(cluster: Cluster, act: Act) -> tuple[Touch, ...]:
    """What the platform says; of what every platform does alike, what that is."""
    if isinstance(act, Drain):
        return (Touch(PartKind.WORKERS, Does.CLOSES, act.nodes, Fate.RUNS_OUT),)
    if isinstance(act, Resume):
        return (Touch(PartKind.WORKERS, Does.OPENS, act.nodes),)
    if isinstance(act, Reboot) and act.is_rolling:
        touches = cluster.provisioner.foresee(act)
        return tuple(replace(touch, is_rolling=True, at_once=act.at_once) for touch in touches)
    return cluster.provisioner.foresee(act)


def act_of(change: Change) -> Act | None:
    """What the change does, as an act; None for a creation, which meets nothing."""
    kind = Kind(change.kind)
    if kind is Kind.EDIT and change.base is not None and change.revision is not None:
        return Edit(change.base.parsed, change.revision.parsed, change.force)
    if kind is Kind.RESTART:
        return act_of_course(from_json(change.course), change.cluster.spec)
    if kind in ACTS_OF_KIND:
        return ACTS_OF_KIND[kind](change.cluster.spec)
    return None


def took_s(cluster: Cluster, act: Act) -> list[float]:
    """How long the cluster's last changes or operations of this sort took, seconds of waiting for jobs or for a person
    left out."""
    sort = sort_of(act)
    if isinstance(act, RestartPart) or (isinstance(act, Reboot) and not act.is_rolling):
        ended = cluster.operations.filter(sort=sort, ended_at__isnull=False).order_by("-begun_at")
        times = ended.values_list("begun_at", "ended_at")[:MOST_PAST]
        return [(ended_at - begun_at).total_seconds() for begun_at, ended_at in times if ended_at]
    done = cluster.changes.filter(
        status=ChangeStatus.COMMITTED, impact__sort=sort, begun_at__isnull=False, ended_at__isnull=False
    )
    lasted = done.order_by("-number").values_list(F("ended_at") - F("begun_at"), "rested")[:MOST_PAST]
    return [max(0.0, (whole - rested).total_seconds()) for whole, rested in lasted]


def _jobs(rows: "QuerySet[Any]") -> Iterator[JobHere]:
    """Rows of slurm.models.Job, which calls its way back `jobs`: clusters does not import slurm."""
    rows = rows.order_by("start_at", "number")
    fields = ("key", "job_id", "name", "user", "gpus", "nodes", "partition", "state", "start_at", "end_at")
    for row in rows.values(*fields).iterator(chunk_size=2000):
        yield JobHere(
            key=row["key"],
            job_id=row["job_id"],
            name=row["name"],
            user=row["user"],
            gpus=row["gpus"],
            nodes=_names(row["nodes"]),
            partitions=tuple(row["partition"].split(",")) if row["partition"] else (),
            waits=not row["nodes"],
            start_at=row["start_at"],
            end_at=row["end_at"],
        )


def _names(nodes: str) -> tuple[str, ...]:
    try:
        return expand(nodes)
    except HostlistError:
        return ()


def _terminals(cluster: Cluster) -> int | None:
    """How many terminals of this console are open on the login node; None when nobody can say."""
    try:
        held: int = import_string(settings.OPEN_TERMINALS)(cluster.key)
    except Unavailable:
        return None
    return held
