"""What a change that rests waits for: the sentence about it, the rows, and the pages that show them."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from clusters import changes
from clusters.models import Change
from clusters.observation import JobSeen
from slurm.leaving import jobs_on, wait_words
from slurm.waits import waited_for
from tests.cast import tiny_spec
from tests.clusters.test_pages import words

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
PAGE, OVERVIEW = "/t/research/c/tiny/changes/1/", "/t/research/c/tiny/"


def seen(number: int, nodes: str, **fields):
    facts = {"state": "RUNNING", "end_at": NOON, "nodes": nodes, **fields}
    plain = {
        "reason": "",
        "priority": 1,
        "node_count": 1,
        "cpus": 1,
        "gpus": 0,
        "memory_mib": None,
        "limit_s": None,
    }
    whose = {"name": "train", "user": "mo", "account": "", "partition": "all"}
    return JobSeen(job_id=str(number), submit_at=NOON, start_at=NOON, **whose, **plain, **facts)


def test_the_sentence_counts_jobs_names_busy_nodes_and_says_until_when():
    jobs = (seen(1, "slinky-[2-3]"), seen(2, "slinky-3", end_at=NOON + timedelta(hours=2)))
    assert wait_words(("slinky-3", "slinky-4"), jobs) == (
        "Waits for 2 jobs on slinky-3, until 2030-01-01 14:00 UTC at the latest."
    )


def test_a_job_without_a_time_limit_gives_no_end():
    assert wait_words(("slinky-3",), (seen(1, "slinky-3", end_at=None),)).endswith(
        "some without a time limit."
    )


@pytest.mark.parametrize(
    ("fields", "holds"),
    [
        ({"state": "COMPLETING"}, True),
        ({"state": "SUSPENDED"}, True),
        ({"state": "PENDING", "nodes": ""}, False),
        ({"nodes": "slinky-[0-2]"}, False),
        ({"nodes": "slinky-[0-"}, False),
    ],
)
def test_only_jobs_that_hold_a_going_node_are_waited_for(fields, holds):
    found = seen(1, **{"nodes": "slinky-3", **fields})
    assert bool(jobs_on([found], {"slinky-3"})) is holds


@pytest.fixture
def change(cluster, cast) -> Change:
    """The shrinking of `slinky` from two nodes to one, which rests; a job on each."""
    smaller = tiny_spec(nodes=1)
    change = changes.propose(cluster, smaller, base=1, by=cast.ada)
    Change.objects.update(status="observing", waits_for="Waits for 1 job.", time_left=timedelta(seconds=60))
    for number in (0, 1):
        cluster.jobs.create(
            key=f"7{number}", number=70 + number, job_id=f"7{number}", user="mo", state="RUNNING", name="train",
            submit_at=timezone.now(), nodes=f"slinky-{number}", end_at=timezone.now() + timedelta(hours=1),
        )  # fmt: skip
    change.refresh_from_db()
    return change


def test_the_jobs_on_nodes_that_go_are_found(change):
    waited = waited_for(change)
    assert ([j.job_id for j in waited.jobs], waited.nodes, waited.job_count) == (["71"], ["slinky-1"], 1)
    assert waited.until


def test_a_change_that_does_not_rest_waits_for_nothing(change):
    change.time_left = None
    assert waited_for(change) is None


@pytest.mark.parametrize("path", [PAGE, OVERVIEW])
def test_pages_link_the_jobs_and_offer_to_cancel(client, cast, change, path):
    client.force_login(cast.ada.user)
    html = client.get(path).content.decode()
    assert "/t/research/c/tiny/jobs/71/" in html and "/jobs/70/" not in html
    assert f"{PAGE}cancellation/" in html
    assert "slinky-1" in words(html)


def test_who_is_refused_reads_what_holds_since_when_and_may_end_the_wait_there(client, cast, change):
    change.cluster.refresh_from_db()
    Change.objects.update(rests_since=timezone.now() - timedelta(hours=3))
    client.force_login(cast.ada.user)
    response = client.post("/t/research/c/tiny/reconfigure/")
    html = response.content.decode()
    assert response.status_code == 409
    assert re.search(r"Change 1 of tiny waits, since \S+ \S+ UTC \(3 h\): .* Waits for 1 job\.", words(html))
    assert "Cancel it or have it wait no longer for the jobs." in words(html)
    for path in ("cancellation/", "force/"):
        assert f'hx-get="{PAGE}{path}"' in html and client.get(f"{PAGE}{path}").status_code == 200


def test_the_api_says_the_same_to_programs_and_to_nobody_what_they_may_not(client, cast, change):
    api = "/api/v1/teams/research/clusters/tiny"
    client.force_login(cast.ada.user)
    answer = client.post(f"{api}/actions/reconfigure", content_type="application/json").json()
    held = answer["change"]
    assert (held["number"], held["waits_for"]) == (1, "Waits for 1 job.")
    assert datetime.fromisoformat(held["since"]) <= timezone.now()
    assert client.post(held["cancel"]).status_code == 202 and held["force"] == f"{api}/changes/1/force"
    Change.objects.update(cancelled_by=None)
    client.force_login(cast.ben.user)
    course = {"part": "workers", "when_idle": True, "at_once": 1}
    answer = client.post(f"{api}/actions/restart", course, content_type="application/json").json()
    assert (answer["change"]["cancel"], answer["change"]["force"]) == (None, None), answer
    assert "Somebody who may change the cluster can cancel it" in answer["hint"]


def test_who_may_order_a_restart_may_cancel_one_from_every_page(client, cast, cluster):
    changes.restart(cluster, ["slinky-0", "slinky-1"], by=cast.ben, at_once=1, when_idle=True)
    Change.objects.update(status="applying", waits_for="Waits.", time_left=timedelta(seconds=60))
    client.force_login(cast.ben.user)
    assert f"{PAGE}cancellation/" in client.get(OVERVIEW).content.decode()


def test_who_may_not_cancel_sees_the_wait_without_the_button(client, cast, change):
    client.force_login(cast.cy.user)
    html = client.get(OVERVIEW).content.decode()
    assert "/jobs/71/" in html and "cancellation" not in html
