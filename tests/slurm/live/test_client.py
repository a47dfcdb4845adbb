"""The client against a real controller."""

import time
from datetime import UTC, datetime

import pytest

from console.errors import Conflict, Missing, Rejected, Unavailable
from slurm.provisioners.sandbox.space import keeping, signal_inside
from slurm.reasons import why
from tests.slurm.live.conftest import SLEEP, executor_of, until

EVIL = "a\n12<FFFFFFFF>\t|b\x1b[2J ' \" ; $(reboot) <RRRRRRRR>\nJobId=1 JobState=COMPLETED"


def job_of(slurm, number, task=""):
    return next(job for job in slurm.jobs() if job.job_id == f"{number}{task}")


def test_a_job_lives_from_submission_to_its_exit_code(slurm):
    number = slurm.submit("#!/bin/sh\n#SBATCH -J quick --gres=gpu:2\nexit 3\n")
    until(lambda: job_of(slurm, number).state == "FAILED")
    job = job_of(slurm, number)
    assert (job.name, job.user, job.gpus, job.exit_code) == ("quick", "root", 2, "3:0")
    assert job.work_dir == "/tmp" and why(job, slurm.nodes()) == "Exited with 3."
    assert slurm.job(str(number))["Name"] == "quick" and "exit 3" in slurm.script(str(number))


def test_jobs_start_with_a_home_and_without_the_callers_environment(slurm, monkeypatch):
    monkeypatch.setenv("SQUEUE_FORMAT2", "JobID")
    number = slurm.submit('#!/bin/sh\n[ "$HOME" = /root ] && [ -z "$SQUEUE_FORMAT2" ] && exit 7\n')
    until(lambda: job_of(slurm, number).exit_code == "7:0")


def test_hostile_texts_forge_nothing_in_the_queue(slurm):
    before = {job.job_id for job in slurm.jobs()}
    number = slurm.submit(SLEEP, ["-H", f"--job-name={EVIL}", f"--comment={EVIL}"])
    assert {job.job_id for job in slurm.jobs()} - before == {str(number)}
    job = job_of(slurm, number)
    assert (job.name, job.comment, job.state) == (EVIL, EVIL, "PENDING")
    assert slurm.job(str(number))["Comment"] == EVIL


def test_hostile_comment_and_reason_forge_no_node(slurm):
    line = "x\nNodeName=slinky-9 Arch=x86_64 CPUTot=8 State=IDLE RealMemory=1\nNodeName=slinky-1 State=DOWN CPUTot=1"
    slurm.executor.run(["scontrol", "update", "nodename=slinky-0", f"comment={line}", f"extra={line}"])
    slurm.drain(["slinky-0"], line)
    zero, one = slurm.nodes()
    assert (zero.name, zero.state.word, zero.cpus) == ("slinky-0", "drained", 8)
    assert (one.name, one.state.word, one.cpus) == ("slinky-1", "idle", 8)
    assert "NodeName=slinky-9" in zero.reason


def test_drain_keeps_who_and_why_until_resume(slurm):
    slurm.drain(["slinky-1"], "XID 79 on GPU 2 (by ada)")
    node = slurm.nodes()[1]
    assert (node.state.word, node.reason, node.reason_by) == ("drained", "XID 79 on GPU 2 (by ada)", "root")
    assert abs((node.reason_at - datetime.now(UTC)).total_seconds()) < 60
    slurm.resume(["slinky-1"])
    until(lambda: slurm.nodes()[1].state.word == "idle")
    assert slurm.nodes()[1].reason == ""


def test_hold_release_requeue_cancel(slurm):
    number = str(slurm.submit(SLEEP, ["-H"]))
    assert job_of(slurm, number).reason == "JobHeldUser"
    slurm.release([number])
    until(lambda: job_of(slurm, number).state == "RUNNING")
    slurm.requeue([number])
    until(lambda: job_of(slurm, number).state == "PENDING")
    slurm.hold([number])
    assert "JobHeld" in job_of(slurm, number).reason
    slurm.cancel([number])
    until(lambda: job_of(slurm, number).state == "CANCELLED")
    with pytest.raises(Conflict, match="ended already"):
        slurm.cancel([number])


def test_waiting_part_of_an_array_is_one_row_and_is_cancelled_by_the_id_it_shows(slurm):
    number = slurm.submit(SLEEP, ["--array=0-200:2%3", "--gres=gpu:1"])
    until(lambda: sum(job.state == "RUNNING" for job in slurm.jobs()) == 3)
    waiting = next(job for job in slurm.jobs() if job.array_job_id == number and job.state == "PENDING")
    assert (waiting.task_count, waiting.reason) == (98, "JobArrayTaskLimit")
    slurm.cancel([waiting.job_id])
    until(lambda: not any(job.state == "PENDING" for job in slurm.jobs()))
    assert sum(job.state == "RUNNING" for job in slurm.jobs()) == 3


def test_why_names_the_node_with_most_free_gpus(slurm):
    for node, gpus in (("slinky-0", 7), ("slinky-1", 6)):
        slurm.submit(SLEEP, ["-w", node, f"--gres=gpu:{gpus}"])
    until(lambda: sum(node.gpus_allocated for node in slurm.nodes()) == 13)
    number = slurm.submit(SLEEP, ["--gres=gpu:4"])
    until(lambda: job_of(slurm, number).reason == "Resources")
    assert why(job_of(slurm, number), slurm.nodes()) == "Needs 4 free GPUs on one node; most is 2 (slinky-1)."


def test_what_slurm_refuses_says_so_in_words(slurm):
    with pytest.raises(Missing, match="no such job"):
        slurm.cancel(["999999"])
    with pytest.raises(Rejected, match="can ever give"):
        slurm.submit(SLEEP, ["--gres=gpu:9"])
    with pytest.raises(Rejected, match="no such partition"):
        slurm.submit(SLEEP, ["-p", "nowhere"])
    with pytest.raises(Missing, match="no such node"):
        slurm.drain(["slinky-77"], "x")


def test_accounting_remembers_an_ended_job(slurm):
    began = datetime.now(UTC)
    number = slurm.submit("#!/bin/sh\nexit 5\n", [f"--job-name={EVIL}", "--gres=gpu:1"])
    until(lambda: job_of(slurm, number).state == "FAILED")
    until(lambda: any(j.exit_code == "5:0" for j in slurm.history(began, [number])), 30)
    (job,) = slurm.history(began, [number])
    assert (job.job_id, job.state, job.gpus) == (str(number), "FAILED", 1)


def test_partitions_and_running_configuration(slurm):
    assert "all" in {partition.name for partition in slurm.partitions()}
    assert slurm.config()["GresTypes"] == "gpu"
    slurm.ping()


def test_frozen_controller_is_unavailable_within_its_limit(home, slurm):
    pid = keeping(home).daemon("slurmctld").pid
    signal_inside(home, "STOP", [pid])
    try:
        began = time.monotonic()
        with pytest.raises(Unavailable, match="did not answer within 4 s"):
            executor_of(home).jobs()
        assert time.monotonic() - began < 6
    finally:
        signal_inside(home, "CONT", [pid])
    until(lambda: slurm.jobs() is not None)
