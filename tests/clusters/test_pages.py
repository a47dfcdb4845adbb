"""The pages of clusters, by Django's client over seeded rows: each screen, each status, each role."""

import re

import pytest
from django.test import Client
from django.utils import timezone

from clusters.lifecycle import Status
from clusters.models import Change, Cluster
from console.models import Membership, Team, User
from tests.seed import Seed, seed

pytestmark = pytest.mark.django_db
CLUSTER = "/t/research/c/llama-pretrain/"


@pytest.fixture
def seeded() -> Seed:
    return seed()


@pytest.fixture
def ada(seeded: Seed) -> Client:
    return signed_in(seeded, "ada")


def signed_in(seeded: Seed, name: str) -> Client:
    client = Client()
    client.force_login(seeded.users[name])
    return client


def page(client: Client, path: str, status: int = 200) -> str:
    response = client.get(path)
    assert response.status_code == status, response.content[:500]
    return response.content.decode()


def words(html: str) -> str:
    """What a reader sees of the markup, on one line."""
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_list_shows_every_status_and_what_each_cluster_is(ada: Client) -> None:
    text = words(page(ada, "/t/research/"))
    for status in ("Running", "Creating", "Failed", "Terminated"):
        assert status in text
    assert "Slurm 24.11 · 4 × 8 H200 · 2 CPU workers · lab" in text
    assert "24 / 32" in text


def test_deleted_cluster_is_not_listed(ada: Client, seeded: Seed) -> None:
    Cluster.objects.filter(slug="old-sweeps").update(status=Status.DELETED)
    assert "old-sweeps" not in page(ada, "/t/research/")


def test_empty_list_says_what_to_do_by_role() -> None:
    team = Team.objects.create(slug="empty", name="Empty")
    seen = {}
    for role in ("owner", "viewer"):
        user = User.objects.create(username=role)
        Membership.objects.create(team=team, user=user, role=role)
        client = Client()
        client.force_login(user)
        seen[role] = page(client, "/t/empty/")
    assert "No cluster yet" in seen["owner"] and "/t/empty/clusters/new/" in seen["owner"]
    assert "An admin of the team can create one" in seen["viewer"]
    assert "/t/empty/clusters/new/" not in seen["viewer"]


def test_overview_says_what_is_in_use_and_what_needs_a_look(ada: Client) -> None:
    text = words(page(ada, CLUSTER))
    assert "24 of 32" in text and "3 running · 4 waiting" in text
    assert "4 ready · 1 draining · 1 down" in text
    assert "ssh -p 2222 root@login.llama.example" in text
    assert "e2e_node_644 (slinky-3)" in text and "fell off the bus" in text
    assert "Put back revision 2." in text


def test_gpu_map_has_one_cell_a_gpu_in_its_state(ada: Client, seeded: Seed) -> None:
    html = page(ada, CLUSTER)
    node = seeded.cluster.nodes.get(name="slinky-3")
    row = re.search(rf'id="gpus-{node.pk}".*?</div>', html, re.S)
    assert row
    assert row[0].count('class="gpu drain"') == 6
    assert len(re.findall(r'class="gpu [abc]"', row[0])) == 2


def test_creating_shows_its_steps_and_what_stalls(ada: Client) -> None:
    text = words(page(ada, "/t/research/c/vision-lab/"))
    assert re.search(r"Accounting .*Controller .*Workers 1 of 4 .*Login node", text)
    assert "it has not registered yet" in text
    assert "Takes longer than it should" not in text
    Cluster.objects.filter(slug="vision-lab").update(status_at=timezone.now() - timezone.timedelta(minutes=5))
    assert "Takes longer than it should" in words(page(ada, "/t/research/c/vision-lab/"))


def test_failed_shows_the_daemons_last_lines(ada: Client) -> None:
    text = words(page(ada, "/t/research/c/asr-nightly/"))
    assert "slurmctld: fatal: cannot create spool directory: No space left on device" in text


def test_drift_and_a_stuck_change_are_shown_on_every_page(ada: Client, seeded: Seed) -> None:
    Cluster.objects.filter(pk=seeded.cluster.pk).update(observed_drift="-PriorityWeightAge=1000\n+x=<b>")
    Change.objects.filter(cluster=seeded.cluster, number=3).update(status="stuck", why="No way back.")
    for path in (CLUSTER, f"{CLUSTER}nodes/", f"{CLUSTER}changes/"):
        html = page(ada, path)
        assert "edited the controller" in html and "is stuck and needs a person" in html
        assert "+x=&lt;b&gt;" in html


@pytest.mark.parametrize(
    ("name", "offered", "refused"),
    [
        ("ada", {"Scale", "Reconfigure", "Clone", "Terminate"}, set()),
        ("lin", {"Scale", "Reconfigure", "Clone"}, {"Terminate"}),
        ("vic", set(), {"Scale", "Reconfigure", "Clone", "Terminate"}),
    ],
)
def test_menu_offers_what_the_role_may_and_says_why_not(
    seeded: Seed, name: str, offered: set[str], refused: set[str]
) -> None:
    html = page(signed_in(seeded, name), CLUSTER)
    menu = html[html.index('id="cluster-head"') : html.index('id="stale-why"')]
    links = set(re.findall(r"<a [^>]*>(?:<i[^>]*></i>)?([A-Z][a-z]+)…</a>", menu))
    shut = set(re.findall(r'aria-disabled="true">(?:<i[^>]*></i>)?([A-Z][a-z]+)<small>Needs the role', menu))
    assert (links, shut) == (offered, refused)


@pytest.mark.parametrize(
    ("slug", "entries"),
    [
        ("vision-lab", {"Reconfigure", "Clone", "Terminate"}),
        ("asr-nightly", {"Reconfigure", "Clone", "Terminate", "Delete"}),
        ("old-sweeps", {"Clone", "Delete"}),
    ],
)
def test_menu_holds_only_what_the_status_allows(ada: Client, slug: str, entries: set[str]) -> None:
    html = page(ada, f"/t/research/c/{slug}/")
    head = html[html.index('id="cluster-head"') : html.index('id="stale-why"')]
    assert set(re.findall(r">([A-Z][a-z]+)…</a>", head)) == entries


def test_changes_list_and_page_tell_the_story(ada: Client) -> None:
    listed = words(page(ada, f"{CLUSTER}changes/"))
    assert "#3 edit" in listed and "rolled back" in listed and "current" in listed
    text = words(page(ada, f"{CLUSTER}changes/3/"))
    assert "PreemptMode=SUSPEND needs GANG." in text and "Write PreemptMode=SUSPEND,GANG." in text
    assert "Revision 2 is still what the cluster runs." in text
    assert "partitions[debug]" in text


def test_only_a_committed_change_that_is_not_current_offers_to_go_back(ada: Client) -> None:
    assert "Roll back to revision 1" in page(ada, f"{CLUSTER}changes/1/")
    assert "Roll back to" not in page(ada, f"{CLUSTER}changes/2/")
    assert "Roll back to" not in page(ada, f"{CLUSTER}changes/3/")
    assert "to go back to" in page(ada, f"{CLUSTER}changes/3/rollback/", status=404)


def test_errors_say_what_and_what_to_do_as_page_dialog_and_notice(ada: Client) -> None:
    text = page(ada, "/t/research/c/nothing/", status=404)
    assert "There is no cluster nothing in team research." in text and "<html" in text
    ask = {"HX-Request": "true", "HX-Target": "dialog"}
    dialog = ada.get("/t/research/c/nothing/scale/", headers=ask).content.decode()
    assert "There is no cluster nothing" in dialog and "<html" not in dialog
    notice = ada.get("/t/research/c/nothing/scale/", headers={"HX-Request": "true"}).content.decode()
    assert "There is no cluster nothing" in notice and "<html" not in notice


def test_a_stranger_sees_a_team_that_is_not_there(seeded: Seed) -> None:
    client = Client()
    client.force_login(User.objects.create(username="dee"))
    text = page(client, CLUSTER, status=404)
    assert "There is no team research here" in text
    assert "asr-nightly" not in text


def test_pages_hold_no_inline_script_and_no_handler(ada: Client) -> None:
    for path in (
        "/t/research/",
        CLUSTER,
        f"{CLUSTER}nodes/",
        f"{CLUSTER}changes/3/",
        "/t/research/clusters/new/",
    ):
        html = page(ada, path)
        assert not re.search(r"<script(?![^>]*\bsrc=)", html), path
        assert not re.search(r"\son[a-z]+=", html), path
        assert "hx-on" not in html and "javascript:" not in html


def test_pages_cost_few_queries_whatever_the_cluster_holds(
    ada: Client, django_assert_max_num_queries
) -> None:
    for path in (CLUSTER, f"{CLUSTER}nodes/", f"{CLUSTER}changes/", "/t/research/"):
        with django_assert_max_num_queries(36):
            page(ada, path)
