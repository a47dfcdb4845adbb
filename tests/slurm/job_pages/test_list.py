"""The list of jobs: who sees it, what filters do, and what hostile names become."""

from html.parser import HTMLParser

import pytest
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from clusters.models import Cluster
from console.models import Team
from console.roles import Role
from slurm.models import Job
from tests.slurm.job_pages.asking import SignIn
from tests.slurm.job_rows import make_cluster, make_job, make_member, make_queue
from tests.slurm.pages import at, text_of

pytestmark = pytest.mark.django_db


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
    assert f'href="{at(cluster, "job-submit")}"' not in page
    assert "Needs the role member" in page
    assert "job-acts" not in page and "data-select" not in page
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
