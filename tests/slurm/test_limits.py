"""Limits as people type them, as they are kept, as sacctmgr is told of a change, and what is enforced."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurm.accounts.enforcement import enforcement_of
from slurm.accounts.limits import (
    ASSOCIATION_LIMITS,
    MOST,
    QOS_LIMITS,
    Kind,
    Limit,
    LimitError,
    setting,
    tres_of,
    tres_text,
    typed_value,
)

COUNT = Limit("MaxJobs", Kind.COUNT, "")
WALL = Limit("MaxWall", Kind.DURATION, "")
TRES = Limit("GrpTRES", Kind.TRES, "")


@pytest.mark.parametrize(
    ("limit", "text", "kept"),
    [
        (COUNT, " 12 ", "12"),
        (COUNT, "", ""),
        (COUNT, "0", "0"),
        (WALL, "1-00:00:00", "1440"),
        (WALL, "90", "90"),
        (WALL, "INFINITE", ""),
        (TRES, "8", "gres/gpu=8"),
        (TRES, "cpu=64, gres/gpu=8 ,mem=1T", "gres/gpu=8,cpu=64,mem=1048576"),
        (TRES, "gres/gpu:h100=4,license/matlab@db=2", None),
        (TRES, "gres/gpu:h100=4,license/matlab=2", "gres/gpu:h100=4,license/matlab=2"),
        (COUNT, "-1", None),
        (COUNT, str(MOST + 1), None),
        (COUNT, "1e3", None),
        (COUNT, "٣", None),
        (WALL, "soon", None),
        (TRES, "gpu=8", None),
        (TRES, "cpu=1,cpu=2", None),
        (TRES, "cpu", None),
        (TRES, "cpu=1 where name=root", None),
        (TRES, "mem=lots", None),
        (TRES, "gres/gpu=8\nParent=root", None),
    ],
)
def test_typed(limit, text, kept):
    if kept is None:
        with pytest.raises(LimitError, match=r"\.$"):
            typed_value(limit, text)
    else:
        assert typed_value(limit, text) == kept


@pytest.mark.parametrize(
    ("limit", "before", "after", "word"),
    [
        (COUNT, "", "4", "MaxJobs=4"),
        (COUNT, "4", "", "MaxJobs=-1"),
        (COUNT, "4", "4", ""),
        (WALL, "60", "120", "MaxWall=120"),
        (TRES, "", "gres/gpu=8", "GrpTRES=gres/gpu=8"),
        (TRES, "gres/gpu=8,cpu=64", "gres/gpu=8,cpu=32", "GrpTRES=cpu=32"),
        (TRES, "gres/gpu=8,cpu=64", "gres/gpu=4", "GrpTRES=gres/gpu=4,cpu=-1"),
        (TRES, "gres/gpu=8", "", "GrpTRES=gres/gpu=-1"),
    ],
)
def test_a_change_is_told_in_one_word_that_takes_away_what_is_gone(limit, before, after, word):
    assert setting(limit, before, after) == word


@given(st.text(max_size=60), st.sampled_from((*ASSOCIATION_LIMITS, *QOS_LIMITS)))
def test_what_is_accepted_is_one_word_of_plain_letters(text, limit):
    try:
        kept = typed_value(limit, text)
    except LimitError:
        return
    assert kept.isascii() and not any(c.isspace() or c in "'\"" for c in kept)
    assert typed_value(limit, kept) == kept


@given(
    st.dictionaries(
        st.sampled_from(["gres/gpu", "cpu", "mem", "gres/gpu:h100", "node"]), st.integers(0, MOST)
    )
)
def test_resources_come_back_as_they_were(tres):
    assert tres_of(tres_text(tres)) == tres


def test_every_limit_has_a_field_of_its_own():
    for limits in (ASSOCIATION_LIMITS, QOS_LIMITS):
        assert len({limit.field for limit in limits}) == len(limits)
    assert QOS_LIMITS[0].field == "max_tres_per_user"


@pytest.mark.parametrize(
    ("said", "limits", "qos", "needs_association"),
    [
        ("none", False, False, False),
        ("(null)", False, False, False),
        ("associations", False, False, True),
        ("associations,limits,qos", True, True, True),
        ("safe", True, False, True),
        ("qos", False, True, True),
        ("all", True, True, True),
    ],
)
def test_what_is_enforced_follows_from_the_words_of_the_key(said, limits, qos, needs_association):
    found = enforcement_of(
        {"AccountingStorageEnforce": said, "AccountingStorageType": "accounting_storage/slurmdbd"}
    )
    assert (found.limits, found.qos, found.needs_association) == (limits, qos, needs_association)
    assert found.has_accounting and found.sentence.endswith(".")


def test_a_cluster_without_a_database_has_no_accounting():
    for kind in ("(null)", "accounting_storage/none", ""):
        assert not enforcement_of({"AccountingStorageType": kind}).has_accounting
