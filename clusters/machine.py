"""The life of a Change, as one pure table: `step(kind, status, outcome) -> Move`.

Pure. `clusters.run.run` performs what a Move asks for and feeds the outcome back; nothing else decides where
a change goes. Kinds differ in what failure means: an *edit* is rolled back to the base revision, a
*create* has nothing to go back to and fails the cluster, an *end* (terminate, delete) can only be tried
again, and a *restart* stops where it is. What a person gives up is *stopped*, whatever was undone for it: a wish is
no failure.
"""

from dataclasses import dataclass
from enum import StrEnum


class ChangeStatus(StrEnum):
    """SCHEDULED waits for its time and is not on its way yet; ASKING costs more than was promised, and a person has to
    say yes or no. STOPPED was given up by a person: before it touched anything, or with what it did undone, or, a
    restart, where it was."""

    SCHEDULED = "scheduled"
    PROPOSED = "proposed"
    CHECKING = "checking"
    ASKING = "asking"
    APPLYING = "applying"
    OBSERVING = "observing"
    COMMITTED = "committed"
    REJECTED = "rejected"
    ROLLING_BACK = "rolling back"
    ROLLED_BACK = "rolled back"
    STOPPED = "stopped"
    FAILED = "failed"
    STUCK = "stuck"


LIVE = frozenset(
    {
        ChangeStatus.PROPOSED,
        ChangeStatus.CHECKING,
        ChangeStatus.ASKING,
        ChangeStatus.APPLYING,
        ChangeStatus.OBSERVING,
        ChangeStatus.ROLLING_BACK,
    }
)


class Kind(StrEnum):
    """`EDIT` covers rollback to an older revision too: it is an edit whose new spec is an old one.

    `RECONFIGURE` renders and applies the committed revision again; for a cluster that never had one, trying
    again is `CREATE`. `RESTART` makes no revision: services or nodes start anew, one after the other or at a time.
    """

    CREATE = "create"
    EDIT = "edit"
    RECONFIGURE = "reconfigure"
    TERMINATE = "terminate"
    DELETE = "delete"
    RESTART = "restart"


ENDINGS = frozenset({Kind.TERMINATE, Kind.DELETE})
STOPPABLE = frozenset({Kind.EDIT, Kind.RESTART})


class Outcome(StrEnum):
    """What happened when the effect of a status was performed.

    `GOOD` is an effect that reached its end, `APPLIED` one that wrote and now has to be judged. `WAITING` is a
    verdict that is not in yet (look again), `PATIENT` one that may take days (look again, and no time counts),
    `AGAIN` a phase that is over (write the next one), `UNSURE` an effect that may or may not have worked (perform it
    again). `GREW` is a cost beyond what was promised, `CONFIRMED` a person's yes to that. `REFUSED` and `HOPELESS`
    are evidence, `LATE` is a deadline that has passed, `CANCELLED` a person's wish; on the way back it says that all of
    what they wanted is done.
    """

    STARTED = "started"
    GOOD = "good"
    APPLIED = "applied"
    PROBLEMS = "problems"
    GREW = "grew"
    CONFIRMED = "confirmed"
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
    HEAR = "hear"
    APPLY = "apply"
    OBSERVE = "observe"
    RESTORE = "restore"
    CONFIRM = "confirm"
    END = "end"
    WEIGH = "weigh"
    ROLL = "roll"
    RELEASE = "release"


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
    (S.CHECKING, O.CANCELLED): Move(S.STOPPED),
    (S.CHECKING, O.GREW): Move(S.ASKING, E.HEAR),
    (S.ASKING, O.PATIENT): Move(S.ASKING, E.HEAR),
    (S.ASKING, O.CONFIRMED): Move(S.CHECKING, E.CHECK),
    (S.ASKING, O.CANCELLED): Move(S.STOPPED),
    (S.APPLYING, O.APPLIED): Move(S.OBSERVING, E.OBSERVE),
    (S.APPLYING, O.UNSURE): Move(S.APPLYING, E.APPLY),
    (S.APPLYING, O.PATIENT): Move(S.APPLYING, E.APPLY),
    (S.OBSERVING, O.GOOD): Move(S.COMMITTED),
    (S.OBSERVING, O.WAITING): Move(S.OBSERVING, E.OBSERVE),
    (S.OBSERVING, O.PATIENT): Move(S.OBSERVING, E.OBSERVE),
    (S.OBSERVING, O.AGAIN): Move(S.APPLYING, E.APPLY),
    (S.ROLLING_BACK, O.APPLIED): Move(S.ROLLING_BACK, E.CONFIRM),
    (S.ROLLING_BACK, O.UNSURE): Move(S.ROLLING_BACK, E.RESTORE),
    (S.ROLLING_BACK, O.GOOD): Move(S.ROLLED_BACK),
    (S.ROLLING_BACK, O.CANCELLED): Move(S.STOPPED),
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
# A restart is weighed against what was promised, goes on node by node, and lets go of those that it has not come to.
RESTARTING: dict[tuple[ChangeStatus, Outcome], Move] = {
    (S.PROPOSED, O.STARTED): Move(S.CHECKING, E.WEIGH),
    (S.CHECKING, O.GOOD): Move(S.APPLYING, E.ROLL),
    (S.CHECKING, O.LATE): Move(S.REJECTED),
    (S.CHECKING, O.CANCELLED): Move(S.STOPPED),
    (S.CHECKING, O.GREW): Move(S.ASKING, E.HEAR),
    (S.ASKING, O.PATIENT): Move(S.ASKING, E.HEAR),
    (S.ASKING, O.CONFIRMED): Move(S.CHECKING, E.WEIGH),
    (S.ASKING, O.CANCELLED): Move(S.STOPPED),
    (S.APPLYING, O.GOOD): Move(S.COMMITTED),
    **{(S.APPLYING, again): Move(S.APPLYING, E.ROLL) for again in (O.WAITING, O.PATIENT, O.AGAIN, O.UNSURE)},
    (S.ROLLING_BACK, O.GOOD): Move(S.FAILED),
    (S.ROLLING_BACK, O.CANCELLED): Move(S.STOPPED),
    (S.ROLLING_BACK, O.UNSURE): Move(S.ROLLING_BACK, E.RELEASE),
    **{(S.ROLLING_BACK, bad): Move(S.STUCK) for bad in BAD},
}
RESUME: dict[ChangeStatus, Effect] = {
    S.CHECKING: E.CHECK,
    S.ASKING: E.HEAR,
    S.APPLYING: E.APPLY,
    S.OBSERVING: E.OBSERVE,
    S.ROLLING_BACK: E.RESTORE,
}
RESUME_RESTART = {
    S.CHECKING: E.WEIGH,
    S.ASKING: E.HEAR,
    S.APPLYING: E.ROLL,
    S.ROLLING_BACK: E.RELEASE,
}


def step(kind: Kind, status: ChangeStatus, outcome: Outcome) -> Move:
    """The next move. Raises KeyError for a pair that cannot happen, which is a fault in the caller."""
    if status in (S.APPLYING, S.OBSERVING) and outcome in SETBACKS:
        return _setback(kind)
    return _table(kind)[status, outcome]


def resume(kind: Kind, status: ChangeStatus, *, rested: bool = False) -> Move:
    """The move of a worker that finds a change as another one left it. `rested`: let go of during a patient wait, when
    everything was written and only has to be looked at."""
    if status is S.PROPOSED:
        return step(kind, status, O.STARTED)
    if kind is Kind.RESTART:
        return Move(status, RESUME_RESTART[status])
    if rested and status is S.ROLLING_BACK:
        return Move(status, E.CONFIRM)
    return Move(status, E.END if kind in ENDINGS else RESUME[status])


def _table(kind: Kind) -> dict[tuple[ChangeStatus, Outcome], Move]:
    if kind is Kind.RESTART:
        return RESTARTING
    return ENDING if kind in ENDINGS else FORWARD


def _setback(kind: Kind) -> Move:
    if kind is Kind.EDIT:
        return Move(S.ROLLING_BACK, E.RESTORE)
    if kind is Kind.RESTART:
        return Move(S.ROLLING_BACK, E.RELEASE)
    return Move(S.FAILED) if kind is Kind.CREATE else Move(S.STUCK)


def may_cancel(kind: Kind, status: ChangeStatus) -> bool:
    """Before anything was touched, whatever it is; afterwards only an edit can be undone, and a restart stopped."""
    return status in (S.SCHEDULED, S.ASKING) or (kind in STOPPABLE and status in CANCELLABLE)


def gives_way(live: Kind, to: Kind) -> bool:
    """Whether a live change may be given up for a new one: only a creation, to be tried again or to be
    ended."""
    return live is Kind.CREATE and to in (Kind.CREATE, Kind.TERMINATE)
