"""The API of volumes and mounts."""

import pytest
from django.test import Client

from clusters.models import Cluster, Region
from clusters.spec import Mount, to_json
from storage.kinds import Kind
from storage.models import Volume
from tests.cast import Cast, person, tiny_cluster
from tests.storage.conftest import a_volume

API = "/api/v1/teams/research"


@pytest.fixture
def ada(client: Client, cast: Cast) -> Client:
    client.force_login(person("ada"))
    return client


def post(client: Client, path: str, /, **body: object):
    return client.post(f"{API}{path}", body, content_type="application/json")


def test_the_life_of_a_volume(ada: Client, lab: Region) -> None:
    offers = ada.get(f"{API}/offers").json()["results"]
    assert [(one["slug"], one["price_per_gib_month"]) for one in offers][0] == ("fast", "0.1200")
    made = post(ada, "/volumes", name="scratch", region="lab", offer="fast", size_gib=100)
    assert made.status_code == 201
    assert (made.json()["status"], made.json()["cost_per_month"]) == ("Creating", "12.0000")
    assert made.json()["orphan_since"]
    assert post(ada, "/volumes/scratch/actions/grow", size_gib=50).status_code == 422
    assert post(ada, "/volumes/scratch/actions/grow", size_gib=150).json()["size_gib"] == 150
    assert post(ada, "/volumes/scratch/actions/rename", name="archive").json()["name"] == "archive"
    assert ada.get(f"{API}/volumes/scratch").status_code == 404
    assert post(ada, "/volumes/archive/actions/delete", name="scratch").status_code in (400, 422)
    assert post(ada, "/volumes/archive/actions/delete", name="archive").json()["status"] == "Deleting"


def test_a_problem_is_at_its_field(ada: Client, lab: Region) -> None:
    answer = post(ada, "/volumes", name="Bad", region="lab", offer="nothing", size_gib=1)
    assert answer.status_code == 422
    assert {problem["path"] for problem in answer.json()["errors"]} == {"name", "offer"}


def test_mounting_and_unmounting_are_changes(ada: Client, cast: Cast, lab: Region) -> None:
    cluster = tiny_cluster(cast.team)
    a_volume(cast, lab)
    answer = post(ada, "/clusters/tiny/actions/mount", base=1, volume="scratch", path="/shared")
    assert answer.status_code == 202
    assert answer.json()["summary"] == "Volumes: mount scratch at /shared"
    settle(cluster)
    mounts = ada.get(f"{API}/clusters/tiny/mounts").json()["results"]
    assert [(one["volume"], one["path"], one["read_only"], one["settled"]) for one in mounts] == [
        ("scratch", "/shared", False, True)
    ]
    held = ada.get(f"{API}/volumes/scratch").json()["mounted_by"]
    assert [(one["cluster"], one["path"]) for one in held] == [("tiny", "/shared")]
    assert post(ada, "/volumes/scratch/actions/delete", name="scratch").status_code == 409
    assert post(ada, "/clusters/tiny/actions/unmount", base=2, volume="scratch").status_code == 202


def settle(cluster: Cluster) -> None:
    """As a worker would that carried the change through."""
    change = cluster.changes.get()
    cluster.revision = change.revision
    cluster.save()
    cluster.changes.update(status="committed")


@pytest.mark.parametrize(
    ("path", "field"),
    [("/etc/x", "mounts[0].path"), ("shared", "mounts[0].path"), ("/a/../b", "mounts[0].path")],
)
def test_a_path_that_may_not_be_is_refused(
    ada: Client, cast: Cast, lab: Region, path: str, field: str
) -> None:
    tiny_cluster(cast.team)
    a_volume(cast, lab)
    answer = post(ada, "/clusters/tiny/actions/mount", base=1, volume="scratch", path=path)
    assert answer.status_code == 422
    assert [problem["path"] for problem in answer.json()["errors"]] == [field]


def test_a_cluster_is_created_with_mounts(ada: Client, cast: Cast, lab: Region) -> None:
    a_volume(cast, lab)
    a_volume(cast, lab, "pictures", kind=Kind.DATASET)
    order = {"name": "fresh", "region": "lab", "image": "slurm-24-11", "gpu_plan": "gpu-8x", "gpu_nodes": 1}
    mounts = [{"volume": "scratch", "path": "/shared"}, {"volume": "pictures", "path": "/data"}]
    unknown = post(ada, "/clusters", **order, mounts=[{"volume": "nothing", "path": "/x"}])
    assert unknown.status_code == 422
    assert [problem["path"] for problem in unknown.json()["errors"]][0] == "mounts[0].volume"
    made = post(ada, "/clusters", **order, mounts=mounts)
    assert made.status_code == 201
    assert [(one["name"], one["read_only"]) for one in made.json()["spec"]["mounts"]] == [
        ("scratch", False), ("pictures", True),
    ]  # fmt: skip


def test_a_viewer_sees_and_changes_nothing(client: Client, cast: Cast, lab: Region) -> None:
    a_volume(cast, lab)
    client.force_login(person("cy"))
    assert client.get(f"{API}/volumes").json()["results"][0]["name"] == "scratch"
    assert post(client, "/volumes/scratch/actions/grow", size_gib=500).status_code == 403
    assert Volume.objects.get().size_gib == 100


@pytest.mark.django_db(transaction=True)
def test_a_state_with_volumes_is_previewed_outside_of_any_transaction(
    ada: Client, cast: Cast, lab: Region
) -> None:
    """As a server asks: no test has begun a transaction around it."""
    cluster, volume = tiny_cluster(cast.team), a_volume(cast, lab)
    wanted = cluster.spec.with_mounts((Mount(volume.key, "scratch", "/shared"),))
    answer = post(ada, "/clusters/tiny/changes:preview", spec=to_json(wanted))
    assert answer.status_code == 200
    assert answer.json()["mounted"] == ["/shared"]
