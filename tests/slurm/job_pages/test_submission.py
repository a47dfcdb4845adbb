"""Submitting: the form, its advice, and whose the job is."""

import pytest

from clusters.models import Cluster
from console.roles import Role
from slurm.batch_script import MOST_BYTES
from slurm.models import Submission
from tests.slurm.fake_slurm import FakeExecutor
from tests.slurm.job_pages.asking import SCRIPT, SignIn
from tests.slurm.pages import at, text_of

pytestmark = pytest.mark.django_db


def submitted(hands: FakeExecutor) -> bool:
    return any(argv[0] == "sbatch" for argv in hands.asked)


def test_viewer_cannot_submit(cluster: Cluster, as_role: SignIn, hands: FakeExecutor) -> None:
    client = as_role(Role.VIEWER)
    assert client.get(at(cluster, "job-submit")).status_code == 403
    assert client.post(at(cluster, "job-submit"), {"script": SCRIPT}).status_code == 403
    assert hands.asked == []


def test_the_form_begins_with_a_script_for_the_default_partition(cluster: Cluster, as_role: SignIn) -> None:
    page = as_role(Role.MEMBER).get(at(cluster, "job-submit")).content.decode()
    assert "#SBATCH --partition=all\n" in page and "#SBATCH --gpus-per-node=1\n" in page


def test_a_submitted_job_is_the_members_own(cluster: Cluster, as_role: SignIn, hands: FakeExecutor) -> None:
    answer = as_role(Role.MEMBER).post(at(cluster, "job-submit"), {"script": SCRIPT.replace("\n", "\r\n")})
    assert answer.headers["Location"] == at(cluster, "job", 4711)
    assert hands.sent == SCRIPT.encode()
    assert Submission.objects.get(number=4711).by.username == "the-member"


def test_a_script_that_is_too_large_is_refused_at_the_field(
    cluster: Cluster, as_role: SignIn, hands: FakeExecutor
) -> None:
    script = SCRIPT + "#" * MOST_BYTES
    page = as_role(Role.MEMBER).post(at(cluster, "job-submit"), {"script": script})
    assert page.status_code == 422 and "A script may have 256 KiB" in text_of(page)
    assert not submitted(hands)


def test_advice_asks_once_and_then_lets_it_go(cluster: Cluster, as_role: SignIn, hands: FakeExecutor) -> None:
    script = SCRIPT.replace("\nsrun", "\n#SBATCH --mem=0 --output=/tmp/out\nsrun")
    client = as_role(Role.MEMBER)
    page = client.post(at(cluster, "job-submit"), {"script": script})
    assert (
        "takes all memory" in text_of(page)
        and "/tmp/out" in text_of(page)
        and "Submit anyway" in text_of(page)
    )
    assert not submitted(hands)
    assert client.post(at(cluster, "job-submit"), {"script": script, "anyway": "1"}).status_code == 302


def test_what_slurm_says_against_it_is_shown_and_the_script_is_kept(
    cluster: Cluster, as_role: SignIn, hands: FakeExecutor
) -> None:
    hands.silent = True
    page = as_role(Role.MEMBER).post(at(cluster, "job-submit"), {"script": SCRIPT})
    assert page.status_code == 503
    assert "sbatch did not answer" in text_of(page) and "srun hostname" in text_of(page)


def test_advice_as_it_is_typed_asks_no_cluster(
    cluster: Cluster, as_role: SignIn, hands: FakeExecutor
) -> None:
    page = as_role(Role.MEMBER).post(at(cluster, "job-advice"), {"script": SCRIPT.replace("=all", "=nope")})
    assert "There is no partition nope" in text_of(page)
    assert hands.asked == []


def test_a_terminated_cluster_takes_no_job(cluster: Cluster, as_role: SignIn, hands: FakeExecutor) -> None:
    Cluster.objects.update(status="Terminated")
    client = as_role(Role.MEMBER)
    assert "must be Running" in text_of(client.get(at(cluster, "job-submit")))
    assert client.post(at(cluster, "job-submit"), {"script": SCRIPT}).status_code == 409
    assert hands.asked == []
