"""Job ids: what is one, and how commands are told."""

import pytest

from console.errors import Rejected
from slurm.jobs.ids import argument, key_of, number, valid, waits_in


@pytest.mark.parametrize("job_id", ["12", "12_3", "12+1", "12_[4-9%2]", "12_[1,3,5-9:2%1]"])
def test_ids_as_squeue_prints_them_are_valid(job_id):
    assert valid(job_id) == job_id and number(job_id) == 12


@pytest.mark.parametrize(
    "job_id", ["", "-1", "12;rm", "12\n", "12 13", "--help", "12_", "12_[]", "12_[a]", "１２", "12.0"]
)
def test_nothing_else_is(job_id):
    with pytest.raises(Rejected):
        valid(job_id)


@pytest.mark.parametrize(
    ("task", "array", "waits"),
    [
        ("12_3", "12_[0-7,24-199%4]", True),
        ("12_8", "12_[0-7,24-199%4]", False),
        ("12_24", "12_[0-7,24]", True),
        ("12_6", "12_[4-8:2]", True),
        ("12_7", "12_[4-8:2]", False),
        ("13_3", "12_[0-7]", False),
        ("12", "12_[0-7]", False),
        ("12_3", "", False),
    ],
)
def test_a_task_is_found_among_those_that_wait(task: str, array: str, waits: bool) -> None:
    assert waits_in(task, array) is waits


def test_commands_get_neither_limits_nor_steps():
    assert argument("12") == "12" and argument("12_3") == "12_3"
    assert argument("4_[4-9%2]") == "4_[4-9]"
    assert argument("4_[1,4-8:2%2]") == "4_[1,4,6,8]"
    assert argument("4_[0-99999:2]") == "4"


def test_key_is_stable_while_an_array_shrinks():
    assert key_of("4_[4-9%2]") == key_of("4_[9]") == "4_[]" and key_of("4_3") == "4_3"
