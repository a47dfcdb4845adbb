"""Carrying a change through: perform what `machine` asks for, feed the outcome back, until nothing more is asked.

Called by `clusters.tasks` only. May be started twice and killed anywhere: the lease lets one worker at a
time, every effect may be performed twice, and each status is written before its effect begins. Whatever
happens here is one sentence in the change's log. No platform is called inside a transaction.
"""

import logging
from collections.abc import Callable
from datetime import timedelta

from clusters import leases, machine
from clusters.effects import EFFECTS, Work
from clusters.endings import finish
from clusters.leases import Clock, Lease, LeaseLost
from clusters.machine import ENDINGS, ChangeStatus, Effect, Kind, Move, Outcome
from clusters.show import show_change

SYSTEM = Clock()
# A platform that is away for a minute delays a change in whichever status it is, and no more.
CHECK_S = 90
EDIT_S = 120
CREATE_S = 300
RESTORE_S = 240
LOOK_AGAIN_S = 0.5
MOST_ATTEMPTS = 6
AGAIN = frozenset({Outcome.WAITING, Outcome.UNSURE, Outcome.AGAIN})
LOOKS = frozenset({Effect.OBSERVE, Effect.CONFIRM, Effect.HEAR, Effect.ROLL})
log = logging.getLogger(__name__)


def run(change_id: int, *, clock: Clock = SYSTEM) -> None:
    """Bring the change to its end, or return at once when another worker has it. Blocks for minutes."""
    if lease := leases.take(change_id, clock):
        carry(lease)


def carry(lease: Lease) -> None:
    """The same for whoever has taken the change already."""
    change_id = lease.change.pk
    try:
        with leases.beating(lease):
            _travel(Work(lease))
    except LeaseLost:
        log.info("change left to another worker: change %s", change_id)
    except Exception:
        # The task boundary: a fault of ours. `resume_changes` tries again, at most MOST_ATTEMPTS times.
        log.exception("change interrupted: change %s", change_id)
    finally:
        lease.release()


def _travel(work: Work) -> None:
    kind, move = Kind(work.change.kind), _first(work)
    while move.effect:
        _enter(work, move)
        outcome = _perform(work, move)
        if outcome is Outcome.PATIENT:
            _rest(work)
            return
        work.lease.wake()
        if outcome in AGAIN:
            work.clock.sleep(LOOK_AGAIN_S)
        move = machine.step(kind, move.status, outcome)
    finish(work, move.status)


def _rest(work: Work) -> None:
    """Let go of a change that may wait for days: `resume_changes` has it looked at again every few seconds."""
    before = work.change.waits_for
    work.lease.rest(work.why)
    if work.why != before:
        show_change(work.change)


def _first(work: Work) -> Move:
    change = work.change
    is_written = change.rests and not change.takes_along
    return machine.resume(Kind(change.kind), ChangeStatus(change.status), rested=is_written)


def _enter(work: Work, move: Move) -> None:
    """Write the status before its effect begins, with the time by which it must have ended."""
    if work.change.status == move.status:
        work.lease.write()
        return
    before = ChangeStatus(work.change.status)
    fields: dict[str, object] = {"status": move.status}
    if move.status is ChangeStatus.CHECKING:
        fields["is_confirmed"] = False
    if work.change.begun_at is None:
        fields["begun_at"] = work.clock.now()
    if allowed := _allowed_s(Kind(work.change.kind), before, move.status):
        fields["deadline"] = work.clock.now() + timedelta(seconds=allowed)
    if move.status is ChangeStatus.ROLLING_BACK:
        fields |= {"why": work.why, "attempts": 1}
        if not work.is_given_up:
            # It failed before the worker heard of the wish: nobody is to be told that somebody stopped it.
            fields["cancelled_by"] = None
    work.lease.write(**fields)
    work.say(*SENTENCES[move.status](work, before))


def _allowed_s(kind: Kind, before: ChangeStatus, status: ChangeStatus) -> int | None:
    """Seconds from entering `status`; None when it shares the time of the one before."""
    if status is ChangeStatus.APPLYING and before is not ChangeStatus.OBSERVING:
        return CREATE_S if kind is Kind.CREATE else EDIT_S
    return {ChangeStatus.CHECKING: CHECK_S, ChangeStatus.ROLLING_BACK: RESTORE_S}.get(status)


def _perform(work: Work, move: Move) -> Outcome:
    """A look is taken even past the deadline: what came slowly and is there need not be undone."""
    if work.change.status != ChangeStatus.ROLLING_BACK and work.is_cancelled():
        return Outcome.CANCELLED
    if work.change.attempts > MOST_ATTEMPTS:
        return work.late(f"Given up after {MOST_ATTEMPTS} interrupted attempts.")
    if _is_late(work) and move.effect not in LOOKS:
        return work.late(f"Not done in time. {work.why}".strip())
    outcome = EFFECTS[move.effect](work)
    if outcome is Outcome.WAITING and _is_late(work):
        return work.late(f"Not done in time. {work.why}".strip())
    return outcome


def _is_late(work: Work) -> bool:
    return work.change.deadline is not None and work.clock.now() > work.change.deadline


def _applying(work: Work, before: ChangeStatus) -> tuple[str, str]:
    if work.change.kind in ENDINGS:
        return f"Ending {work.change.cluster.slug}.", "busy"
    if work.change.kind == Kind.RESTART:
        return "It costs no more than was said. Restarting.", "busy"
    if before is ChangeStatus.OBSERVING:
        return "Applying the next step.", "busy"
    return "Checked: nothing speaks against it. Applying.", "busy"


def _going_back(work: Work, before: ChangeStatus) -> tuple[str, str]:
    if work.change.kind == Kind.RESTART:
        words = f"{work.why} Nothing else restarts."
    else:
        words = f"{work.why} Going back to revision {work.base.number}.".strip()
    return words, "warn" if work.is_given_up else "bad"


SENTENCES: dict[ChangeStatus, Callable[[Work, ChangeStatus], tuple[str, str]]] = {
    ChangeStatus.CHECKING: lambda work, before: (
        "Confirmed. Checking again."
        if before is ChangeStatus.ASKING
        else "Checking before anything is touched.",
        "busy",
    ),
    ChangeStatus.ASKING: lambda work, before: (
        f"It would cost more than was promised. {work.why} Somebody has to say yes or no.",
        "warn",
    ),
    ChangeStatus.APPLYING: _applying,
    ChangeStatus.OBSERVING: lambda work, before: (
        "Applied. Waiting until the cluster itself says so.",
        "busy",
    ),
    ChangeStatus.ROLLING_BACK: _going_back,
}
