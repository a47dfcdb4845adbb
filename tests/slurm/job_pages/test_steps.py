"""Cancel, hold, release, requeue: who may do it to which jobs, and what is said before and after."""

from datetime import timedelta

import pytest
from django.utils import timezone

from clusters.models import Cluster
from console.models import Event, Membership
from console.roles import Role
from slurm.models import Submission
from tests.slurm.fake_slurm import FakeExecutor
from tests.slurm.job_pages.asking import SignIn
from tests.slurm.job_rows import make_job
from tests.slurm.pages import at, text_of

pytestmark = pytest.mark.django_db


STEPS = ["job-cancellation", "job-hold", "job-release", "job-requeue"]


@pytest.mark.parametrize("name", STEPS)
def test_viewer_cannot_touch_a_job(cluster: Cluster, as_role: SignIn, hands: FakeExecutor, name: str) -> None:
    make_job(cluster, 1, state="RUNNING", start_at=timezone.now())
    client = as_role(Role.VIEWER)
    assert client.get(at(cluster, name), {"job": "1"}).status_code == 403
    assert client.post(at(cluster, name), {"job": "1"}).status_code == 403
    assert hands.asked == []


def test_member_cannot_cancel_what_another_submitted(
    cluster: Cluster, as_role: SignIn, hands: FakeExecutor
) -> None:
    make_job(cluster, 1, user="the-member")
    client = as_role(Role.MEMBER)
    page = client.post(at(cluster, "job-cancellation"), {"job": "1"})
    assert "you control only your own" in text_of(page)
    assert hands.asked == []


def test_member_cancels_their_own_and_the_rest_stays(
    cluster: Cluster, as_role: SignIn, hands: FakeExecutor
) -> None:
    client = as_role(Role.MEMBER)
    make_job(cluster, 1)
    make_job(cluster, 2)
    Submission.objects.create(cluster=cluster, number=1, by=Membership.objects.get(role=Role.MEMBER).user)
    Submission.objects.update(at=timezone.now() - timedelta(hours=1))
    answer = client.post(at(cluster, "job-cancellation"), {"job": ["1", "2"]})
    assert answer.status_code == 302
    assert [command[-1:] for command in hands.asked if command[0] == "scancel"] == [["1"]]


def test_a_number_used_again_is_not_its_old_owners(
    cluster: Cluster, as_role: SignIn, hands: FakeExecutor
) -> None:
    client = as_role(Role.MEMBER)
    make_job(cluster, 1, submit_at=timezone.now() - timedelta(days=1))
    Submission.objects.create(cluster=cluster, number=1, by=Membership.objects.get(role=Role.MEMBER).user)
    client.post(at(cluster, "job-cancellation"), {"job": "1"})
    assert hands.asked == []


def test_the_dialog_shows_what_cancelling_costs(cluster: Cluster, as_role: SignIn) -> None:
    start = timezone.now() - timedelta(hours=2)
    make_job(cluster, 1, state="RUNNING", start_at=start, gpus=16)
    make_job(cluster, 2, state="RUNNING", start_at=start, gpus=4)
    make_job(cluster, 3)
    page = text_of(as_role(Role.OPERATOR).get(at(cluster, "job-cancellation"), {"job": ["1", "2", "3"]}))
    assert "<b>4 h" in page and "20 GPUs" in page and "40 GPU hours" in page


def test_operator_holds_releases_and_requeues(cluster: Cluster, as_role: SignIn, hands: FakeExecutor) -> None:
    make_job(cluster, 1)
    make_job(cluster, 2, reason="JobHeldUser")
    make_job(cluster, 3, state="RUNNING", start_at=timezone.now())
    client = as_role(Role.OPERATOR)
    for name in ("job-hold", "job-release", "job-requeue"):
        assert client.post(at(cluster, name), {"job": ["1", "2", "3"]}).status_code == 302
    assert [command[1:] for command in hands.asked] == [["uhold", "1"], ["release", "2"], ["requeue", "3"]]
    assert Event.objects.filter(verb="job.hold", outcome="done").count() == 1


def test_a_waiting_array_is_cancelled_by_its_indices(
    cluster: Cluster, as_role: SignIn, hands: FakeExecutor
) -> None:
    make_job(cluster, 15, key="15_[]", job_id="15_[4-9%2]", array_number=15, task_count=6)
    as_role(Role.OPERATOR).post(at(cluster, "job-cancellation"), {"job": "15_[]"})
    assert hands.asked[-1][-1] == "15_[4-9]"


def test_what_has_ended_in_the_meantime_is_said(
    cluster: Cluster, as_role: SignIn, hands: FakeExecutor
) -> None:
    make_job(cluster, 1, state="COMPLETED", is_finished=True, end_at=timezone.now())
    page = as_role(Role.OPERATOR).post(at(cluster, "job-cancellation"), {"job": "1"})
    assert "It has ended" in text_of(page)
    assert hands.asked == []


@pytest.mark.parametrize("back", ["https://evil.example/", "//evil.example/", "javascript:alert(1)", ""])
def test_a_dialog_leads_nowhere_else(cluster: Cluster, as_role: SignIn, back: str) -> None:
    make_job(cluster, 1)
    answer = as_role(Role.OPERATOR).post(at(cluster, "job-hold"), {"job": "1", "next": back})
    assert answer.headers["Location"] == at(cluster, "jobs")


def test_picking_nothing_or_too_much_is_told(cluster: Cluster, as_role: SignIn) -> None:
    client = as_role(Role.OPERATOR)
    assert client.get(at(cluster, "job-hold")).status_code == 404
    assert client.get(at(cluster, "job-hold"), {"job": [str(n) for n in range(501)]}).status_code == 422
