"""The recorder of jobs: what it writes, what it leaves alone, what it shows."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.db import transaction

from clusters.observation import Observation
from slurm import rows, tasks
from slurm.models import Job
from slurm.watch import prune, record
from tests.slurm.test_reasons import BUSY, JOB, node

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def asked(monkeypatch) -> list[int]:
    """Clusters whose accounting the worker was asked about."""
    found: list[int] = []
    monkeypatch.setattr(tasks.settle_jobs, "delay", found.append)
    return found


def look(cluster, *jobs, nodes=BUSY):
    with transaction.atomic():
        return record(cluster, Observation(NOON, nodes=nodes, partitions=(), jobs=tuple(jobs)))


def job(number, **facts):
    return replace(JOB, job_id=str(number), **facts)


def test_new_jobs_become_rows_with_the_reason_in_words(cluster):
    shown = look(cluster, job(7), job(8, state="RUNNING", reason="", nodes="slinky-0"))
    waiting, running = Job.objects.order_by("number")
    assert waiting.why == "Needs 8 free GPUs on one node; most is 2 (slinky-2)."
    assert (running.state, running.why, running.is_finished) == ("RUNNING", "", False)
    assert shown.refresh == ("jobs",)
    assert [fragment.id for fragment in shown.fragments] == [f"job-{waiting.pk}", f"job-{running.pk}"]


def test_an_unchanged_queue_writes_nothing_and_asks_the_database_nothing(cluster, django_assert_num_queries):
    jobs = tuple(job(n) for n in range(5))
    look(cluster, *jobs)
    with django_assert_num_queries(0):
        assert record(cluster, Observation(NOON, nodes=BUSY, jobs=(*jobs,))) is None
    look(cluster, *jobs)
    assert Job.objects.count() == 5


def test_only_the_row_that_differs_is_written_and_shown(cluster):
    look(cluster, job(7), job(8))
    shown = look(cluster, job(7), job(8, state="RUNNING", reason=""))
    assert [fragment.id for fragment in shown.fragments] == [f"job-{Job.objects.get(number=8).pk}"]
    assert "RUNNING" in shown.fragments[0].html or "running" in shown.fragments[0].html.lower()
    assert shown.refresh == ()


def test_a_job_whose_end_was_seen_leaves_the_lists_of_the_queue(cluster):
    """Its row is shown once more with its end, for lists of ended jobs; lists of the queue fetch themselves again."""
    limit = datetime.now(UTC) + timedelta(hours=1)
    look(cluster, job(7, state="RUNNING", reason="", end_at=limit), job(8))
    shown = look(cluster, job(7, state="COMPLETED", reason="", end_at=NOON), job(8))
    assert [fragment.id for fragment in shown.fragments] == [f"job-{Job.objects.get(number=7).pk}"]
    assert shown.refresh == ("jobs",)


def test_the_reason_follows_the_nodes_though_the_queue_stays(cluster):
    jobs = (job(7),)
    look(cluster, *jobs)
    shown = look(cluster, *jobs, nodes=(node(0, 8), node(1, 5)))
    assert Job.objects.get().why == "Needs 8 free GPUs on one node; most is 3 (slinky-1)."
    assert len(shown.fragments) == 1


def test_many_changes_ask_pages_to_fetch_instead_of_sending_rows(cluster):
    shown = look(cluster, *(job(n) for n in range(201)))
    assert shown.fragments == () and shown.refresh == ("jobs",)


def test_a_queue_of_thousands_is_written_as_one_and_compared_as_any_other(cluster):
    jobs = [job(n, name="a\tb\\N\n", memory_mib=None) for n in range(1, 1501)]
    look(cluster, *jobs)
    assert look(cluster, *jobs) is None
    assert set(Job.objects.values_list("name", "memory_mib")) == {("a\tb\\N\n", None)}
    shown = look(cluster, *(replace(one, priority=5) for one in jobs))
    assert set(Job.objects.values_list("priority", flat=True)) == {5} and Job.objects.count() == 1500
    assert shown.fragments == () and shown.refresh == ("jobs",)


def test_unread_queue_changes_nothing(cluster):
    look(cluster, job(7))
    with transaction.atomic():
        assert record(cluster, Observation(NOON, problem="squeue did not answer")) is None
    assert Job.objects.get().state == "PENDING"


def test_finished_jobs_stay_when_the_controller_forgets_them(cluster, asked):
    ended = job(7, state="COMPLETED", reason="", end_at=NOON, exit_code="0:0")
    look(cluster, ended)
    assert look(cluster) is None
    assert Job.objects.get().is_finished and asked == []


def test_a_job_that_left_unseen_is_unknown_and_accounting_is_asked(cluster, asked):
    look(cluster, job(7, state="RUNNING", reason=""), job(8))
    shown = look(cluster, job(8))
    left = Job.objects.get(number=7)
    assert (left.state, left.is_finished) == ("UNKNOWN", True) and left.why.startswith("Left the queue")
    assert left.end_at is not None and left.end_at <= datetime.now(UTC)
    assert asked == [cluster.pk] and shown.refresh == ("jobs",)
    assert look(cluster, job(8)) is None and asked == [cluster.pk]


def test_waiting_part_of_an_array_keeps_its_row_while_it_shrinks_and_goes_with_its_last_task(cluster, asked):
    waiting = job("4_[0-9%2]", array_job_id=4, task_count=10)
    look(cluster, waiting)
    row = Job.objects.get()
    look(cluster, replace(waiting, job_id="4_[1-9%2]", task_count=9), job("4_0", state="RUNNING", reason=""))
    assert Job.objects.get(pk=row.pk).job_id == "4_[1-9%2]" and Job.objects.count() == 2
    look(cluster, *(job(f"4_{n}", state="RUNNING", reason="") for n in range(10)))
    assert not Job.objects.filter(pk=row.pk).exists() and Job.objects.count() == 10 and asked == []


def test_a_requeued_task_waits_again_with_its_array_and_did_not_leave(cluster, asked):
    waiting = job("4_[2-9%2]", array_job_id=4, task_count=8)
    look(cluster, waiting, job("4_0", state="RUNNING", reason=""), job("4_1", state="RUNNING", reason=""))
    look(
        cluster, replace(waiting, job_id="4_[0,2-9%2]", task_count=9), job("4_1", state="RUNNING", reason="")
    )
    assert sorted(Job.objects.values_list("job_id", flat=True)) == ["4_1", "4_[0,2-9%2]"] and asked == []
    look(cluster, replace(waiting, job_id="4_[0,2-8%2]", task_count=8))
    assert Job.objects.get(number=4, key="4_1").state == "UNKNOWN" and asked == [cluster.pk]


def test_a_requeued_job_keeps_its_row(cluster, asked):
    look(cluster, job(7, state="RUNNING", reason=""))
    row = Job.objects.get()
    look(cluster, job(7, submit_at=JOB.submit_at + timedelta(minutes=5)))
    again = Job.objects.get()
    assert (again.pk, again.state) == (row.pk, "PENDING") and asked == []


def test_a_number_that_is_used_again_is_another_job(cluster):
    look(cluster, job(7, state="COMPLETED", reason="", end_at=NOON))
    look(cluster, job(7, submit_at=NOON))
    assert Job.objects.filter(number=7).count() == 2


def test_a_look_that_was_rolled_back_is_made_again(cluster):
    with pytest.raises(RuntimeError), transaction.atomic():
        record(cluster, Observation(NOON, nodes=BUSY, jobs=(job(7),)))
        raise RuntimeError
    look(cluster, job(7))
    assert Job.objects.count() == 1


def test_another_watcher_starts_from_what_the_table_holds(cluster, asked):
    look(cluster, job(7), job(8), job(9, state="COMPLETED", reason="", end_at=NOON))
    rows._memories.clear()
    cluster.watch_token = "theirs"
    assert look(cluster, job(7), job(8), job(9, state="COMPLETED", reason="", end_at=NOON)) is None
    look(cluster, job(8))
    assert Job.objects.get(number=7).state == "UNKNOWN"


def test_hostile_names_are_stored_as_they_are(cluster):
    look(cluster, job(7, name="a\n\t\x1b[31m<script>\ufffd", user="u" * 100))
    row = Job.objects.get()
    assert row.name == "a\n\t\x1b[31m<script>\ufffd" and len(row.user) == 64


def test_old_history_is_pruned_by_age_and_by_number(cluster):
    ended = [job(n, state="COMPLETED", reason="", end_at=NOON - timedelta(days=n)) for n in range(1, 41)]
    look(cluster, *ended, job(99))
    assert prune(cluster, NOON) == 10
    assert prune(cluster, NOON, keep_rows=5) == 25
    assert list(Job.objects.order_by("number").values_list("number", flat=True)) == [1, 2, 3, 4, 5, 99]
