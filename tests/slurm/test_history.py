"""Jobs that left the queue unseen, and what accounting says about them."""

from dataclasses import replace
from datetime import timedelta

import pytest

from clusters.lifecycle import Status
from console.errors import Unavailable
from slurm import tasks
from slurm.client import Slurm
from slurm.history import settle
from slurm.models import Job
from slurm.outputs.history import COLUMNS
from tests.slurm.scripted import Scripted
from tests.slurm.test_reasons import JOB
from tests.slurm.test_watch import asked, look  # noqa: F401

pytestmark = pytest.mark.django_db(transaction=True)


def accounting(*rows: dict[str, str]) -> Slurm:
    def answer(argv):
        mark = next(word for word in argv if word.startswith("--delimiter=")).partition("=")[2]
        submitted = JOB.submit_at.strftime("%Y-%m-%dT%H:%M:%S")
        plain = {"Submit": submitted, "ExitCode": "0:0", "End": "2026-11-30T10:00:00"}
        return "".join(
            mark.join({**plain, **row}.get(c, "") for c in COLUMNS) + "\n" for row in rows
        ).encode()

    return Slurm(Scripted({"sacct": answer}))


@pytest.fixture
def left(cluster, asked):  # noqa: F811
    """Jobs 7 and 8 ran and are gone."""
    look(cluster, *(replace(JOB, job_id=str(n), state="RUNNING", reason="", name="kept") for n in (7, 8)))
    look(cluster)
    return cluster


def test_accounting_fills_in_how_they_ended_and_owns_up_where_it_does_not_know(left):
    slurm = accounting({"JobID": "7", "State": "FAILED", "ExitCode": "3:0", "NodeList": "slinky-1"})
    assert settle(left, slurm) == 1
    seven, eight = Job.objects.order_by("number")
    assert (seven.state, seven.why, seven.nodes, seven.name) == (
        "FAILED",
        "Exited with 3.",
        "slinky-1",
        "kept",
    )
    assert seven.end_at.hour == 10 and seven.exit_code == "3:0"
    assert eight.state == "UNKNOWN" and "accounting does not know" in eight.why
    assert slurm.executor.asked[0][-2:] == ["-j", "7,8"]


def test_the_last_final_record_of_a_requeued_job_counts(left):
    later = (JOB.submit_at + timedelta(minutes=9)).strftime("%Y-%m-%dT%H:%M:%S")
    settle(
        left,
        accounting(
            {"JobID": "7", "State": "COMPLETED", "Submit": later},
            {"JobID": "7", "State": "NODE_FAIL"},
            {"JobID": "8", "State": "CANCELLED by 0"},
        ),
    )
    assert list(Job.objects.order_by("number").values_list("state", flat=True)) == ["COMPLETED", "CANCELLED"]


def test_no_accounting_is_said_and_asked_again_later(left):
    slurm = Slurm(Scripted({"sacct": Unavailable("sacct did not answer within 20 s.")}))
    with pytest.raises(Unavailable):
        settle(left, slurm)
    assert all("did not answer" in job.why and job.state == "UNKNOWN" for job in Job.objects.all())


def test_nothing_unknown_asks_nothing(cluster):
    slurm = accounting()
    assert settle(cluster, slurm) == 0 and slurm.executor.asked == []


def test_nobody_is_asked_about_a_cluster_that_has_ended(left, monkeypatch):
    about: list[int] = []
    monkeypatch.setattr(tasks, "settle", lambda cluster: about.append(cluster.pk))
    tasks.settle_jobs(left.pk)
    left.status = Status.TERMINATED
    left.save()
    tasks.settle_jobs(left.pk)
    tasks.settle_jobs(0)
    assert about == [left.pk]
