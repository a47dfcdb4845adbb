"""The life of a Change, as one pure table: `step(kind, status, outcome) -> Move`.

`clusters.changes.run` performs what a Move asks for and feeds the outcome back; nothing else decides where a change
goes. Kinds differ only in what failure means: an *edit* is rolled back to the base revision, a *create* has nothing to
go back to and fails the cluster, an *end* (terminate, delete) can only be tried again.
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
    """`EDIT` covers rollback to an older revision too: it is an edit whose new spec is an old one."""

    CREATE = "create"
    EDIT = "edit"
    RECONFIGURE = "reconfigure"
    TERMINATE = "terminate"
    DELETE = "delete"


ENDINGS = frozenset({Kind.TERMINATE, Kind.DELETE})


class Outcome(StrEnum):
    """What happened when the effect of a status was performed."""

    STARTED = "started"
    GOOD = "good"
    PROBLEMS = "problems"
    REFUSED = "refused"
    HOPELESS = "hopeless"
    LATE = "late"
    WAITING = "waiting"


@dataclass(frozen=True)
class Move:
    """Where the change goes. `effect` is what to perform there: check, apply, observe, restore or nothing."""

    status: ChangeStatus
    effect: str = ""


S, O = ChangeStatus, Outcome

FORWARD: dict[tuple[ChangeStatus, Outcome], Move] = {
    (S.PROPOSED, O.STARTED): Move(S.CHECKING, "check"),
    (S.CHECKING, O.GOOD): Move(S.APPLYING, "apply"),
    (S.CHECKING, O.PROBLEMS): Move(S.REJECTED),
    (S.CHECKING, O.LATE): Move(S.REJECTED),
    (S.APPLYING, O.GOOD): Move(S.OBSERVING, "observe"),
    (S.OBSERVING, O.GOOD): Move(S.COMMITTED),
    (S.OBSERVING, O.WAITING): Move(S.OBSERVING, "observe"),
    (S.ROLLING_BACK, O.GOOD): Move(S.ROLLED_BACK),
    (S.ROLLING_BACK, O.WAITING): Move(S.ROLLING_BACK, "restore"),
    (S.ROLLING_BACK, O.REFUSED): Move(S.STUCK),
    (S.ROLLING_BACK, O.HOPELESS): Move(S.STUCK),
    (S.ROLLING_BACK, O.LATE): Move(S.STUCK),
}
BAD = (O.REFUSED, O.HOPELESS, O.LATE)
RESUME: dict[ChangeStatus, Move] = {
    S.PROPOSED: Move(S.CHECKING, "check"),
    S.CHECKING: Move(S.CHECKING, "check"),
    S.APPLYING: Move(S.APPLYING, "apply"),
    S.OBSERVING: Move(S.OBSERVING, "observe"),
    S.ROLLING_BACK: Move(S.ROLLING_BACK, "restore"),
}


def step(kind: Kind, status: ChangeStatus, outcome: Outcome) -> Move:
    """The next move. Raises KeyError for a pair that cannot happen, which is a fault in the caller."""
    if status in (S.APPLYING, S.OBSERVING) and outcome in BAD:
        return _setback(kind)
    return FORWARD[status, outcome]


def resume(status: ChangeStatus) -> Move:
    """The move of a worker that finds a change as another one left it: every effect may be performed twice."""
    return RESUME[status]


def _setback(kind: Kind) -> Move:
    if kind is Kind.EDIT:
        return Move(S.ROLLING_BACK, "restore")
    return Move(S.FAILED) if kind is Kind.CREATE else Move(S.STUCK)
