"""What people say to a change that is there already: to give it up, to accept what it costs by now, to wait no longer.

As in `clusters.changes` each asks the role again, and is one transaction; the worker meets the answer at its next look.
"""

from dataclasses import replace

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from clusters.acts import Act, Edit, Reboot
from clusters.impact import to_json
from clusters.impacts import act_of, promise
from clusters.machine import CANCELLABLE, STOPPABLE, ChangeStatus
from clusters.models import Change
from clusters.opening import authorise, right_to_answer, tell
from clusters.schedule import withdraw
from console.errors import Conflict
from console.models import Membership

UNBEGUN = (ChangeStatus.SCHEDULED, ChangeStatus.ASKING)
# Where a change may rest because of jobs.
WAITS = (ChangeStatus.APPLYING, ChangeStatus.OBSERVING)


def cancel(change: Change, *, by: Membership) -> Change:
    """Ask for a live edit to be given up, with what it has done undone, or for a restart to go no further. Raises
    Forbidden, or Conflict when it is over, already being undone, or of a kind that cannot be cancelled."""
    cluster = change.cluster
    authorise(cluster, by, right_to_answer(change))
    with transaction.atomic():
        rows = Change.objects.filter(
            Q(kind__in=STOPPABLE, status__in=CANCELLABLE) | Q(status__in=UNBEGUN),
            pk=change.pk,
            cancelled_by=None,
        )
        is_done = rows.update(cancelled_by=by.user)
        change.refresh_from_db()
        if is_done and withdraw(
            change, f"Cancelled by {by.user.username}.", timezone.now(), status=ChangeStatus.STOPPED
        ):
            return change
        if not is_done:
            raise Conflict(_why_not_cancelled(change), "Its page shows how it goes on.")
        change.lines.create(text=f"{by.user.username} asked to cancel.", tone="warn")
        tell(change, "change.cancelled", by)
    return change


def confirm(change: Change, *, by: Membership) -> Change:
    """Say yes to what an asking change costs by now. Raises Forbidden, or Conflict when it does not ask."""
    cluster = change.cluster
    authorise(cluster, by, right_to_answer(change))
    with transaction.atomic():
        act = act_of(change)
        impact = promise(cluster, act) if act else None
        rows = Change.objects.filter(pk=change.pk, status=ChangeStatus.ASKING, cancelled_by=None)
        is_done = rows.update(is_confirmed=True, impact=to_json(impact) if impact else None)
        change.refresh_from_db()
        if not is_done:
            raise Conflict(f"Change {change.number} is {change.status}: it asks for nothing.")
        change.lines.create(text=f"{by.user.username} said yes to what it costs by now.")
        tell(change, "change.confirmed", by)
    return change


def force(change: Change, *, by: Membership) -> Change:
    """Wait no longer for jobs: those that a live change waits for end. Raises Forbidden, or Conflict when it waits for
    none."""
    cluster = change.cluster
    authorise(cluster, by, right_to_answer(change))
    with transaction.atomic():
        act = forced(change)
        impact = promise(cluster, act) if act else None
        rows = Change.objects.filter(
            pk=change.pk, status__in=WAITS, time_left__isnull=False, cancelled_by=None
        )
        is_done = impact and rows.update(force=True, impact=to_json(impact))
        change.refresh_from_db()
        if not is_done:
            raise Conflict(f"Change {change.number} is {change.status}: it waits for no job.")
        change.lines.create(text=f"{by.user.username} asked to wait no longer: the jobs end.", tone="warn")
        tell(change, "change.forced", by)
    return change


def forced(change: Change) -> Act | None:
    """What is left of a change that waits for jobs, with their end; None for one that does not."""
    act = act_of(change)
    if not change.can_be_forced:
        return None
    if isinstance(act, Reboot):
        return replace(act, when_idle=False)
    return replace(act, force=True) if isinstance(act, Edit) else None


def _why_not_cancelled(change: Change) -> str:
    if change.cancelled_by is not None and change.is_live:
        return f"Change {change.number} is being cancelled already."
    if change.is_live and change.kind not in STOPPABLE:
        return f"Change {change.number} is a {change.kind}: there is nothing to go back to."
    return f"Change {change.number} is {change.status}: there is nothing left to cancel."
