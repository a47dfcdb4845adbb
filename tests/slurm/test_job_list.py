"""The job list asks the database, and the database answers what the box says."""

from datetime import timedelta

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from clusters.models import Cluster
from console.errors import Missing
from console.models import User
from console.roles import Role
from slurm.jobs.query import SORTS, parse
from slurm.jobs.reading import array_of, job_counts, job_list, job_named, same_number, team_job_list
from slurm.models import Job, Submission
from tests.slurm.job_rows import make_cluster, make_job, make_member, make_queue

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster(db: None) -> Cluster:
    return make_cluster()


@pytest.mark.parametrize(
    "reason", ["launch failed requeued held", "job requeued in held state", "JobHeldAdmin", "RequeueExitHold"]
)
def test_the_filter_for_held_jobs_finds_whatever_only_a_release_lets_go(
    cluster: Cluster, reason: str
) -> None:
    make_job(cluster, 20, reason=reason, priority=0)
    make_job(cluster, 21, reason="Priority")
    assert keys(cluster, "state:held") == ["20"]


@pytest.fixture
def queue(cluster: Cluster) -> Cluster:
    now = timezone.now()
    running = {"state": "RUNNING", "start_at": now - timedelta(hours=2), "end_at": now + timedelta(hours=1)}
    ended = {"is_finished": True, "start_at": now - timedelta(hours=3), "end_at": now - timedelta(seconds=1)}
    make_job(
        cluster, 10, **running, name="train-70b", gpus=16, node_count=2, nodes="slinky-[0-1]", priority=5
    )
    make_job(cluster, 11, **running, user="lin", partition="debug", gpus=4, nodes="slinky-12,cpu-workers-0")
    make_job(cluster, 12, name="sft 8b", gpus=8, reason="Resources", priority=900, partition="all,debug")
    make_job(cluster, 13, user="lin", reason="JobHeldUser", priority=0)
    make_job(cluster, 14, user="mo", reason="PartitionTimeLimit", priority=700, limit_s=7200)
    array = {"array_number": 15, "task_count": 200}
    make_job(cluster, 15, key="15_[]", job_id="15_[4-9%2]", user="mo", priority=800, **array)
    make_job(cluster, 16, key="15_3", job_id="15_3", array_number=15, user="mo", **running)
    make_job(cluster, 17, state="COMPLETED", user="lin", **ended)
    make_job(cluster, 18, state="FAILED", name="train-100%", **ended)
    make_job(cluster, 19, state="TIMEOUT", **{**ended, "end_at": now - timedelta(days=3)})
    return cluster


def keys(cluster: Cluster, text: str, sort: str = "", viewer: User | None = None) -> list[str]:
    return [job.key for job in job_list(cluster, parse(text, sort), viewer).jobs]


QUESTIONS = [
    ("", {"10", "11", "12", "13", "14", "15_[]", "15_3"}),
    ("state:any", {"10", "11", "12", "13", "14", "15_[]", "15_3", "17", "18", "19"}),
    ("state:running", {"10", "11", "15_3"}),
    ("state:waiting", {"12", "13", "14", "15_[]"}),
    ("state:held", {"13"}),
    ("state:cannot-run", {"14"}),
    ("state:running,held", {"10", "11", "15_3", "13"}),
    ("state:finished", {"17", "18", "19"}),
    ("state:bad", {"18", "19"}),
    ("state:failed,completed", {"17", "18"}),
    ("-state:waiting", {"10", "11", "15_3"}),
    ("user:lin", {"11", "13"}),
    ("user:lin,mo gpus:>0", {"11"}),
    ("-user:mo -user:lin", {"10", "12"}),
    ("user:me", {"10", "12"}),
    ("partition:debug", {"11", "12"}),
    ("partition:all gpus:>=8", {"10", "12"}),
    ("partition:de", set()),
    ("gpus:>4", {"10", "12"}),
    ("gpus:4", {"11"}),
    ("nodes:2", {"10"}),
    ("tasks:>1", {"15_[]", "15_3"} - {"15_3"}),
    ("limit:>1h", {"14"}),
    ("ran:>1h", {"10", "11", "15_3"}),
    ("ran:>3h", set()),
    ("node:slinky-1", {"10"}),
    ("node:slinky-2", set()),
    ("node:slinky-12", {"11"}),
    ("node:cpu-workers-0", {"11"}),
    ("id:12", {"12"}),
    ("id:17", {"17"}),
    ("id:15", {"15_[]", "15_3"}),
    ("id:15_3", {"15_3"}),
    ("id:15_[4-9%2]", {"15_[]"}),
    ("15", {"15_[]", "15_3"}),
    ("train", {"10", "11", "13", "14", "15_[]", "15_3"}),
    ("train-70", {"10"}),
    ('"sft 8b"', {"12"}),
    ('name:"sft 8b"', {"12"}),
    ("100% state:any", {"18"}),
    ("TRAIN-70B", {"10"}),
    ("ended:<1h", {"17", "18"}),
    ("ended:>1d", {"19"}),
    ("submitted:<30m", set()),
    ("cluster:other", set()),
    ("priority:>=800", {"11", "12", "15_[]", "15_3"}),
]


@pytest.mark.parametrize(("text", "found"), QUESTIONS)
def test_the_box_finds_what_it_says(queue: Cluster, text: str, found: set[str]) -> None:
    ada = make_member("ada", Role.MEMBER, queue.team)
    assert set(keys(queue, text, viewer=ada)) == found


def test_jobs_on_nodes_come_first_then_waiting_by_priority(queue: Cluster) -> None:
    assert keys(queue, "") == ["11", "15_3", "10", "12", "15_[]", "14", "13"]


def test_finished_jobs_come_newest_end_first(queue: Cluster) -> None:
    assert keys(queue, "state:finished")[-1] == "19"


@pytest.mark.parametrize("key", SORTS)
def test_every_column_sorts_both_ways(queue: Cluster, key: str) -> None:
    up, down = keys(queue, "state:any", key), keys(queue, "state:any", f"-{key}")
    assert sorted(up) == sorted(down) and len(up) == 10
    assert up != down


def test_longest_run_is_on_top_when_ran_is_sorted_downwards(queue: Cluster) -> None:
    make_job(queue, 30, state="RUNNING", start_at=timezone.now() - timedelta(days=2))
    assert keys(queue, "", "-ran")[0] == "30"


def test_pages_hold_a_hundred_and_the_last_one_answers_for_those_beyond(cluster: Cluster) -> None:
    make_queue(cluster, 250)
    third = job_list(cluster, parse("state:any", page="3"))
    assert (third.first, third.last, third.total, third.pages) == (201, 250, 250, 3)
    assert job_list(cluster, parse("state:any", page="99")).page == 3


def test_a_page_shows_no_job_twice(cluster: Cluster) -> None:
    make_queue(cluster, 250)
    Job.objects.update(priority=1)
    seen = [job.pk for page in "123" for job in job_list(cluster, parse("state:any", page=page)).jobs]
    assert len(set(seen)) == 250


def test_other_clusters_stay_out(queue: Cluster) -> None:
    other = make_cluster(slug="other")
    make_job(other, 99)
    assert "99" not in keys(queue, "state:any")
    assert "99" in [job.key for job in team_job_list([queue, other], parse("cluster:other")).jobs]


def test_mine_counts_what_i_submitted_here_under_another_name(queue: Cluster) -> None:
    zed = make_member("zed", Role.MEMBER, queue.team)
    Submission.objects.create(cluster=queue, number=15, by=zed)
    assert set(keys(queue, "user:me", viewer=zed)) == {"15_[]", "15_3"}


def test_a_submission_on_another_cluster_makes_nothing_mine(queue: Cluster) -> None:
    zed = make_member("zed", Role.MEMBER, queue.team)
    other = make_cluster(slug="other")
    Submission.objects.create(cluster=other, number=12, by=zed)
    assert [job.key for job in team_job_list([queue, other], parse("user:me"), zed).jobs] == []


def test_chips_count_what_their_lists_show(queue: Cluster) -> None:
    ada = make_member("ada", Role.MEMBER, queue.team)
    counts = job_counts([queue], ada)
    shown = {
        "queue": "",
        "mine": "user:me",
        "running": "state:running",
        "waiting": "state:waiting",
        "finished_today": "state:finished ended:today",
    }
    assert {name: getattr(counts, name) for name in shown} == {
        name: job_list(queue, parse(text), ada).total for name, text in shown.items()
    }


def test_a_reused_number_means_its_newest_record(cluster: Cluster) -> None:
    old = make_job(
        cluster, 7, submit_at=timezone.now() - timedelta(days=9), state="COMPLETED", is_finished=True
    )
    new = make_job(cluster, 7)
    assert job_named(cluster, "7") == new
    assert job_named(cluster, "7", int(old.submit_at.timestamp())) == old
    assert list(same_number(new)) == [old]


def test_an_array_is_found_by_its_number_and_its_tasks_by_theirs(queue: Cluster) -> None:
    assert job_named(queue, "15").key == "15_[]"
    assert job_named(queue, "15_3").key == "15_3"
    assert {job.key for job in array_of(job_named(queue, "15_3"))} == {"15_[]", "15_3"}


@pytest.mark.parametrize("name", ["404", "12_99", "", "x", "²", "9" * 40, "1; drop table", "\x00"])
def test_an_unknown_job_is_missing(queue: Cluster, name: str) -> None:
    with pytest.raises(Missing):
        job_named(queue, name)


def test_a_list_costs_at_most_three_queries(queue: Cluster, django_assert_max_num_queries) -> None:  # type: ignore[no-untyped-def]
    with django_assert_max_num_queries(3):
        [job.cluster.team.slug for job in team_job_list([queue], parse("")).jobs]


@given(st.text(max_size=120), st.text(max_size=12), st.text(max_size=6))
def test_no_text_makes_the_database_fail(text: str, sort: str, page: str) -> None:
    job_list(Cluster(pk=1), parse(text, sort, page))


FIELD = st.sampled_from(
    ["user:", "gpus:>", "limit:<", "ended:", "id:", "node:", "name:", "partition:", "-state:"]
)


@given(st.lists(st.tuples(FIELD, st.text(max_size=24)), max_size=4))
def test_no_value_of_a_known_field_makes_the_database_fail(parts: list[tuple[str, str]]) -> None:
    job_list(Cluster(pk=1), parse(" ".join(field + value for field, value in parts)))
