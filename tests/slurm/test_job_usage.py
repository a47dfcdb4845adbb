"""What accounting says about one job, cut out of an answer that may hold anything."""

import pytest

from console.errors import Unavailable
from slurm.jobs.facts import expanded
from slurm.jobs.usage import cpu_seconds, decode_usage, usage_of
from tests.slurm.fake_slurm import FakeExecutor


def test_asked_given_and_used_come_from_one_answer() -> None:
    usage = usage_of(FakeExecutor(), "4127")
    assert usage is not None
    assert (usage.asked.gpus, usage.given.gpus, usage.given.nodes) == (32, 32, 4)
    assert usage.memory_mib == 163_840
    assert usage.cpu_share == pytest.approx(0.78, abs=0.01)
    assert usage.memory_share == pytest.approx(0.625)
    assert [step.name for step in usage.steps] == ["batch", "0"]
    assert usage.steps[1].state == "CANCELLED"


def test_a_steps_name_forges_no_row() -> None:
    usage = usage_of(FakeExecutor(), "4127")
    assert usage is not None and usage.steps[1].title == "python <b>\nforged|row"


def test_a_job_that_accounting_does_not_know_has_no_usage() -> None:
    assert decode_usage(b"", "<m>", "4127") is None


def test_rows_of_other_tasks_stay_out() -> None:
    row = "<m>".join(["{}", "x", "COMPLETED", "5", "00:01", "", "", "", "cpu=1", "cpu=1", "0:0"])
    raw = "".join(f"{row.format(name)}\n" for name in ("7_1", "7_1.batch", "7_10", "7_10.batch")).encode()
    usage = decode_usage(raw, "<m>", "7_1")
    assert usage is not None and len(usage.steps) == 1


def test_an_answer_that_is_cut_off_is_no_answer() -> None:
    with pytest.raises(Unavailable):
        decode_usage(b"4127<m>train<m>COMP", "<m>", "4127")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("00:00:00", 0),
        ("01:02.500", 62.5),
        ("02:03:04", 7384),
        ("1-00:00:01", 86_401),
        ("", None),
        ("INVALID", None),
    ],
)
def test_cpu_time_is_read_in_every_form(text: str, seconds: float | None) -> None:
    assert cpu_seconds(text) == seconds


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/h/slurm-%j.out", "/h/slurm-4711.out"),
        ("%x-%A_%a.out", "train-4127_3.out"),
        ("%4a.%u", "0003.kim"),
        ("100%%-%N", "100%-%N"),
        ("plain", "plain"),
    ],
)
def test_a_file_pattern_is_filled_in_as_far_as_it_is_known(path: str, name: str) -> None:
    detail = {"Job": "4127_3", "Number": "4711", "Name": "train", "User": "kim"}
    assert expanded(path, detail) == name
