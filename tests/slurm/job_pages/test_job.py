"""The page of one job, and what a silent cluster looks like."""

from datetime import timedelta

import pytest
from django.utils import timezone

from clusters.models import Cluster
from console.models import Membership
from console.roles import Role
from slurm.models import Submission
from tests.slurm.fake_slurm import FakeExecutor
from tests.slurm.job_pages.asking import SignIn
from tests.slurm.job_rows import make_job
from tests.slurm.pages import at, text_of

pytestmark = pytest.mark.django_db


def test_a_jobs_page_shows_what_the_watcher_saw(cluster: Cluster, as_role: SignIn) -> None:
    make_job(cluster, 4140, name="sft-8b", reason="Resources", why="Needs 8 free GPUs on one node.", gpus=8)
    page = text_of(as_role(Role.VIEWER).get(at(cluster, "job", "4140")))
    assert "sft-8b" in page and "Needs 8 free GPUs on one node." in page and "waiting" in page


def test_what_slurm_knows_is_fetched_beside_it(
    cluster: Cluster, as_role: SignIn, hands: FakeExecutor
) -> None:
    make_job(cluster, 4127, state="RUNNING", start_at=timezone.now() - timedelta(hours=30))
    page = text_of(as_role(Role.VIEWER).get(at(cluster, "job-facts", "4127")))
    assert "/home/kim/runs/train.sh" in page and "srun python train.py" in page
    assert "78 % of the time" in page and "160 GiB at most" in page
    assert "python &lt;b&gt;↵forged|row" in page


def test_a_cluster_that_does_not_answer_is_said_and_the_row_stays(
    cluster: Cluster, as_role: SignIn, hands: FakeExecutor
) -> None:
    hands.silent = True
    make_job(cluster, 4127, name="train", state="RUNNING", start_at=timezone.now())
    client = as_role(Role.VIEWER)
    assert "train" in text_of(client.get(at(cluster, "job", "4127")))
    page = text_of(client.get(at(cluster, "job-facts", "4127")))
    assert "did not answer" in page and "what was last seen" in page


def test_a_job_that_nobody_saw_is_404_and_one_just_submitted_is_awaited(
    cluster: Cluster, as_role: SignIn
) -> None:
    client = as_role(Role.MEMBER)
    assert client.get(at(cluster, "job", "99")).status_code == 404
    member = Membership.objects.get(role=Role.MEMBER).user
    Submission.objects.create(cluster=cluster, number=99, by=member)
    page = client.get(at(cluster, "job", "99"))
    assert page.status_code == 200 and "Submitted" in text_of(page)


def test_tasks_of_an_array_lead_to_each_other(cluster: Cluster, as_role: SignIn) -> None:
    make_job(cluster, 15, key="15_[]", job_id="15_[4-9%2]", array_number=15, task_count=6)
    make_job(
        cluster, 15, key="15_3", job_id="15_3", array_number=15, state="RUNNING", start_at=timezone.now()
    )
    page = text_of(as_role(Role.VIEWER).get(at(cluster, "job", "15")))
    assert f'href="{at(cluster, "job", "15_3")}"' in page
