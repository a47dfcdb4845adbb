"""How the row of a change comes to be: the right is asked, the cluster locked, room made, the row written and everybody
told. For `clusters.changes` and `clusters.answers`.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from clusters import spec as specs
from clusters.access import asked_again
from clusters.conflicts import Busy
from clusters.impact import Impact, to_json
from clusters.lifecycle import Status, Step, refusal
from clusters.locks import locked
from clusters.machine import LIVE, ChangeStatus, Kind, gives_way
from clusters.models import Change, Cluster, Revision
from clusters.show import show_change
from clusters.spec import ClusterSpec
from clusters.tasks import apply_change
from clusters.when import WHEN_IDLE, When, time_of
from console import events
from console.errors import Conflict, ConsoleError, Problem, Rejected
from console.models import Membership, User
from console.roles import Action

LONGEST_AHEAD = timedelta(days=366)


def authorise(cluster: Cluster, by: Membership, action: Action) -> None:
    """By the rights as they are now, not as they were when the page was opened."""
    asked_again(cluster, by.user, action)


def locked_for(cluster: Cluster, step: Step) -> Cluster:
    """The cluster as it is now, locked until the transaction ends. Raises Conflict when its status forbids
    `step`."""
    cluster = locked(cluster.pk)
    if why_not := refusal(Status(cluster.status), step):
        raise Conflict(why_not, f"{cluster.slug} is {cluster.status}.")
    return cluster


def make_room(cluster: Cluster, kind: Kind, by: Membership, start_at: When) -> None:
    """What starts later takes nobody's place. Raises Busy, Conflict for a second scheduled one, or Rejected at
    `start_at`."""
    if start_at is None:
        _give_way(cluster, kind, by)
        return
    if isinstance(start_at, datetime) and not timezone.now() < start_at < timezone.now() + LONGEST_AHEAD:
        late = Problem("start_at", "Choose a time to come, within a year.", "Times are UTC.")
        raise Rejected("It was not scheduled.", (late,))
    if other := cluster.changes.filter(status=ChangeStatus.SCHEDULED).first():
        raise Conflict(
            f"Change {other.number} of {cluster.slug} is scheduled already: {other.summary}.",
            "Cancel that first, or do this now.",
        )


def settled(cluster: Cluster, kind: Kind, by: Membership, start_at: When, impact: Impact | None) -> When:
    """What would end nothing need not wait for that: it starts now. Raises Busy."""
    if start_at is WHEN_IDLE and not (impact and impact.stopped):
        _give_way(cluster, kind, by)
        return None
    return start_at


def _give_way(cluster: Cluster, kind: Kind, by: Membership) -> None:
    """Make room for a new change. Raises Busy unless the live one may be given up for it.

    Its lease is left alone: the worker that holds it notices at its next write, and until then the new one
    waits.
    """
    live = cluster.changes.filter(status__in=LIVE).first()
    if live is None:
        return
    is_unbegun = live.status == ChangeStatus.ASKING and kind is Kind.TERMINATE
    if not (is_unbegun or gives_way(Kind(live.kind), kind)):
        raise held_up(live, by)
    why = f"Given up: {by.user.username} asked to {'try again' if kind is Kind.CREATE else kind.value}."
    status = ChangeStatus.STOPPED if is_unbegun else ChangeStatus.FAILED
    live.status, live.why, live.ended_at = status, why, timezone.now()
    live.save(update_fields=["status", "why", "ended_at"])
    live.lines.create(text=why, tone="warn")
    show_change(live)


def right_to_answer(change: Change) -> Action:
    """Whoever may order a restart may stop it, or say yes to it; everything else is for who may change the cluster."""
    return Action.RESTART_CLUSTER if change.kind == Kind.RESTART else Action.CHANGE_CLUSTER


def held_up(live: Change, by: Membership) -> Busy:
    """What this person is told of the change that is in the way."""
    try:
        authorise(live.cluster, by, right_to_answer(live))
    except ConsoleError:
        return Busy(live)
    return Busy(live, may_answer=True)


def revise(cluster: Cluster, spec: ClusterSpec, by: User | None) -> Revision:
    newest = cluster.revisions.aggregate(newest=Max("number"))["newest"] or 0
    return cluster.revisions.create(number=newest + 1, spec=specs.to_json(spec), by=by)


def open_change(
    cluster: Cluster,
    kind: Kind,
    by: Membership | None,
    summary: str,
    *,
    revision: Revision | None,
    force: bool = False,
    impact: Impact | None = None,
    start_at: When = None,
    resumes: Mapping[str, str] | None = None,
    course: Mapping[str, object] | None = None,
) -> Change:
    newest = cluster.changes.aggregate(newest=Max("number"))["newest"] or 0
    change = cluster.changes.create(
        number=newest + 1,
        kind=kind,
        summary=summary[:200],
        base=cluster.revision,
        revision=revision,
        by=by.user if by else None,
        force=force,
        impact=to_json(impact) if impact else None,
        start_at=time_of(start_at),
        when_idle=start_at is WHEN_IDLE,
        resumes=dict(resumes or {}),
        course=dict(course or {}),
        status=ChangeStatus.SCHEDULED if start_at else ChangeStatus.PROPOSED,
    )
    who = f"{by.user.username} asked" if by else "To follow what people changed"
    change.lines.create(text=f"{who}: {change.summary}.")
    if isinstance(start_at, datetime):
        change.lines.create(text=f"It starts on {start_at:%Y-%m-%d} at {start_at:%H:%M} UTC.", tone="busy")
    elif start_at is WHEN_IDLE:
        change.lines.create(text="It starts when nothing runs any more that it would end.", tone="busy")
    tell(change, f"change.{change.status}", by)
    return change


def tell(change: Change, verb: str, by: Membership | None) -> None:
    """Everybody who has to know: the audit trail, open pages, and a worker."""
    events.record(
        verb,
        by=by.user if by else None,
        team=change.cluster.team,
        cluster=change.cluster.slug,
        target=f"change {change.number}",
        detail={"kind": change.kind, "summary": change.summary},
    )
    show_change(change)
    # A lost message costs five seconds: `resume_changes` finds what nobody works on.
    transaction.on_commit(lambda: apply_change.apply_async((change.pk,), retry=False), robust=True)
