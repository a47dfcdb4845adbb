"""Previews by the API: the same impact as in the dialogs, the promise that goes with it, and what is refused."""

import pytest
from django.test import Client
from django.utils import timezone

from clusters.models import Change, Cluster
from clusters.spec import Logins, LoginUser, to_json
from console.tokens import make_token
from tests.cast import Cast, a_node, tiny_spec

pytestmark = pytest.mark.django_db
BASE = "/api/v1/teams/research/clusters/tiny"


@pytest.fixture
def ada(cast: Cast, cluster) -> Client:
    for name in ("slinky-0", "slinky-1"):
        a_node(cluster, name, machine=f"machine_{name}")
    runs(cluster, 7, "slinky-1")
    return Client(headers={"authorization": f"Bearer {make_token(cast.ada.user, 'test')}"})


def runs(cluster, number: int, nodes: str) -> None:
    cluster.jobs.create(
        key=str(number), number=number, job_id=str(number), submit_at=timezone.now(), user="mo", name="train",
        state="RUNNING", nodes=nodes, partition="all", gpus=8,
    )  # fmt: skip


def ask(client: Client, path: str, **body: object):
    return client.post(f"{BASE}/{path}", body, content_type="application/json")


def test_an_edit_is_previewed_by_the_state_that_it_asks_for(ada):
    found = ask(ada, "changes:preview", spec=to_json(tiny_spec(nodes=1))).json()
    assert found["sort"] == "scale down"
    assert [(job["job_id"], job["fate"]) for job in found["jobs"]] == [("7", "awaited")]
    going = [touch for touch in found["touches"] if touch["does"] == "goes"]
    assert [(t["part"], t["nodes"], t["loses"]) for t in going] == [("workers", ["slinky-1"], ["/tmp"])]
    assert {"label": "Removes", "text": "1 node", "names": ["machine_slinky-1 (slinky-1)"]}.items() <= next(
        row for row in found["says"] if row["label"] == "Removes"
    ).items()
    assert Change.objects.count() == 0


@pytest.mark.parametrize("kind", ["terminate", "delete", "reconfigure"])
def test_changes_without_a_state_are_previewed_by_their_kind(ada, kind):
    found = ask(ada, "changes:preview", kind=kind).json()
    assert found["sort"] == kind


def test_what_could_not_be_asked_for_is_not_previewed(ada):
    answer = ask(ada, "changes:preview", spec={"name": 5})
    assert answer.status_code == 422 and answer.json()["errors"][0]["path"] == "spec"
    answer = ask(ada, "changes:preview", spec=to_json(tiny_spec(nodes=0, cpu_nodes=0)))
    assert answer.status_code == 422


@pytest.mark.parametrize(
    ("body", "fate"),
    [
        ({"operation": "reboot", "nodes": ["slinky-1"]}, ["queued again"]),
        ({"operation": "reboot", "nodes": ["slinky-1"], "when_idle": True}, ["awaited"]),
        ({"operation": "drain", "nodes": ["slinky-1"]}, ["runs out"]),
        ({"operation": "resume", "nodes": ["slinky-1"]}, []),
        ({"operation": "restart", "part": "workers"}, ["queued again"]),
        ({"operation": "restart", "part": "controller"}, []),
    ],
)
def test_operations_are_previewed(ada, body, fate):
    found = ask(ada, "operations:preview", **body).json()
    assert [job["fate"] for job in found["jobs"]] == fate


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"operation": "reboot"}, 400),
        ({"operation": "restart"}, 400),
        ({"operation": "explode"}, 400),
        ({"operation": "drain", "nodes": ["slinky-9"]}, 404),
    ],
)
def test_operations_that_mean_nothing_are_refused(ada, body, status):
    assert ask(ada, "operations:preview", **body).status_code == status


def test_a_promise_holds_until_it_would_cost_more(ada, cluster):
    promise = ask(ada, "changes:preview", spec=to_json(tiny_spec(nodes=1)), force=True).json()["promise"]
    runs(cluster, 8, "slinky-1")
    scale = {"groups": {"slinky": 1}, "base": 1, "force": True}
    answer = ask(ada, "actions/scale", **scale, promise=promise)
    assert answer.status_code == 409 and answer.json()["title"] == "impact-grew"
    assert "8 of mo would end now, too." in answer.json()["detail"]
    cluster.jobs.filter(number=8).update(is_finished=True)
    assert ask(ada, "actions/scale", **scale, promise=promise).status_code == 202
    assert Change.objects.get().impact["sort"] == "scale down"


def test_scripts_read_whose_files_are_on_the_login_node(ada, cast):
    assert ada.get(f"{BASE}/homes").json()[0] == {"user": "ada", "bytes": 3 * 2**30}
    client = Client(headers={"authorization": f"Bearer {make_token(cast.mo.user, 'test')}"})
    assert client.get(f"{BASE}/homes").status_code == 403


def test_a_viewer_may_look_at_what_a_change_would_cost(cast, ada):
    client = Client(headers={"authorization": f"Bearer {make_token(cast.cy.user, 'test')}"})
    assert ask(client, "changes:preview", kind="terminate").status_code == 200
    assert ask(client, "actions/terminate").status_code == 403


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("post", "login-users", {"base": 1, "account": "mo"}),
        ("put", "login-users/ada", {"base": 1, "sudo": False}),
        ("delete", "login-users/ada", {"base": 1}),
        ("post", "revisions/1/rollback", {"base": 1}),
        ("post", "actions/scale", {"base": 1, "groups": {"slinky": 1}}),
        ("post", "actions/terminate", {}),
        ("put", "ssh-keys", {"base": 1, "keys": []}),
    ],
)
def test_a_promise_that_cannot_be_read_is_refused_instead_of_passed_over(
    ada: Client, cluster: Cluster, method: str, path: str, body: dict[str, object]
) -> None:
    one = LoginUser("ada", 20_000)
    revision = cluster.revision
    assert revision
    revision.spec = to_json(revision.parsed.with_logins(Logins(on=True, users=(one,))))
    revision.save()
    sent = {**body, "promise": "cut off"}
    answer = getattr(ada, method)(f"{BASE}/{path}", sent, content_type="application/json")
    assert answer.status_code == 422, answer.content
    assert [problem["path"] for problem in answer.json()["errors"]] == ["promise"]
    assert not Change.objects.exists()
