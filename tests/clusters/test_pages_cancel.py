"""The page of a change that waits, and the dialog that cancels it."""

from datetime import timedelta

import pytest
from django.test import Client

from clusters import changes
from clusters.models import Change
from tests.clusters.test_pages import words

pytestmark = pytest.mark.django_db
PAGE = "/t/research/c/tiny/changes/1/"
DIALOG = f"{PAGE}cancellation/"
WAITS = "Waits for 2 jobs on slinky-1 until 14:20."


@pytest.fixture
def change(cluster, cast) -> Change:
    """An edit that waits for jobs, as a worker let go of it."""
    change = changes.propose(cluster, cluster.spec.with_slurm_conf("# x"), base=1, by=cast.ada)
    Change.objects.update(status="observing", waits_for=WAITS, time_left=timedelta(seconds=60))
    return change


def as_(client: Client, membership) -> Client:
    client.force_login(membership.user)
    return client


def test_the_page_says_what_is_waited_for_and_offers_to_cancel(client, cast, change):
    html = as_(client, cast.ada).get(PAGE).content.decode()
    assert WAITS in html
    assert f'href="{DIALOG}"' in html


def test_who_may_not_change_the_cluster_reads_why(client, cast, change):
    html = as_(client, cast.ben).get(PAGE).content.decode()
    assert DIALOG not in html
    assert "Needs the role admin; you are operator." in words(html)


def test_the_dialog_says_what_happens_and_cancels(client, cast, change):
    text = words(as_(client, cast.ada).get(DIALOG).content.decode())
    assert "revision 1 is what the cluster is then" in text and WAITS in text
    assert client.post(DIALOG).headers["Location"] == PAGE
    change.refresh_from_db()
    assert change.cancelled_by == cast.ada.user
    html = client.get(PAGE).content.decode()
    assert DIALOG not in html
    assert "Cancelled by" in html


def test_a_change_that_is_over_says_so_in_the_dialog(client, cast, change):
    Change.objects.update(status="committed")
    answer = as_(client, cast.ada).post(DIALOG)
    assert answer.status_code == 409
    assert "Change 1 is committed: there is nothing left to cancel." in answer.content.decode()
