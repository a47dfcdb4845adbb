"""The whole table of a change's life: every kind, status and outcome, and what no path may do."""

from itertools import product

import pytest

from clusters.machine import (
    ENDINGS,
    LIVE,
    ChangeStatus,
    Effect,
    Kind,
    Move,
    Outcome,
    may_cancel,
    resume,
    step,
)

S, O, E, K = ChangeStatus, Outcome, Effect, Kind
SETBACKS = (O.REFUSED, O.HOPELESS, O.LATE, O.CANCELLED)
GOING = (K.CREATE, K.EDIT, K.RECONFIGURE)

COMMON = {
    (S.PROPOSED, O.STARTED): (S.CHECKING, E.CHECK),
    (S.CHECKING, O.GOOD): (S.APPLYING, E.APPLY),
    (S.CHECKING, O.UNSURE): (S.CHECKING, E.CHECK),
    (S.CHECKING, O.PROBLEMS): (S.REJECTED, E.NOTHING),
    (S.CHECKING, O.LATE): (S.REJECTED, E.NOTHING),
    (S.CHECKING, O.CANCELLED): (S.STOPPED, E.NOTHING),
    (S.CHECKING, O.GREW): (S.ASKING, E.HEAR),
    (S.ASKING, O.PATIENT): (S.ASKING, E.HEAR),
    (S.ASKING, O.CONFIRMED): (S.CHECKING, E.CHECK),
    (S.ASKING, O.CANCELLED): (S.STOPPED, E.NOTHING),
    (S.APPLYING, O.APPLIED): (S.OBSERVING, E.OBSERVE),
    (S.APPLYING, O.UNSURE): (S.APPLYING, E.APPLY),
    (S.APPLYING, O.PATIENT): (S.APPLYING, E.APPLY),
    (S.OBSERVING, O.GOOD): (S.COMMITTED, E.NOTHING),
    (S.OBSERVING, O.WAITING): (S.OBSERVING, E.OBSERVE),
    (S.OBSERVING, O.PATIENT): (S.OBSERVING, E.OBSERVE),
    (S.OBSERVING, O.AGAIN): (S.APPLYING, E.APPLY),
    (S.ROLLING_BACK, O.APPLIED): (S.ROLLING_BACK, E.CONFIRM),
    (S.ROLLING_BACK, O.UNSURE): (S.ROLLING_BACK, E.RESTORE),
    (S.ROLLING_BACK, O.WAITING): (S.ROLLING_BACK, E.CONFIRM),
    (S.ROLLING_BACK, O.PATIENT): (S.ROLLING_BACK, E.CONFIRM),
    (S.ROLLING_BACK, O.AGAIN): (S.ROLLING_BACK, E.RESTORE),
    (S.ROLLING_BACK, O.GOOD): (S.ROLLED_BACK, E.NOTHING),
    (S.ROLLING_BACK, O.CANCELLED): (S.STOPPED, E.NOTHING),
    (S.ROLLING_BACK, O.REFUSED): (S.STUCK, E.NOTHING),
    (S.ROLLING_BACK, O.HOPELESS): (S.STUCK, E.NOTHING),
    (S.ROLLING_BACK, O.LATE): (S.STUCK, E.NOTHING),
}
END = {
    (S.PROPOSED, O.STARTED): (S.APPLYING, E.END),
    (S.APPLYING, O.UNSURE): (S.APPLYING, E.END),
    (S.APPLYING, O.GOOD): (S.COMMITTED, E.NOTHING),
}
RESTART = {
    (S.PROPOSED, O.STARTED): (S.CHECKING, E.WEIGH),
    (S.CHECKING, O.GOOD): (S.APPLYING, E.ROLL),
    (S.CHECKING, O.LATE): (S.REJECTED, E.NOTHING),
    (S.CHECKING, O.CANCELLED): (S.STOPPED, E.NOTHING),
    (S.CHECKING, O.GREW): (S.ASKING, E.HEAR),
    (S.ASKING, O.PATIENT): (S.ASKING, E.HEAR),
    (S.ASKING, O.CONFIRMED): (S.CHECKING, E.WEIGH),
    (S.ASKING, O.CANCELLED): (S.STOPPED, E.NOTHING),
    (S.APPLYING, O.GOOD): (S.COMMITTED, E.NOTHING),
    (S.APPLYING, O.WAITING): (S.APPLYING, E.ROLL),
    (S.APPLYING, O.PATIENT): (S.APPLYING, E.ROLL),
    (S.APPLYING, O.AGAIN): (S.APPLYING, E.ROLL),
    (S.APPLYING, O.UNSURE): (S.APPLYING, E.ROLL),
    (S.ROLLING_BACK, O.GOOD): (S.FAILED, E.NOTHING),
    (S.ROLLING_BACK, O.CANCELLED): (S.STOPPED, E.NOTHING),
    (S.ROLLING_BACK, O.UNSURE): (S.ROLLING_BACK, E.RELEASE),
    (S.ROLLING_BACK, O.REFUSED): (S.STUCK, E.NOTHING),
    (S.ROLLING_BACK, O.HOPELESS): (S.STUCK, E.NOTHING),
    (S.ROLLING_BACK, O.LATE): (S.STUCK, E.NOTHING),
}
SETBACK = {
    K.CREATE: (S.FAILED, E.NOTHING),
    K.EDIT: (S.ROLLING_BACK, E.RESTORE),
    K.RECONFIGURE: (S.STUCK, E.NOTHING),
    K.TERMINATE: (S.STUCK, E.NOTHING),
    K.DELETE: (S.STUCK, E.NOTHING),
    K.RESTART: (S.ROLLING_BACK, E.RELEASE),
}


def expected(kind: Kind, status: ChangeStatus, outcome: Outcome) -> tuple[ChangeStatus, Effect] | None:
    if status in (S.APPLYING, S.OBSERVING) and outcome in SETBACKS:
        return SETBACK[kind]
    return (END if kind in ENDINGS else RESTART if kind is K.RESTART else COMMON).get((status, outcome))


@pytest.mark.parametrize(("kind", "status", "outcome"), list(product(Kind, ChangeStatus, Outcome)))
def test_every_pair_moves_as_the_table_says_or_is_a_fault(kind, status, outcome):
    answer = expected(kind, status, outcome)
    if answer is None:
        with pytest.raises(KeyError):
            step(kind, status, outcome)
    else:
        assert step(kind, status, outcome) == Move(*answer)


@pytest.mark.parametrize(
    ("status", "effect"),
    [
        (S.PROPOSED, E.CHECK),
        (S.CHECKING, E.CHECK),
        (S.ASKING, E.HEAR),
        (S.APPLYING, E.APPLY),
        (S.OBSERVING, E.OBSERVE),
        (S.ROLLING_BACK, E.RESTORE),
    ],
)
@pytest.mark.parametrize("kind", GOING)
def test_a_left_change_resumes_with_the_effect_of_its_status(kind, status, effect):
    assert resume(kind, status).effect is effect


@pytest.mark.parametrize("rested", [True, False])
@pytest.mark.parametrize(
    ("status", "effect"),
    [
        (S.PROPOSED, E.WEIGH),
        (S.CHECKING, E.WEIGH),
        (S.ASKING, E.HEAR),
        (S.APPLYING, E.ROLL),
        (S.ROLLING_BACK, E.RELEASE),
    ],
)
def test_a_left_restart_resumes_with_the_effect_of_its_status(status, effect, rested):
    assert resume(K.RESTART, status, rested=rested).effect is effect


@pytest.mark.parametrize(
    ("status", "effect"), [(S.OBSERVING, E.OBSERVE), (S.ROLLING_BACK, E.CONFIRM), (S.APPLYING, E.APPLY)]
)
@pytest.mark.parametrize("kind", GOING)
def test_a_rested_change_is_looked_at_and_not_written_again(kind, status, effect):
    assert resume(kind, status, rested=True) == Move(status, effect)


@pytest.mark.parametrize(("kind", "status"), list(product(Kind, ChangeStatus)))
def test_only_what_has_not_begun_or_a_live_edit_or_restart_that_does_not_end_already_may_be_cancelled(
    kind, status
):
    is_unbegun = status in (S.SCHEDULED, S.ASKING)
    answer = is_unbegun or (kind in (K.EDIT, K.RESTART) and status in LIVE and status is not S.ROLLING_BACK)
    assert may_cancel(kind, status) is answer


def test_a_scheduled_change_is_not_live():
    assert S.SCHEDULED not in LIVE and S.ASKING in LIVE


@pytest.mark.parametrize("kind", sorted(ENDINGS))
@pytest.mark.parametrize("status", [S.PROPOSED, S.APPLYING])
def test_a_left_ending_ends_again(kind, status):
    assert resume(kind, status) == Move(S.APPLYING, E.END)


def moves(kind: Kind) -> list[tuple[ChangeStatus, Move]]:
    return [
        (status, step(kind, status, outcome))
        for status, outcome in product(ChangeStatus, Outcome)
        if expected(kind, status, outcome)
    ]


def reachable(kind: Kind) -> set[ChangeStatus]:
    seen, new = {S.PROPOSED}, {S.PROPOSED}
    while new:
        new = {move.status for status, move in moves(kind) if status in new} - seen
        seen |= new
    return seen


@pytest.mark.parametrize("kind", list(Kind))
def test_a_status_has_an_effect_exactly_while_it_is_live(kind):
    assert all((move.status in LIVE) == bool(move.effect) for _, move in moves(kind))


@pytest.mark.parametrize("kind", list(Kind))
def test_nothing_leaves_an_end(kind):
    assert all(status in LIVE for status, _ in moves(kind))


@pytest.mark.parametrize(
    ("kind", "ends"),
    [
        (K.CREATE, {S.COMMITTED, S.REJECTED, S.STOPPED, S.FAILED}),
        (K.EDIT, {S.COMMITTED, S.REJECTED, S.ROLLED_BACK, S.STOPPED, S.STUCK}),
        (K.RECONFIGURE, {S.COMMITTED, S.REJECTED, S.STOPPED, S.STUCK}),
        (K.TERMINATE, {S.COMMITTED, S.STUCK}),
        (K.DELETE, {S.COMMITTED, S.STUCK}),
        (K.RESTART, {S.COMMITTED, S.REJECTED, S.STOPPED, S.FAILED, S.STUCK}),
    ],
)
def test_each_kind_can_end_only_so(kind, ends):
    assert reachable(kind) - LIVE == ends


def test_nothing_is_applied_unchecked():
    assert all(
        status in (S.CHECKING, S.APPLYING, S.OBSERVING)
        for kind in GOING
        for status, move in moves(kind)
        if move.effect is E.APPLY
    )


def test_only_a_good_judgement_commits():
    commits = {
        (status, outcome)
        for status, outcome in product(ChangeStatus, Outcome)
        if expected(K.EDIT, status, outcome) and step(K.EDIT, status, outcome).status is S.COMMITTED
    }
    assert commits == {(S.OBSERVING, O.GOOD)}
