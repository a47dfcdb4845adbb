"""How a change ends: its last status, what becomes of the cluster, the last sentence and the event, all or
nothing.

Called by `clusters.run` only.
"""

from django.db import transaction

from clusters import rolling
from clusters.effects import Work
from clusters.lifecycle import Status
from clusters.machine import ENDINGS, ChangeStatus, Kind
from clusters.models import ChangeLine
from clusters.observation import Observation
from clusters.show import show_change, show_cluster
from clusters.watch import hand_over
from console import events, secrets

AFTER_COMMIT = {
    Kind.CREATE: Status.RUNNING,
    Kind.EDIT: Status.RUNNING,
    Kind.RECONFIGURE: Status.RUNNING,
    Kind.TERMINATE: Status.TERMINATED,
    Kind.DELETE: Status.DELETED,
}


# What somebody wanted came to be.
AS_WISHED = frozenset({ChangeStatus.COMMITTED, ChangeStatus.STOPPED})


def finish(work: Work, status: ChangeStatus) -> None:
    """Write the end in one transaction. Raises LeaseLost, having written nothing."""
    change, now = work.change, work.clock.now()
    # Before the status is written: of one that was stopped it tells whether anything had been touched.
    text, tone = _last_words(work, status)
    with transaction.atomic():
        work.lease.write(status=status, ended_at=now, lease_until=None, why=_why(work, status))
        ChangeLine.objects.create(change=change, text=text, tone=tone)
        _settle_cluster(work, status)
        events.record(
            f"change.{status}",
            by=change.by,
            team=change.cluster.team,
            cluster=change.cluster.slug,
            target=f"change {change.number}",
            outcome="done" if status in AS_WISHED else "failed",
            detail={"kind": change.kind, "summary": change.summary, "why": change.why, **_how_far(work)},
        )
        show_change(change)
        show_cluster(change.cluster)


def _why(work: Work, status: ChangeStatus) -> str:
    """A change that went back keeps the reason why it did, not how that went."""
    if status is ChangeStatus.COMMITTED:
        return ""
    went_back = (ChangeStatus.ROLLED_BACK, ChangeStatus.STOPPED)
    is_undone = status in went_back or work.change.kind == Kind.RESTART
    return work.change.why if is_undone and work.change.why else work.why


def _last_words(work: Work, status: ChangeStatus) -> tuple[str, str]:
    change, why = work.change, work.why
    words = {
        ChangeStatus.COMMITTED: (_done(work), "ok"),
        ChangeStatus.REJECTED: (f"Rejected, and nothing was touched. {why}", "bad"),
        ChangeStatus.ROLLED_BACK: (
            f"Rolled back: revision {change.base and change.base.number} runs again.",
            "warn",
        ),
        ChangeStatus.STOPPED: (_stopped(work), "warn"),
        ChangeStatus.FAILED: (_failed(work), "bad"),
        ChangeStatus.STUCK: (f"Stuck: somebody has to look at {change.cluster.slug}. {why}", "bad"),
    }
    text, tone = words[status]
    return text.strip(), tone


def _stopped(work: Work) -> str:
    change = work.change
    if change.status != ChangeStatus.ROLLING_BACK:
        return f"Stopped, and nothing was touched. {work.why}"
    if change.kind == Kind.RESTART:
        return f"Stopped: {_restarted(work)}"
    return f"Stopped and undone: revision {change.base and change.base.number} runs again."


def _failed(work: Work) -> str:
    return f"Failed: {_restarted(work)}" if work.change.kind == Kind.RESTART else f"Failed. {work.why}"


def _restarted(work: Work) -> str:
    return rolling.end_words(rolling.from_json(work.change.course))


def _how_far(work: Work) -> dict[str, str]:
    """For the audit trail: what a restart did and what it did not."""
    return {"did": _restarted(work)} if work.change.kind == Kind.RESTART else {}


def _done(work: Work) -> str:
    if work.change.kind == Kind.RESTART:
        return f"Done: {rolling.progress(rolling.from_json(work.change.course))}."
    if work.change.kind in ENDINGS:
        return f"Done: {work.change.cluster.slug} is {AFTER_COMMIT[Kind(work.change.kind)]}."
    return f"Done: revision {work.revision.number} is current."


def _settle_cluster(work: Work, status: ChangeStatus) -> None:
    cluster, kind = work.change.cluster, Kind(work.change.kind)
    if status is ChangeStatus.COMMITTED:
        if work.change.revision is not None:
            cluster.revision = work.change.revision
            cluster.save(update_fields=["revision"])
        if kind in AFTER_COMMIT:
            cluster.enter(AFTER_COMMIT[kind])
        _forget(work)
    elif kind is Kind.CREATE or kind in ENDINGS:
        cluster.enter(Status.FAILED, work.why)
    elif status is ChangeStatus.STUCK:
        cluster.enter(Status(cluster.status), f"Change {work.change.number} is stuck. {work.why}".strip())


def _forget(work: Work) -> None:
    """An ended cluster has no nodes, parts or queue; a deleted one has no secrets either."""
    cluster, kind = work.change.cluster, work.change.kind
    if kind in ENDINGS:
        nothing = Observation(taken_at=work.clock.now(), nodes=(), partitions=(), jobs=())
        hand_over(cluster, nothing)
    if kind == Kind.DELETE:
        secrets.drop(f"cluster:{cluster.key}")
