"""The life of a Change, as one pure table: `step(kind, status, outcome) -> Move`.

Pure. `clusters.run.run` performs what a Move asks for and feeds the outcome back; nothing else decides where
a change goes. Kinds differ only in what failure means: an *edit* is rolled back to the base revision, a
*create* has nothing to go back to and fails the cluster, an *end* (terminate, delete) can only be tried
again.
"""

from dataclasses import dataclass
from enum import StrEnum


class ChangeStatus(StrEnum):
    PROPOSED = "proposed"
    CHECKING = "checking"
    APPLYING = "applying"
    OBSERVING = "observing"
    COMMITTED = "committed"
    REJECTED = "rejected"
    ROLLING_BACK = "rolling back"
    ROLLED_BACK = "rolled back"
    FAILED = "failed"
    STUCK = "stuck"


LIVE = frozenset(
    {
        ChangeStatus.PROPOSED,
        ChangeStatus.CHECKING,
        ChangeStatus.APPLYING,
        ChangeStatus.OBSERVING,
        ChangeStatus.ROLLING_BACK,
    }
)


class Kind(StrEnum):
    """`EDIT` covers rollback to an older revision too: it is an edit whose new spec is an old one.

    `RECONFIGURE` renders and applies the committed revision again; for a cluster that never had one, trying
    again is `CREATE`.
    """

    CREATE = "create"
    EDIT = "edit"
    RECONFIGURE = "reconfigure"
    TERMINATE = "terminate"
    DELETE = "delete"


ENDINGS = frozenset({Kind.TERMINATE, Kind.DELETE})


class Outcome(StrEnum):
    """What happened when the effect of a status was performed.

    `GOOD` is an effect that reached its end, `APPLIED` one that wrote and now has to be judged. `WAITING` is
    a verdict that is not in yet (look again), `PATIENT` one that may take days (look again, and no time counts),
    `AGAIN` a phase that is over (write the next one), `UNSURE` an effect that may or may not have worked (perform it
    again). `REFUSED` and `HOPELESS` are evidence, `LATE` is a deadline that has passed, `CANCELLED` a person's wish.
    """

    STARTED = "started"
    GOOD = "good"
    APPLIED = "applied"
    PROBLEMS = "problems"
    REFUSED = "refused"
    HOPELESS = "hopeless"
    LATE = "late"
    CANCELLED = "cancelled"
    WAITING = "waiting"
    PATIENT = "patient"
    AGAIN = "again"
    UNSURE = "unsure"


class Effect(StrEnum):
    """What to perform. Every one may be performed twice."""

    NOTHING = ""
    CHECK = "check"
    APPLY = "apply"
    OBSERVE = "observe"
    RESTORE = "restore"
    CONFIRM = "confirm"
    END = "end"


@dataclass(frozen=True)
class Move:
    """Where the change goes, and what to perform there."""

    status: ChangeStatus
    effect: Effect = Effect.NOTHING


S, O, E = ChangeStatus, Outcome, Effect
BAD = (O.REFUSED, O.HOPELESS, O.LATE)
SETBACKS = (*BAD, O.CANCELLED)
# Only an edit has something to go back to; while it goes back, there is nothing left to cancel.
CANCELLABLE = LIVE - {S.ROLLING_BACK}

FORWARD: dict[tuple[ChangeStatus, Outcome], Move] = {
    (S.PROPOSED, O.STARTED): Move(S.CHECKING, E.CHECK),
    (S.CHECKING, O.GOOD): Move(S.APPLYING, E.APPLY),
    (S.CHECKING, O.UNSURE): Move(S.CHECKING, E.CHECK),
    (S.CHECKING, O.PROBLEMS): Move(S.REJECTED),
    (S.CHECKING, O.LATE): Move(S.REJECTED),
    (S.CHECKING, O.CANCELLED): Move(S.REJECTED),
    (S.APPLYING, O.APPLIED): Move(S.OBSERVING, E.OBSERVE),
    (S.APPLYING, O.UNSURE): Move(S.APPLYING, E.APPLY),
    (S.OBSERVING, O.GOOD): Move(S.COMMITTED),
    (S.OBSERVING, O.WAITING): Move(S.OBSERVING, E.OBSERVE),
    (S.OBSERVING, O.PATIENT): Move(S.OBSERVING, E.OBSERVE),
    (S.OBSERVING, O.AGAIN): Move(S.APPLYING, E.APPLY),
    (S.ROLLING_BACK, O.APPLIED): Move(S.ROLLING_BACK, E.CONFIRM),
    (S.ROLLING_BACK, O.UNSURE): Move(S.ROLLING_BACK, E.RESTORE),
    (S.ROLLING_BACK, O.GOOD): Move(S.ROLLED_BACK),
    (S.ROLLING_BACK, O.WAITING): Move(S.ROLLING_BACK, E.CONFIRM),
    (S.ROLLING_BACK, O.PATIENT): Move(S.ROLLING_BACK, E.CONFIRM),
    (S.ROLLING_BACK, O.AGAIN): Move(S.ROLLING_BACK, E.RESTORE),
    **{(S.ROLLING_BACK, bad): Move(S.STUCK) for bad in BAD},
}
# Terminating and deleting ask the platform nothing beforehand and leave nothing to judge.
ENDING: dict[tuple[ChangeStatus, Outcome], Move] = {
    (S.PROPOSED, O.STARTED): Move(S.APPLYING, E.END),
    (S.APPLYING, O.GOOD): Move(S.COMMITTED),
    (S.APPLYING, O.UNSURE): Move(S.APPLYING, E.END),
}
RESUME: dict[ChangeStatus, Effect] = {
    S.CHECKING: E.CHECK,
    S.APPLYING: E.APPLY,
    S.OBSERVING: E.OBSERVE,
    S.ROLLING_BACK: E.RESTORE,
}


def step(kind: Kind, status: ChangeStatus, outcome: Outcome) -> Move:
    """The next move. Raises KeyError for a pair that cannot happen, which is a fault in the caller."""
    if status in (S.APPLYING, S.OBSERVING) and outcome in SETBACKS:
        return _setback(kind)
    return (ENDING if kind in ENDINGS else FORWARD)[status, outcome]


def resume(kind: Kind, status: ChangeStatus, *, rested: bool = False) -> Move:
    """The move of a worker that finds a change as another one left it. `rested`: let go of during a patient wait, when
    everything was written and only has to be looked at."""
    if status is S.PROPOSED:
        return step(kind, status, O.STARTED)
    if rested and status is S.ROLLING_BACK:
        return Move(status, E.CONFIRM)
    return Move(status, E.END if kind in ENDINGS else RESUME[status])


def _setback(kind: Kind) -> Move:
    if kind is Kind.EDIT:
        return Move(S.ROLLING_BACK, E.RESTORE)
    return Move(S.FAILED) if kind is Kind.CREATE else Move(S.STUCK)


def may_cancel(kind: Kind, status: ChangeStatus) -> bool:
    return kind is Kind.EDIT and status in CANCELLABLE


def gives_way(live: Kind, to: Kind) -> bool:
    """Whether a live change may be given up for a new one: only a creation, to be tried again or to be
    ended."""
    return live is Kind.CREATE and to in (Kind.CREATE, Kind.TERMINATE)
