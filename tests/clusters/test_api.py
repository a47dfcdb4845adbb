"""The API of teams, clusters and changes, as a script meets it: bearer token in, JSON or a problem document out."""

import pytest
from django.test import Client

from clusters import changes
from clusters.lifecycle import Status
from clusters.models import Change, Cluster
from console.models import User
from console.tokens import make_token
from tests.cast import Cast, person, the_cast, the_region, tiny_cluster, tiny_spec

PROBLEM = "application/problem+json"
CLUSTERS = "/api/v1/teams/research/clusters"


class Script:
    """A client that holds one person's token."""

    def __init__(self, user: User) -> None:
        self.client = Client(headers={"authorization": f"Bearer {make_token(user, 'test')}"})

    def get(self, path: str, **query: object):  # type: ignore[no-untyped-def]
        return self.client.get(path, query)

    def post(self, path: str, body: object = None):  # type: ignore[no-untyped-def]
        return self.client.post(path, body or {}, content_type="application/json")


@pytest.fixture
def cast(db: None) -> Cast:
    return the_cast()


@pytest.fixture
def ada(cast: Cast) -> Script:
    return Script(person("ada"))


def order(**fields: object) -> dict[str, object]:
    return {
        "name": "llama",
        "region": "lab",
        "image": "slurm-24-11",
        "gpu_plan": "gpu-8x",
        "gpu_nodes": 2,
        **fields,
    }


def test_list_is_pages_of_results_and_next(ada: Script, cast: Cast) -> None:
    tiny_cluster(cast.team)
    page = ada.get(CLUSTERS, limit=1).json()
    assert [row["name"] for row in page["results"]] == ["tiny"]
    assert page["results"][0]["status"] == "Running"
    assert page["next"] is None


def test_next_leads_to_the_rest(ada: Script, cast: Cast) -> None:
    cluster = tiny_cluster(cast.team)
    for number in range(1, 4):
        cluster.changes.create(number=number, kind="edit", status="committed", summary=f"Change {number}")
    first = ada.get(f"{CLUSTERS}/tiny/changes", limit=2).json()
    second = ada.get(first["next"]).json()
    assert [row["number"] for row in first["results"] + second["results"]] == [3, 2, 1]
    assert second["next"] is None


def test_order_creates_a_cluster_that_is_creating(ada: Script, cast: Cast) -> None:
    the_region()
    made = ada.post(CLUSTERS, order())
    assert made.status_code == 201, made.json()
    assert made.json()["status"] == "Creating"
    assert made.json()["spec"]["groups"][0]["ordinals"] == [0, 1]
    assert Cluster.objects.get(slug="llama").changes.get().kind == "create"


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"gpu_plan": "none-such"}, "gpu_plan"),
        ({"image": "slurm-1-0"}, "image"),
        ({"region": "moon"}, "region"),
        ({"name": "Llama!"}, "name"),
        ({"gpu_nodes": 2000}, "gpu_nodes"),
        ({"gpu_nodes": "many"}, "gpu_nodes"),
        ({"ssh_keys": ["not a key"]}, "ssh_keys[0]"),
    ],
)
def test_bad_order_names_its_field(ada: Script, cast: Cast, fields: dict[str, object], path: str) -> None:
    the_region()
    answer = ada.post(CLUSTERS, order(**fields))
    assert answer.status_code in (400, 422)
    assert answer.headers["Content-Type"] == PROBLEM
    assert path in [problem["path"] for problem in answer.json()["errors"]]
    assert not Cluster.objects.exists()


def test_member_may_not_create(cast: Cast) -> None:
    the_region()
    answer = Script(person("mo")).post(CLUSTERS, order())
    assert answer.status_code == 403
    assert "admin" in answer.json()["detail"]


def test_stranger_learns_nothing(cast: Cast) -> None:
    tiny_cluster(cast.team)
    dee = Script(person("dee"))
    assert dee.get(f"{CLUSTERS}/tiny").json() == dee.get(f"{CLUSTERS}/none").json()
    assert dee.get(f"{CLUSTERS}/tiny").status_code == 404


@pytest.mark.parametrize("header", ["Bearer qd_wrong", "Bearer ", "Basic YTpi"])
def test_unknown_token_is_401_with_a_problem(cast: Cast, header: str) -> None:
    answer = Client(headers={"authorization": header}).get(CLUSTERS)
    assert answer.status_code == 401
    assert answer.headers["Content-Type"] == PROBLEM


def test_scale_on_an_old_revision_is_a_conflict(ada: Script, cast: Cast) -> None:
    tiny_cluster(cast.team)
    path = f"{CLUSTERS}/tiny/actions/scale"
    assert ada.post(path, {"groups": {"slinky": 3}, "base": 9}).status_code == 409
    answer = ada.post(path, {"groups": {"slinky": 3}, "base": 1})
    assert answer.status_code == 202, answer.json()
    assert Change.objects.get().revision.parsed.group("slinky").ordinals == (0, 1, 2)


def test_scale_of_an_unknown_group_names_it(ada: Script, cast: Cast) -> None:
    tiny_cluster(cast.team)
    answer = ada.post(f"{CLUSTERS}/tiny/actions/scale", {"groups": {"slinkee": 3}, "base": 1})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["path"] == "groups.slinkee"


def test_scale_takes_away_the_chosen_nodes(ada: Script, cast: Cast) -> None:
    cluster = tiny_cluster(cast.team, spec=tiny_spec(nodes=3))
    body = {"groups": {"slinky": 2}, "leaving": ["slinky-1", "slinky-2"], "base": 1}
    refused = ada.post(f"{CLUSTERS}/tiny/actions/scale", body)
    assert refused.status_code == 422 and refused.json()["errors"][0]["path"] == "leaving"
    answer = ada.post(f"{CLUSTERS}/tiny/actions/scale", {**body, "leaving": ["slinky-1"], "force": True})
    assert (answer.status_code, answer.json()["force"]) == (202, True)
    assert cluster.changes.get(number=1).revision.parsed.groups[0].ordinals == (0, 2)


def test_terminated_cluster_refuses_to_scale_and_says_why(ada: Script, cast: Cast) -> None:
    tiny_cluster(cast.team, status=Status.TERMINATED)
    answer = ada.post(f"{CLUSTERS}/tiny/actions/scale", {"groups": {"slinky": 3}, "base": 1})
    assert answer.status_code == 409
    assert "Terminated" in answer.json()["detail"]


def test_delete_wants_the_name(ada: Script, cast: Cast) -> None:
    tiny_cluster(cast.team, status=Status.TERMINATED)
    assert ada.post(f"{CLUSTERS}/tiny/actions/delete", {"name": "other"}).status_code == 400
    assert ada.post(f"{CLUSTERS}/tiny/actions/delete", {"name": "tiny"}).status_code == 202


def test_change_shows_its_log(ada: Script, cast: Cast) -> None:
    cluster = tiny_cluster(cast.team)
    change = cluster.changes.create(
        number=1, kind="edit", status="rolled back", summary="Two lines", why="It died."
    )
    change.lines.create(text="Put back revision 1.", tone="warn")
    shown = ada.get(f"{CLUSTERS}/tiny/changes/1").json()
    assert shown["status"] == "rolled back"
    assert [line["text"] for line in shown["log"]] == ["Put back revision 1."]


def test_schema_is_openapi_with_every_route(client: Client, cast: Cast) -> None:
    client.force_login(person("cy"))
    schema = client.get("/api/schema/", headers={"accept": "application/vnd.oai.openapi+json"}).json()
    assert schema["openapi"].startswith("3.")
    wanted = {
        "nodes",
        "jobs",
        "changes",
        "actions/drain",
        "actions/cancel",
        "actions/restart",
        "actions/scale",
    }
    assert wanted <= {path.partition("{cluster}/")[2] for path in schema["paths"]}
    assert "examples" in str(schema["paths"]["/api/v1/teams/{team}/clusters"]["post"])


def test_a_live_edit_is_cancelled_once(ada: Script, cast: Cast) -> None:
    cluster = tiny_cluster(cast.team)
    changes.propose(cluster, cluster.spec.with_slurm_conf("# x"), base=1, by=cast.ada)
    first = ada.post(f"{CLUSTERS}/tiny/changes/1/cancel")
    assert (first.status_code, first.json()["cancelled_by"]) == (202, "ada")
    again = ada.post(f"{CLUSTERS}/tiny/changes/1/cancel")
    assert (again.status_code, again["Content-Type"]) == (409, PROBLEM)
    assert ada.post(f"{CLUSTERS}/tiny/changes/2/cancel").status_code == 404


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("teams/research/clusters/tiny/changes/99", "tiny has no change 99."),
        ("teams/research/clusters/tiny/changes/99/objects", "tiny has no change 99."),
        ("teams/research/clusters/tiny/nodes/ghost", "tiny has no node ghost."),
        ("regions/nowhere", "There is no region nowhere."),
    ],
)
def test_what_is_not_there_is_said_in_words(ada: Script, cast: Cast, path: str, says: str) -> None:
    tiny_cluster(cast.team)
    User.objects.filter(username="ada").update(is_staff=True, is_superuser=True)
    answer = ada.get(f"/api/v1/{path}")
    assert (answer.status_code, answer.json()["title"]) == (404, "missing")
    assert answer.json()["detail"] == says
