"""How much of each limit is used, the last days, and what a priority is made of."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest

from clusters.observation import JobSeen
from slurm.accounts.book import Book
from slurm.accounts.enforcement import enforcement_of
from slurm.accounts.usage import days_of, ranked, uses_of
from slurm.outputs.accounts import Association, Qos
from slurm.outputs.qos_usage import decode_qos_minutes
from slurm.outputs.shares import Priority, Share

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


@dataclass
class Job:
    user: str = "kim"
    account: str = "llm"
    qos: str = "short"
    state: str = "RUNNING"
    task_count: int = 1
    gpus: int = 2
    cpus: int = 8
    memory_mib: int | None = 1024
    node_count: int = 1


OWN = (
    Association("root"),
    Association(
        "vision", parent="root", limits={"GrpTRES": "gres/gpu=16,cpu=64", "GrpTRESMins": "gres/gpu=600"}
    ),
    Association("llm", parent="vision", limits={"GrpJobs": "5"}),
    Association("llm", "kim", qos=("short",)),
)
IN_FORCE = (
    *OWN[:3],
    Association("llm", "kim", qos=("short",), limits={"MaxJobs": "3", "MaxSubmitJobs": "9", "MaxWall": "60"}),
)
SHORT = Qos(
    "short",
    limits={
        "MaxTRESPerUser": "gres/gpu=4",
        "MaxJobsPerUser": "2",
        "GrpTRES": "gres/gpu=8",
        "GrpTRESMins": "gres/gpu=100",
        "MaxTRESPerJob": "gres/gpu=2",
    },
)
BOOK = Book("tiny", (), (), OWN, IN_FORCE, (Qos("normal"), SHORT))
JOBS = [
    Job(),
    Job(state="PENDING", task_count=4),
    Job(user="mo", gpus=4),
    Job(user="mo", account="vision", qos="normal", gpus=1),
    Job(user="mo", account="root", gpus=64),
]


def test_each_limit_counts_the_jobs_that_it_is_about():
    shares = (Share("vision", "", "", 1, 0.5, 60, 0.5, None, {"gres/gpu": 90.4}),)
    uses = {
        (use.scope, use.limit.option, use.words): use.used
        for use in uses_of(BOOK, "kim", JOBS, shares, {"short": {"gres/gpu": 7}})
    }
    assert uses == {
        ("kim in llm", "MaxJobs", "3 jobs"): 1,
        ("kim in llm", "MaxSubmitJobs", "9 jobs"): 5,
        ("kim in llm", "MaxWall", "1 h"): None,
        ("account llm", "GrpJobs", "5 jobs"): 2,
        ("account vision", "GrpTRES", "16 GPUs"): 7,
        ("account vision", "GrpTRES", "64 CPUs"): 24,
        ("account vision", "GrpTRESMins", "600 GPU-minutes"): 90.4,
        ("QOS short", "MaxTRESPerUser", "4 GPUs"): 2,
        ("QOS short", "MaxJobsPerUser", "2 jobs"): 1,
        ("QOS short", "GrpTRES", "8 GPUs"): 70,
        ("QOS short", "GrpTRESMins", "100 GPU-minutes"): 7,
        ("QOS short", "MaxTRESPerJob", "2 GPUs"): None,
    }


def test_a_limit_is_full_when_all_of_it_is_used():
    full = [use.limit.option for use in uses_of(BOOK, "mo", JOBS, (), {}) if use.is_full]
    assert full == []
    mo = Book("tiny", (), (), OWN, (*IN_FORCE, Association("llm", "mo", qos=("short",))), BOOK.qos)
    assert "MaxTRESPerUser" in [use.limit.option for use in uses_of(mo, "mo", JOBS, (), {}) if use.is_full]


PARTS = {"age": 10, "fair_share": 600, "qos_factor": 0}
PRIORITY = Priority(7, "kim", "all", PARTS, {"gres/gpu": 40, "cpu": 2}, 5, 647)


def test_a_priority_is_told_by_its_largest_part_first():
    found = ranked(PRIORITY, enforcement_of({"PriorityWeightFairShare": "1000", "PriorityWeightAge": "100"}))
    assert [(part.name, part.value, part.most) for part in found.parts] == [
        ("fair_share", 600, 1000),
        ("tres", 42, 0),
        ("age", 10, 100),
    ]
    assert "600 of at most 1000" in found.sentence and "(--nice)" in found.sentence


def test_a_priority_without_factors_says_that_the_order_is_that_of_submission():
    found = ranked(Priority(7, "kim", "all", {"age": 0}, {}, 0, 1), enforcement_of({}))
    assert found.parts == () and "order of their submission" in found.sentence


def a_job(start: datetime | None, end: datetime | None, gpus: int = 2) -> JobSeen:
    waited = JobSeen("1", NOON, "x", "kim", "", "all", "RUNNING", "", 1, "", 1, 4, gpus, 1, 60, None, None)
    return replace(waited, start_at=start, end_at=end)


def test_days_are_cut_at_midnight_and_running_jobs_count_up_to_now():
    jobs = [
        a_job(NOON - timedelta(hours=36), NOON - timedelta(hours=6)),
        a_job(NOON - timedelta(hours=2), None, gpus=8),
        a_job(NOON - timedelta(days=20), NOON - timedelta(days=19)),
        a_job(None, None),
    ]
    days = days_of(jobs, NOON)
    assert [round(day.gpu_hours, 1) for day in days] == [0, 0, 0, 0, 0, 48.0, 28.0]
    assert [day.jobs for day in days] == [0, 0, 0, 0, 0, 1, 2] and days[-1].start.hour == 0


@pytest.mark.parametrize(
    ("said", "read"),
    [
        (b"Records\n\nQOS=a(3) UsageRaw=1.0 GrpTRES=cpu=8(2) GrpTRESMins=cpu=N(4),gres/gpu=1000(12) X=1\n",
         {"a": {"cpu": 4, "gres/gpu": 12}}),
        (b"No QOS found\n", {}),
        (b"QOS=a(1) UsageRaw=0 GrpTRESMins=cpu=N(1)\nQOS=a(1) UsageRaw=0 GrpTRESMins=cpu=N(9)\n", {"a": {"cpu": 1}}),
        (b"x QOS=a(1) UsageRaw=0 GrpTRESMins=cpu=N(1)\n", {}),
    ],
)  # fmt: skip
def test_used_minutes_of_qos(said, read):
    assert decode_qos_minutes(said) == read
