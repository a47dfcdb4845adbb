"""What a real controller and its accounting say about one job, as its page asks."""

from datetime import UTC, datetime

from slurm.client import Slurm
from slurm.jobs.facts import gather
from slurm.jobs.usage import usage_of
from slurm.models import Job
from tests.slurm.live.conftest import SLEEP, until


def a_row(number: int, key: str = "") -> Job:
    now = datetime.now(UTC)
    return Job(key=key or str(number), number=number, submit_at=now, start_at=now, state="RUNNING")


def test_a_running_jobs_facts_are_all_there(slurm: Slurm) -> None:
    number = slurm.submit(SLEEP, ["--gres=gpu:2", "--job-name=a\tb\nc", "--comment=x|y"])
    until(lambda: slurm.job(str(number))["State"] == "RUNNING")
    facts = gather(slurm.executor, a_row(number))
    assert facts.problems == ()
    assert facts.script == SLEEP
    assert dict(facts.files)["Output"].endswith(f"slurm-{number}.out")
    assert facts.eligible[:2] == "20" and facts.detail["Comment"] == "x|y"


def test_accounting_tells_asked_given_and_the_steps(slurm: Slurm) -> None:
    script = "#!/bin/sh\nsrun -n1 --job-name='s|t\nu' sh -c 'exit 3'\nsleep 300\n"
    number = slurm.submit(script, ["--gres=gpu:2"])
    until(lambda: (found := usage_of(slurm.executor, str(number))) and len(found.steps) >= 2)
    until(lambda: (found := usage_of(slurm.executor, str(number))) and found.steps[-1].state == "FAILED")
    usage = usage_of(slurm.executor, str(number))
    assert usage is not None
    assert (usage.asked.gpus, usage.given.gpus, usage.given.nodes) == (2, 2, 1)
    step = next(step for step in usage.steps if step.name == "0")
    assert (step.title, step.exit_code) == ("s|t\nu", "3:0")


def test_a_task_of_an_array_is_asked_for_by_its_own_id(slurm: Slurm) -> None:
    number = slurm.submit(SLEEP, ["--array=1-2"])
    until(lambda: slurm.job(f"{number}_2")["State"] == "RUNNING")
    facts = gather(slurm.executor, a_row(number, f"{number}_2"))
    assert facts.problems == () and facts.detail["Job"] == f"{number}_2"
    until(lambda: usage_of(slurm.executor, f"{number}_2"))


def test_a_job_that_nobody_knows_is_forgotten_and_no_problem(slurm: Slurm) -> None:
    facts = gather(slurm.executor, a_row(999_999))
    assert facts.is_forgotten and facts.problems == () and facts.usage is None
