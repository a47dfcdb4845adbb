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
from clusters.leases import Clock, LeaseLost
from clusters.machine import ENDINGS, ChangeStatus, Effect, Kind, Move, Outcome

SYSTEM = Clock()
CHECK_S = 10
EDIT_S = 120
CREATE_S = 300
RESTORE_S = 120
LOOK_AGAIN_S = 0.5
MOST_ATTEMPTS = 6
AGAIN = frozenset({Outcome.WAITING, Outcome.UNSURE})
LOOKS = frozenset({Effect.OBSERVE, Effect.CONFIRM})
log = logging.getLogger(__name__)


def run(change_id: int, *, clock: Clock = SYSTEM) -> None:
    """Bring the change to its end, or return at once when another worker has it. Blocks for minutes."""
    lease = leases.take(change_id, clock)
    if lease is None:
        return
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
        if outcome in AGAIN:
            work.clock.sleep(LOOK_AGAIN_S)
        move = machine.step(kind, move.status, outcome)
    finish(work, move.status)


def _first(work: Work) -> Move:
    return machine.resume(Kind(work.change.kind), ChangeStatus(work.change.status))


def _enter(work: Work, move: Move) -> None:
    """Write the status before its effect begins, with the time by which it must have ended."""
    if work.change.status == move.status:
        work.lease.write()
        return
    fields: dict[str, object] = {"status": move.status}
    if allowed := _allowed_s(Kind(work.change.kind), move.status):
        fields["deadline"] = work.clock.now() + timedelta(seconds=allowed)
    if move.status is ChangeStatus.ROLLING_BACK:
        fields |= {"why": work.why, "attempts": 1}
    work.lease.write(**fields)
    work.say(*SENTENCES[move.status](work))


def _allowed_s(kind: Kind, status: ChangeStatus) -> int | None:
    """Seconds from entering `status`; None when it shares the time of the one before."""
    if status is ChangeStatus.APPLYING:
        return CREATE_S if kind is Kind.CREATE else EDIT_S
    return {ChangeStatus.CHECKING: CHECK_S, ChangeStatus.ROLLING_BACK: RESTORE_S}.get(status)


def _perform(work: Work, move: Move) -> Outcome:
    """A look is taken even past the deadline: what came slowly and is there need not be undone."""
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


def _applying(work: Work) -> tuple[str, str]:
    if work.change.kind in ENDINGS:
        return f"Ending {work.change.cluster.slug}.", "busy"
    return "Checked: nothing speaks against it. Applying.", "busy"


SENTENCES: dict[ChangeStatus, Callable[[Work], tuple[str, str]]] = {
    ChangeStatus.CHECKING: lambda work: ("Checking before anything is touched.", "busy"),
    ChangeStatus.APPLYING: _applying,
    ChangeStatus.OBSERVING: lambda work: ("Applied. Waiting until the cluster itself says so.", "busy"),
    ChangeStatus.ROLLING_BACK: lambda work: (
        f"{work.why} Going back to revision {work.base.number}.".strip(),
        "bad",
    ),
}
