"""What one sees of a change that starts later or asks again, and the forms and calls that deal with it."""

from datetime import timedelta

import pytest
from django.utils import timezone

from clusters.models import Change
from console.tokens import make_token
from tests.clusters.test_pages import words
from tests.clusters.test_schedule import asking, runs

pytestmark = pytest.mark.django_db
CLUSTER = "/t/research/c/tiny/"
PAGE = f"{CLUSTER}changes/1/"
API = "/api/v1/teams/research/clusters/tiny"


@pytest.fixture
def ada(client, cast, cluster):
    client.force_login(cast.ada.user)
    return client


def text(client, path: str) -> str:
    return words(client.get(path).content.decode())


def test_a_scale_form_with_a_time_schedules_the_change(ada):
    at = timezone.now() + timedelta(days=1)
    answer = ada.post(
        f"{CLUSTER}scale/", {"slinky": 1, "cpu-workers": 1, "base": 1, "start_at": f"{at:%Y-%m-%dT%H:%M}"}
    )
    assert answer.status_code == 302
    change = Change.objects.get()
    assert (change.status, f"{change.start_at:%Y-%m-%dT%H:%M}") == ("scheduled", f"{at:%Y-%m-%dT%H:%M}")
    page = text(ada, PAGE)
    assert "scheduled" in page and "Starts in" in page and "Cancel this change" in page
    assert "Change 1, scheduled for" in text(ada, CLUSTER)
    dialog = text(ada, f"{PAGE}cancellation/")
    assert "It has not touched anything yet" in dialog
    assert ada.post(f"{PAGE}cancellation/").status_code == 302
    assert Change.objects.get().status == "stopped"


@pytest.mark.parametrize("typed", ["yesterday", "2020-01-01T10:00"])
def test_a_time_that_cannot_be_keeps_the_form_open_with_what_was_typed(ada, typed):
    answer = ada.post(f"{CLUSTER}scale/", {"slinky": 1, "cpu-workers": 1, "base": 1, "start_at": typed})
    assert answer.status_code == 422
    assert (
        f'value="{typed}"' in answer.content.decode() and "It was not scheduled." in answer.content.decode()
    )
    told = answer.content.decode().partition('id="start-about"')[2].partition("</details>")[0]
    assert 'class="problem"' in told and answer.content.decode().count('class="problem"') == 1
    assert not Change.objects.exists()


def test_who_comes_by_sees_that_a_change_asks_and_may_say_yes(ada, cluster, cast, hand):
    asking(cluster, cast, hand)
    assert "costs more than was promised and needs a yes or a no. 8 of mo would end now, too." in text(
        ada, CLUSTER
    )
    assert "See what it costs by now" in text(ada, PAGE)
    dialog = text(ada, f"{PAGE}confirmation/")
    assert "8 train of mo" in dialog and "Go on, ending 1 job" in dialog
    assert ada.post(f"{PAGE}confirmation/").status_code == 302
    assert Change.objects.get().is_confirmed


def test_what_grows_while_one_reads_is_shown_again(ada, cluster, cast, hand):
    asking(cluster, cast, hand)
    shown = ada.get(f"{PAGE}confirmation/").content.decode()
    promise = shown.split('name="promise" value="')[1].split('"')[0]
    runs(cluster, 9, "slinky-1")
    answer = ada.post(f"{PAGE}confirmation/", {"promise": promise})
    assert answer.status_code == 409 and "9 of mo would end now, too." in answer.content.decode()
    assert not Change.objects.get().is_confirmed


def test_what_does_not_ask_takes_no_yes(ada, cluster, cast, hand):
    asking(cluster, cast, hand)
    Change.objects.update(status="committed")
    assert ada.get(f"{PAGE}confirmation/").status_code == 409


def test_scripts_schedule_and_say_yes(client, cluster, cast, hand):
    client.defaults["HTTP_AUTHORIZATION"] = f"Bearer {make_token(cast.ada.user, 'test')}"
    at = (timezone.now() + timedelta(days=1)).replace(microsecond=0)
    body = {"groups": {"slinky": 1}, "base": 1, "start_at": at.isoformat()}
    answer = client.post(f"{API}/actions/scale", body, content_type="application/json")
    assert answer.status_code == 202 and answer.json()["status"] == "scheduled"
    assert client.post(f"{API}/changes/1/confirm").status_code == 409
    assert client.post(f"{API}/changes/1/cancel").status_code == 202
    change = asking(cluster, cast, hand)
    found = client.get(f"{API}/changes/{change.number}").json()
    assert (found["status"], found["impact"]["sort"]) == ("asking", "scale down")
    assert client.post(f"{API}/changes/{change.number}/confirm").status_code == 202


def test_the_end_of_a_cluster_may_wait_for_its_jobs(ada, cluster):
    runs(cluster, 5, "slinky-0")
    page = ada.get(f"{CLUSTER}terminate/").content.decode()
    assert "When that job has ended" in page
    answer = ada.post(f"{CLUSTER}terminate/", {"name": "tiny", "when": "idle"})
    assert answer.status_code == 302
    change = Change.objects.get()
    assert (change.status, change.when_idle) == ("scheduled", True)
    assert "starts when nothing runs any more" in ada.get(CLUSTER).content.decode()
    assert "when nothing runs that it would end" in ada.get(f"{CLUSTER}changes/1/").content.decode()


def test_without_jobs_there_is_nothing_to_wait_for(ada, cluster):
    assert "ended</span>" not in ada.get(f"{CLUSTER}terminate/").content.decode()


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("post", "/actions/reconfigure", {}),
        ("post", "/actions/terminate", {}),
        ("put", "/slurm-conf", {"base": 1, "settings": "KillWait=31\n"}),
        ("post", "/partitions", {"base": 1, "name": "train", "nodes": "slinky-0"}),
        ("put", "/partitions/debug", {"base": 1, "nodes": "slinky-1"}),
        ("put", "/scripts/login_init", {"base": 1, "text": "#!/bin/sh\n"}),
    ],
)
def test_scripts_may_have_any_change_start_later(client, cluster, cast, method, path, body):
    client.defaults["HTTP_AUTHORIZATION"] = f"Bearer {make_token(cast.ada.user, 'test')}"
    at = (timezone.now() + timedelta(days=1)).replace(microsecond=0)
    ask = getattr(client, method)
    both = {**body, "start_at": at.isoformat(), "when_idle": True}
    assert ask(f"{API}{path}", both, content_type="application/json").status_code in (400, 422)
    answer = ask(f"{API}{path}", {**body, "start_at": at.isoformat()}, content_type="application/json")
    assert answer.status_code == 202 and answer.json()["status"] == "scheduled", answer.content


def test_so_does_the_deletion_of_a_partition(client, cluster, cast):
    client.defaults["HTTP_AUTHORIZATION"] = f"Bearer {make_token(cast.ada.user, 'test')}"
    at = (timezone.now() + timedelta(days=1)).replace(microsecond=0)
    query = f"base=1&start_at={at:%Y-%m-%dT%H:%M:%SZ}"
    answer = client.delete(f"{API}/partitions/debug?{query}")
    assert answer.status_code == 202 and answer.json()["status"] == "scheduled", answer.content
