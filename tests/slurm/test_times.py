"""Durations as Slurm writes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurm.times import DurationError, format_time, parse_seconds, parse_time


@pytest.mark.parametrize(
    "text, minutes",
    [
        ("90", 90),
        ("0", 0),
        ("1:30", 2),
        ("1:30:00", 90),
        ("1-0", 1440),
        ("1-2:30", 1590),
        ("1-00:00:00", 1440),
        ("7-12:00:01", 10801),
        ("INFINITE", None),
        ("unlimited", None),
        ("-1", None),
    ],
)
def test_every_form_is_read_as_minutes(text: str, minutes: int | None) -> None:
    assert parse_time(text) == minutes


@pytest.mark.parametrize(
    "text", ["", "banana", "1d", "-5", "1:2:3:4", "1-", "1-2:3:4:5", "1.5", "٣", "1 hour"]
)
def test_other_text_is_refused_with_the_forms_named(text: str) -> None:
    with pytest.raises(DurationError, match="1-00:00:00"):
        parse_time(text)


def test_a_time_too_long_to_count_is_refused() -> None:
    with pytest.raises(DurationError, match="INFINITE"):
        parse_time("999999999-0")


def test_seconds_are_kept_where_asked_for() -> None:
    assert parse_seconds("1:30") == 90


def test_minutes_are_written_as_slurm_prints_them() -> None:
    assert [format_time(value) for value in (None, 0, 90, 1440, 1530)] == [
        "INFINITE", "00:00:00", "01:30:00", "1-00:00:00", "1-01:30:00",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="negative"):
        format_time(-1)


@given(st.one_of(st.none(), st.integers(0, 10**8)))
def test_what_is_written_is_read_back(minutes: int | None) -> None:
    assert parse_time(format_time(minutes)) == minutes
