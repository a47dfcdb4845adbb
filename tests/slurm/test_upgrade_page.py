"""Another image in the dialog and by script: what can follow, what cannot and why, what it costs, and the change."""

import pytest
from django.test import Client

from clusters.models import Change, Cluster, Image
from clusters.spec import to_json
from tests.cast import Cast, person, the_cast, tiny_cluster
from tests.clusters.test_api import Script
from tests.clusters.test_pages import words

HERE = "/t/research/c/tiny/image/"
API = "/api/v1/teams/research/clusters/tiny"


@pytest.fixture
def cast(db: None) -> Cast:
    return the_cast()


@pytest.fixture
def cluster(cast: Cast) -> Cluster:
    made = tiny_cluster(cast.team)
    for version in ("26.05", "24.05", "27.11"):
        slug = f"slurm-{version.replace('.', '-')}"
        Image.objects.create(slug=slug, name=f"Slurm {version}", slurm_version=version, source="x")
    return made


@pytest.fixture
def ada(client: Client, cluster: Cluster) -> Client:
    client.force_login(person("ada"))
    return client


def with_conf(cluster: Cluster, text: str) -> None:
    cluster.revision.spec = to_json(cluster.revision.parsed.with_slurm_conf(text))
    cluster.revision.save()


def test_images_that_cannot_follow_are_shown_with_the_rule(ada: Client) -> None:
    html = ada.get(HERE).content.decode()
    text = words(html)
    assert "Slurm does not go back from 24.11 to 24.05" in text
    assert "From Slurm 24.11 to 27.11 is too far at once" in text
    assert "Slurm 24.11 24.11 The cluster runs it." in text
    assert html.count("disabled><span>") == 3
    assert 'value="slurm-26-05" checked' in html


def test_the_dialog_shows_what_the_first_possible_one_costs(ada: Client) -> None:
    """The fake platform restarts everything for another image."""
    text = words(ada.get(HERE).content.decode())
    assert "Restarts the controller" in text and "3 workers at once" in text


def test_settings_that_the_new_release_does_not_know_are_named_and_nothing_can_be_pressed(
    ada: Client, cluster: Cluster
) -> None:
    with_conf(cluster, "# mine\nGetEnvTimeout=3\n")
    html = ada.get(HERE).content.decode()
    assert "Slurm 26.05 does not take all of this cluster's settings." in words(html)
    assert "Line 2:" in html and "GetEnvTimeout" in html
    assert 'disabled title="Slurm 26.05 would not read the cluster&#x27;s settings."' in html


def test_a_confirmed_upgrade_is_a_change(ada: Client, cluster: Cluster) -> None:
    response = ada.post(HERE, {"image": "slurm-26-05", "base": "1"})
    assert response.status_code == 302, words(response.content.decode())
    change = Change.objects.get(cluster=cluster)
    assert change.summary == "Image: slurm-24-11 to slurm-26-05; Slurm: 24.11 to 26.05"
    assert change.revision.parsed.slurm_version == "26.05"
    assert change.impact["sort"] == "image"


@pytest.mark.parametrize(
    ("image", "says"),
    [
        ("slurm-24-05", "Slurm does not go back"),
        ("slurm-27-11", "too far at once"),
        ("slurm-24-11", "This changes nothing"),
    ],
)
def test_what_cannot_follow_is_refused_whoever_asks(
    ada: Client, cluster: Cluster, image: str, says: str
) -> None:
    response = ada.post(HERE, {"image": image, "base": "1"})
    assert response.status_code == 422 and says in words(response.content.decode())
    answer = Script(person("ada")).post(f"{API}/actions/update-image", {"image": image, "base": 1})
    assert answer.status_code == 422
    assert says in str(answer.json())
    assert not cluster.changes.exists()


def test_an_image_that_is_none_is_not_found(ada: Client) -> None:
    assert ada.get(HERE, {"image": "gone"}).status_code == 404
    answer = Script(person("ada")).post(f"{API}/actions/update-image", {"image": "gone", "base": 1})
    assert answer.json()["errors"][0]["path"] == "image"


def test_an_older_revision_with_an_older_image_is_no_way_back(cluster: Cluster) -> None:
    newer = cluster.revisions.create(
        number=2, spec={**cluster.revision.spec, "image": "slurm-26-05", "slurm_version": "26.05"}
    )
    cluster.revision = newer
    cluster.save()
    answer = Script(person("ada")).post(f"{API}/revisions/1/rollback", {"base": 2})
    assert answer.status_code == 422 and "Reverting an Upgrade" in str(answer.json())


def test_a_script_reads_which_images_can_follow_and_goes_to_one(cluster: Cluster) -> None:
    ada = Script(person("ada"))
    found = {row["image"]: row["why_not"] for row in ada.get(f"{API}/images").json()}
    assert [image for image, why in found.items() if not why] == ["slurm-26-05"]
    assert found["slurm-24-11"] == "The cluster runs it."

    spec = {**cluster.revision.spec, "image": "slurm-26-05", "slurm_version": "26.05"}
    preview = ada.post(f"{API}/changes:preview", {"spec": spec}).json()
    body = {"image": "slurm-26-05", "base": 1, "promise": preview["promise"]}
    answer = ada.post(f"{API}/actions/update-image", body)
    assert answer.status_code == 202, answer.json()
    assert answer.json()["status"] == "proposed"
