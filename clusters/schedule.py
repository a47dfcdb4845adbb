"""Changes that are to start at a time, or when nothing runs that they would end: what becomes of them.

A scheduled change is not on its way: others go on meanwhile, and it takes no place of theirs. When its time comes it
becomes the cluster's live change, as soon as there is no other; from then on it is like one that was just asked for,
and is asked about again if it costs more than was promised. One that waits for jobs is promised to end none. An end of
the cluster that comes at a time ends what runs by then. A change starts from the revision that it was made on: when
another has become current meanwhile, it is rejected, as a form would be that was opened before that. At most one is
scheduled in a cluster.

Nodes whose jobs are waited for are drained with a reason that names the change (`hold`): it is the console's memory, so
that a worker that was killed, or a change that was cancelled, leaves no node behind. Called by `clusters.tasks` and
`clusters.changes`.
"""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q

from clusters import rolling
from clusters.access import asked_again
from clusters.impact import STOPPED, Impact, to_json
from clusters.impacts import act_of, promise, touches_of
from clusters.lifecycle import Status, Step, refusal
from clusters.locks import locked
from clusters.machine import ENDINGS, LIVE, ChangeStatus, Kind
from clusters.models import Change, Cluster, Node
from clusters.show import show_change, show_cluster
from console import events
from console.errors import ConsoleError
from console.roles import Action
from console.words import listed

STEPS = {
    Kind.EDIT: Step.CHANGE,
    Kind.RECONFIGURE: Step.RECONFIGURE,
    Kind.TERMINATE: Step.TERMINATE,
    Kind.DELETE: Step.DELETE,
    Kind.RESTART: Step.RESTART,
}
ASKS = {
    Kind.EDIT: Action.CHANGE_CLUSTER,
    Kind.RECONFIGURE: Action.CHANGE_CLUSTER,
    Kind.TERMINATE: Action.TERMINATE_CLUSTER,
    Kind.DELETE: Action.DELETE_CLUSTER,
    Kind.RESTART: Action.RESTART_CLUSTER,
}
ENTERS = {Kind.TERMINATE: Status.TERMINATING, Kind.DELETE: Status.DELETING}
HOLDS = "quarterdeck: change "
# What was seen longer ago says nothing about what runs now.
FRESH = timedelta(seconds=30)


def start_due(now: datetime) -> tuple[int, ...]:
    """Start every scheduled change whose time has come, or for which nothing runs any more, and whose cluster has no
    other on its way; which they are.

    May run twice at the same time.
    """
    due = Change.objects.filter(Q(start_at__lte=now) | Q(when_idle=True), status=ChangeStatus.SCHEDULED)
    return tuple(pk for pk in due.order_by("start_at", "pk").values_list("pk", flat=True) if _start(pk, now))


def with_holds() -> tuple[int, ...]:
    """Clusters in which nodes are to be held or let go, by their keys in the database."""
    waiting = Change.objects.filter(status=ChangeStatus.SCHEDULED, when_idle=True).values_list(
        "cluster", flat=True
    )
    held = Node.objects.filter(reason__startswith=HOLDS).values_list("cluster", flat=True)
    return tuple(sorted({*waiting, *held}))


def hold(cluster: Cluster) -> None:
    """Keep new jobs off the nodes whose jobs a scheduled change waits for, and give back those of a change that waits
    no more. Blocks for some seconds at most; may run twice at the same time. Raises Unavailable."""
    change = cluster.changes.filter(status=ChangeStatus.SCHEDULED, when_idle=True).first()
    reason = f"{HOLDS}{change.number} starts when their jobs have ended" if change else ""
    wanted = _in_the_way(change) if change else frozenset()
    rows = dict(cluster.nodes.values_list("name", "reason"))
    if fresh := [name for name in sorted(wanted) if not rows.get(name, "-")]:
        cluster.provisioner.drain(fresh, reason)
    live = cluster.changes.filter(status__in=LIVE).exists()
    left = [name for name, why in rows.items() if why.startswith(HOLDS) and why != reason]
    if left and not live:
        cluster.provisioner.resume(left)


def _in_the_way(change: Change) -> frozenset[str]:
    """The nodes on which the change would end jobs."""
    act = act_of(change)
    touches = touches_of(change.cluster, act) if act else ()
    return frozenset(name for touch in touches if touch.jobs in STOPPED for name in touch.nodes)


def withdraw(
    change: Change, why: str, now: datetime, *, status: ChangeStatus = ChangeStatus.REJECTED
) -> bool:
    """End a scheduled change before it began, STOPPED by a person's wish; whether it was one. In a transaction."""
    rows = Change.objects.filter(pk=change.pk, status=ChangeStatus.SCHEDULED)
    if not rows.update(status=status, why=why, ended_at=now):
        return False
    change.refresh_from_db()
    change.lines.create(text=f"{why} Nothing was touched.", tone="warn")
    _tell(change, f"change.{status}", outcome="done" if status is ChangeStatus.STOPPED else "failed")
    return True


def _start(pk: int, now: datetime) -> bool:
    with transaction.atomic():
        change = Change.objects.select_related("by", "base").get(pk=pk)
        cluster = change.cluster = locked(change.cluster_id)
        if cluster.changes.filter(status__in=LIVE).exists():
            return False
        if why := _why_not(change, cluster):
            withdraw(change, why, now)
            return False
        fields: dict[str, object] = {"status": ChangeStatus.PROPOSED, "waits_for": ""}
        if change.when_idle:
            impact = _idle_impact(change, now)
            if impact is None:
                return False
            fields["impact"] = to_json(impact)
        rows = Change.objects.filter(pk=pk, status=ChangeStatus.SCHEDULED)
        if not rows.update(**fields):
            return False
        change.status, change.waits_for = ChangeStatus.PROPOSED, ""
        change.lines.create(text="Nothing runs in its way." if change.when_idle else "Its time has come.")
        if status := ENTERS.get(Kind(change.kind)):
            cluster.enter(status)
        _tell(change, f"change.{ChangeStatus.PROPOSED}")
    return True


def _idle_impact(change: Change, now: datetime) -> Impact | None:
    """What it costs now, when that ends no running job; else None, and what is waited for is written down."""
    act = act_of(change)
    impact = promise(change.cluster, act) if act else None
    if impact is None or (not impact.stopped and _is_fresh(impact, now)):
        return impact
    jobs = [f"{job.job_id} of {job.user}" for job in impact.stopped]
    words = f"Waits for {listed(jobs)} to end." if jobs else "Waits until the cluster can be looked at."
    if Change.objects.filter(pk=change.pk).exclude(waits_for=words).update(waits_for=words):
        change.waits_for = words
        show_change(change)
    return None


def _is_fresh(impact: Impact, now: datetime) -> bool:
    return not impact.problem and impact.as_of is not None and now - impact.as_of < FRESH


def _why_not(change: Change, cluster: Cluster) -> str:
    """A sentence, empty when it may start."""
    if why := refusal(Status(cluster.status), STEPS[Kind(change.kind)]):
        return why
    if change.kind == Kind.RESTART:
        targets = rolling.from_json(change.course).targets
        gone = [name for name in targets if name not in (*cluster.spec.node_names, *rolling.SERVICES)]
        if gone:
            return f"{listed(gone)} {'is' if len(gone) == 1 else 'are'} not there any more."
    elif change.kind not in ENDINGS and change.base_id != cluster.revision_id:
        current = cluster.revision.number if cluster.revision else 0
        return f"Revision {current} became current after this was scheduled: make the change again on that."
    if change.by is None:
        return "Who asked for it is no longer here."
    try:
        asked_again(cluster, change.by, ASKS[Kind(change.kind)])
    except ConsoleError as error:
        return error.message
    return ""


def _tell(change: Change, verb: str, outcome: str = "done") -> None:
    events.record(
        verb,
        by=change.by,
        team=change.cluster.team,
        cluster=change.cluster.slug,
        target=f"change {change.number}",
        outcome=outcome,
        detail={"kind": change.kind, "summary": change.summary, "why": change.why},
    )
    show_change(change)
    show_cluster(change.cluster)
