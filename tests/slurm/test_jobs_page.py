"""The pages of jobs: who sees and does what, what hostile names become, and what a silent cluster looks like."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from html.parser import HTMLParser

import pytest
from django.http import HttpResponse
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from clusters.models import Cluster, Node, Partition
from console.models import Event, Membership, Team
from console.roles import Role
from slurm.batch_script import MOST_BYTES
from slurm.models import Job, Submission
from tests.slurm.fake_slurm import FakeExecutor, FakeProvisioner
from tests.slurm.job_rows import make_cluster, make_job, make_member, make_queue

pytestmark = pytest.mark.django_db
SignIn = Callable[[Role], Client]
SCRIPT = "#!/bin/bash\n#SBATCH --partition=all\nsrun hostname\n"


@pytest.fixture
def cluster(db: None, settings) -> Cluster:
    settings.PROVISIONERS = {"sandbox": "tests.slurm.fake_slurm.FakeProvisioner"}
    made = make_cluster()
    Partition.objects.create(cluster=made, name="all", state="UP", is_default=True, total_nodes=2)
    Node.objects.create(
        cluster=made,
        name="slinky-0",
        group="slinky",
        state="idle",
        health="ok",
        cpus=64,
        cpus_allocated=0,
        memory_mib=1,
        memory_allocated_mib=0,
        gpus=8,
        gpus_allocated=0,
        partitions=["all"],
    )
    return made


@pytest.fixture(autouse=True)
def hands() -> Iterator[FakeExecutor]:
    """What runs the cluster's commands, fresh for each test."""
    FakeProvisioner.hands = FakeExecutor()
    yield FakeProvisioner.hands


@pytest.fixture
def as_role(cluster: Cluster) -> Callable[[Role], Client]:
    def sign_in(role: Role) -> Client:
        client = Client()
        client.force_login(make_member(f"the-{role.value}", role, cluster.team))
        return client

    return sign_in


def at(cluster: Cluster, name: str, *args: object) -> str:
    return reverse(name, args=(cluster.team.slug, cluster.slug, *args))


def text_of(response: HttpResponse) -> str:
    return " ".join(response.content.decode().split())


class Tags(HTMLParser):
    """Start tags of a page, and the title attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += [name for name, _ in attrs]


# The list


@pytest.mark.parametrize("role", list(Role))
def test_every_member_of_the_team_sees_the_queue(cluster: Cluster, as_role: SignIn, role: Role) -> None:
    make_job(cluster, 4127, name="train-70b")
    assert "train-70b" in text_of(as_role(role).get(at(cluster, "jobs")))


@pytest.mark.parametrize(
    "name", ["jobs", "job-submit", "job-cancellation", "job-hold", "job-release", "job-requeue"]
)
def test_a_stranger_finds_nothing(cluster: Cluster, name: str) -> None:
    client = Client()
    client.force_login(make_member("dee", Role.OWNER, Team.objects.create(slug="other", name="Other")))
    assert client.get(at(cluster, name)).status_code == 404
    assert client.get(at(cluster, "job", "1")).status_code == 404


def test_viewer_is_offered_no_control_and_no_submission(cluster: Cluster, as_role: SignIn) -> None:
    make_job(cluster, 4127)
    page = text_of(as_role(Role.VIEWER).get(at(cluster, "jobs")))
    assert "Submit job" not in page and "job-acts" not in page and "data-select" not in page
    assert 'terminal/"' not in page  # neither a tab nor a button


def test_live_refresh_and_htmx_get_the_region_alone(cluster: Cluster, as_role: SignIn) -> None:
    client = as_role(Role.MEMBER)
    for headers in ({"X-Live": "1"}, {"HX-Request": "true"}):
        answer = client.get(at(cluster, "jobs"), headers=headers)
        assert text_of(answer).startswith('<div id="jobs"')
        assert "X-Live" in answer.headers["Vary"]


def test_a_pushed_row_is_the_row_of_the_page(cluster: Cluster, as_role: SignIn) -> None:
    make_job(cluster, 4127, state="RUNNING", start_at=timezone.now(), nodes="slinky-0")
    page = text_of(as_role(Role.VIEWER).get(at(cluster, "jobs")))
    job = Job.objects.get()
    pushed = " ".join(render_to_string("slurm/_job_row.html", {"job": job}).split())
    assert pushed in page
    assert "<form" not in pushed and "<button" not in pushed


@pytest.mark.parametrize("query", ["gpuz:1", "state:", "a:b:c", '"', "%00", "user:%FF", "-", "x" * 5000])
def test_no_filter_is_a_server_error(cluster: Cluster, as_role: SignIn, query: str) -> None:
    answer = as_role(Role.VIEWER).get(f"{at(cluster, 'jobs')}?q={query}&sort=x&page=-4")
    assert answer.status_code == (400 if query == "%00" else 200)  # NUL is refused at the door


def test_a_misspelt_filter_is_explained_beside_the_box(cluster: Cluster, as_role: SignIn) -> None:
    page = text_of(as_role(Role.VIEWER).get(at(cluster, "jobs"), {"q": "gpuz:>4"}))
    assert "gpuz:&gt;4" in page and "Did you mean gpus" in page


def test_nothing_found_in_the_queue_offers_the_ended_jobs(cluster: Cluster, as_role: SignIn) -> None:
    make_job(cluster, 1, name="old", state="COMPLETED", is_finished=True, end_at=timezone.now())
    client = as_role(Role.VIEWER)
    page = text_of(client.get(at(cluster, "jobs"), {"q": "old"}))
    assert "Search ended jobs too" in page
    assert ">old<" in text_of(client.get(at(cluster, "jobs"), {"q": "state:any old"}))


def test_the_teams_list_shows_every_cluster(cluster: Cluster, as_role: SignIn) -> None:
    make_job(cluster, 1, name="here")
    make_job(make_cluster(cluster.team, "second"), 2, name="there")
    stranger = Team.objects.create(slug="other", name="Other")
    make_job(make_cluster(stranger, "third"), 3, name="elsewhere")
    page = text_of(as_role(Role.VIEWER).get(reverse("team-jobs", args=[cluster.team.slug])))
    assert "here" in page and "there" in page and "elsewhere" not in page


HOSTILE = [
    "<script>alert(1)</script>",
    'x" onmouseover="alert(1)',
    "a\nb\tc\x1b[31m",
    "'-->",
    "{{ x }}",
    "\u202egnp",
]


@pytest.mark.parametrize("name", [*HOSTILE, "x" * 4096])
def test_hostile_names_are_escaped_and_contained(cluster: Cluster, as_role: SignIn, name: str) -> None:
    make_job(cluster, 1, name=name, user=name[:60], partition=name, why=name, nodes=name, work_dir=name)
    make_job(cluster, 2, name=name, state="FAILED", is_finished=True, why=name, end_at=timezone.now())
    client = as_role(Role.OPERATOR)
    plain = Tags(render_to_string("slurm/_job_row.html", {"job": make_job(cluster, 3)}))
    row = render_to_string("slurm/_job_row.html", {"job": Job.objects.get(number=1)})
    assert Tags(row).names.count("tr") == 1 and set(Tags(row).names) <= {*plain.names, "code", "span"}
    assert "onmouseover" not in Tags(row).attributes
    assert len(row) < 4000
    pages = [
        client.get(at(cluster, "jobs"), {"q": "state:any"}),
        client.get(at(cluster, "job", "1")),
        client.get(at(cluster, "job", "2")),
        client.get(at(cluster, "job-facts", "1")),
        client.get(at(cluster, "job-cancellation"), {"job": ["1", "2"]}),
        client.get(at(cluster, "jobs"), {"q": name}),
    ]
    for page in pages:
        assert page.status_code == 200
        html = page.content.decode()
        assert "<script>alert" not in html and "\x1b" not in html and "\u202e" not in html
        assert "onmouseover" not in Tags(html).attributes


def test_a_page_of_a_hundred_jobs_is_small_and_costs_few_queries(
    cluster: Cluster, as_role: SignIn, django_assert_max_num_queries
) -> None:
    make_queue(cluster, 400)
    client = as_role(Role.MEMBER)
    with django_assert_max_num_queries(22):
        page = client.get(at(cluster, "jobs"))
    assert page.content.count(b"<tr id=") == 100
    assert len(page.content) < 100_000


# One job


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


# Cancel, hold, release, requeue

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
    assert "you control only those you submitted" in text_of(page)
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


# Submitting


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
    assert hands.asked == []


def test_advice_asks_once_and_then_lets_it_go(cluster: Cluster, as_role: SignIn, hands: FakeExecutor) -> None:
    script = SCRIPT.replace("\nsrun", "\n#SBATCH --mem=0 --output=/tmp/out\nsrun")
    client = as_role(Role.MEMBER)
    page = client.post(at(cluster, "job-submit"), {"script": script})
    assert (
        "takes all memory" in text_of(page)
        and "/tmp/out" in text_of(page)
        and "Submit anyway" in text_of(page)
    )
    assert hands.asked == []
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
