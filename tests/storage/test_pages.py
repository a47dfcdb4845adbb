"""The pages of volumes: what each role sees and may press, and that dialogs do what they say."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from clusters.models import Cluster, Region
from clusters.spec import Mount
from console.models import Membership, User
from console.roles import Role
from storage.kinds import Kind, Phase
from storage.models import Volume
from tests.cast import Cast, person, tiny_cluster, tiny_spec
from tests.storage.conftest import a_volume

TEAM = "/t/research/"
TAB = f"{TEAM}c/tiny/volumes/"


@pytest.fixture
def scratch(cast: Cast, lab: Region) -> Volume:
    return a_volume(cast, lab, offer=lab.offers.get(slug="fast"), used_bytes=7 * 2**30)


@pytest.fixture
def cluster(cast: Cast, scratch: Volume) -> Cluster:
    """Mounts `scratch`."""
    return tiny_cluster(cast.team, spec=tiny_spec(mounts=(Mount(scratch.key, "scratch", "/shared"),)))


@pytest.fixture
def as_(client: Client, cast: Cast):
    Membership.objects.create(team=cast.team, user=person("lin"), role=Role.ADMIN)

    def sign_in(name: str) -> Client:
        client.force_login(person(name))
        return client

    return sign_in


def text(client: Client, path: str, **headers: str) -> str:
    response = client.get(path, headers=headers)
    assert response.status_code == 200, response.status_code
    return response.content.decode()


def test_the_list_tells_use_mounts_and_cost(as_, cluster: Cluster, cast: Cast, lab: Region) -> None:
    a_volume(cast, lab, "old", offer=lab.offers.get(slug="fast"), size_gib=50)
    page = text(as_("cy"), f"{TEAM}volumes/")
    assert "7 / 100 GiB" in page and "12.00" in page
    assert "/shared" in page and "tiny" in page
    orphans = page.partition("Mounted nowhere")[2]
    assert "old" in orphans and "it costs 6.00 a month" in orphans


def test_who_may_not_is_told_why_before_pressing(as_, scratch: Volume) -> None:
    page = text(as_("cy"), f"{TEAM}volumes/")
    assert "Needs the role admin; you are viewer." in page
    assert "Needs the role owner; you are viewer." in page
    assert "/growth/" not in page and "/deletion/" not in page and "/new/" not in page
    assert as_("cy").get(f"{TEAM}volumes/scratch/growth/").status_code == 403
    page = text(as_("lin"), f"{TEAM}volumes/")
    assert "volumes/scratch/growth/" in page and "volumes/scratch/deletion/" not in page


def test_a_mounted_volume_s_bin_says_who_mounts_it(as_, cluster: Cluster) -> None:
    page = text(as_("ada"), f"{TEAM}volumes/")
    assert "scratch is mounted by tiny." in page and "volumes/scratch/deletion/" not in page


def test_a_volume_is_made_in_the_dialog(as_, lab: Region) -> None:
    client = as_("lin")
    assert "ImageNet" in text(client, f"{TEAM}volumes/new/")
    bad = client.post(f"{TEAM}volumes/new/", {"name": "Bad", "region": "lab", "offer": "fast", "size_gib": 5})
    assert bad.status_code == 422 and b"lower-case letters" in bad.content
    good = {"name": "homes", "region": "lab", "offer": "fast", "size_gib": 5}
    assert client.post(f"{TEAM}volumes/new/", good).status_code == 302
    assert Volume.objects.get(slug="homes").size_gib == 5


def test_it_grows_is_renamed_and_deleted_by_its_typed_name(as_, scratch: Volume) -> None:
    client = as_("ada")
    shrunk = client.post(f"{TEAM}volumes/scratch/growth/", {"size_gib": 5})
    assert shrunk.status_code == 422 and b"only grows" in shrunk.content
    assert client.post(f"{TEAM}volumes/scratch/growth/", {"size_gib": 200}).status_code == 302
    assert client.post(f"{TEAM}volumes/scratch/name/", {"name": "archive"}).status_code == 302
    wrong = client.post(f"{TEAM}volumes/archive/deletion/", {"name": "scratch"})
    assert wrong.status_code == 422 and b"That is not the name" in wrong.content
    assert client.post(f"{TEAM}volumes/archive/deletion/", {"name": "archive"}).status_code == 302
    scratch.refresh_from_db()
    assert (scratch.size_gib, scratch.slug, scratch.deleted_at is None) == (200, "archive", False)


def test_the_tab_lists_what_is_mounted_and_what_is_not(
    as_, cluster: Cluster, cast: Cast, lab: Region
) -> None:
    a_volume(cast, lab, "pictures", kind=Kind.DATASET)
    a_volume(cast, lab, "broken", phase=Phase.FAILED, phase_why="There is no class fast.")
    a_volume(cast, Region.objects.create(slug="far", name="Far", provisioner="fake"), "elsewhere")
    page = text(as_("cy"), TAB)
    mounted, others = page.split("Not mounted here")
    assert "/shared" in mounted and "scratch" in mounted
    assert "pictures" in others and "There is no class fast." in others and "elsewhere" not in others
    assert "removal/" not in page and "Needs the role admin" in page


def test_mounting_is_a_change(as_, cluster: Cluster, cast: Cast, lab: Region) -> None:
    a_volume(cast, lab, "pictures", kind=Kind.DATASET)
    client = as_("lin")
    seen = text(client, f"{TAB}mount/?volume=pictures&path=/data/pictures")
    assert "/data/pictures" in seen and "on the login node and every worker" in seen
    assert "inside /shared" in text(client, f"{TAB}mount/?volume=pictures&path=/shared/pictures")
    sent = {"base": 1, "volume": "pictures", "path": "/etc/pictures"}
    bad = client.post(f"{TAB}mount/", sent)
    assert bad.status_code == 422 and b"belongs to the system" in bad.content
    done = client.post(f"{TAB}mount/", {**sent, "path": "/data/pictures"})
    assert done.status_code == 302 and "/changes/" in done.headers["Location"]
    change = cluster.changes.get()
    assert [(m.name, m.path, m.read_only) for m in change.revision.parsed.mounts] == [
        ("pictures", "/data/pictures", True), ("scratch", "/shared", False),
    ]  # fmt: skip
    assert "on its way" in text(client, TAB)


def test_unmounting_shows_its_impact_and_is_a_change(as_, cluster: Cluster, scratch: Volume) -> None:
    client = as_("lin")
    url = f"{TAB}{scratch.key}/removal/"
    assert "What is on the volume stays there." in text(client, url)
    assert client.post(url, {"base": 1, "start_at": "soon"}).status_code == 422
    later = timezone.now() + timedelta(hours=1)
    assert client.post(url, {"base": 1, "start_at": f"{later:%Y-%m-%dT%H:%M}"}).status_code == 302
    change = cluster.changes.get()
    assert (change.summary, change.start_at.hour) == ("Volumes: unmount scratch from /shared", later.hour)
    assert "scratch is mounted by tiny." in text(as_("ada"), f"{TEAM}volumes/")


def test_a_volume_that_is_gone_can_still_be_unmounted(as_, cluster: Cluster, scratch: Volume) -> None:
    scratch.delete()
    assert "Gone" in text(as_("cy"), TAB)
    assert as_("ada").post(f"{TAB}{scratch.key}/removal/", {"base": 1}).status_code == 302


def test_names_that_look_like_markup_are_shown_as_text(as_, cluster: Cluster, scratch: Volume) -> None:
    Volume.objects.update(phase_why="<script>alert(1)</script>", phase=Phase.FAILED)
    for page in (f"{TEAM}volumes/", TAB):
        assert "<script>alert(1)" not in text(as_("ada"), page)


NEW = {"name": "fresh", "region": "lab", "image": "slurm-24-11", "gpu_plan": "gpu-8x", "gpu_nodes": 1}


def test_a_new_cluster_begins_with_the_volumes_of_its_form(
    as_, scratch: Volume, cast: Cast, lab: Region
) -> None:
    pictures = a_volume(cast, lab, "pictures", kind=Kind.DATASET)
    client = as_("lin")
    assert f"mount-{scratch.key}" in text(client, f"{TEAM}clusters/new/")
    sent = {**NEW, f"mount-{scratch.key}": "/shared", f"mount-{pictures.key}": "/shared/pictures"}
    bad = client.post(f"{TEAM}clusters/new/", sent)
    assert bad.status_code == 422 and b"is inside /shared" in bad.content
    good = client.post(f"{TEAM}clusters/new/", {**sent, f"mount-{pictures.key}": "/data"})
    assert good.status_code == 302
    made = cast.team.clusters.get(slug="fresh").spec
    assert [(m.name, m.path, m.read_only) for m in made.mounts] == [
        ("pictures", "/data", True), ("scratch", "/shared", False),
    ]  # fmt: skip


def test_a_clone_is_offered_the_mounts_of_its_source(as_, cluster: Cluster, scratch: Volume) -> None:
    page = text(as_("lin"), f"{TEAM}clusters/new/?from=tiny")
    assert 'value="/shared"' in page


def test_a_region_s_page_lists_what_it_offers(client: Client, lab: Region) -> None:
    client.force_login(User.objects.create(username="ops", is_staff=True))
    page = text(client, "/regions/lab/")
    assert "imagenet" in page and "0.12" in page and "/admin/storage/offer/" in page


def test_the_admin_site_shows_offers_and_volumes(client: Client, scratch: Volume) -> None:
    client.force_login(User.objects.create(username="ops", is_staff=True, is_superuser=True))
    assert "scratch" in text(client, "/admin/storage/volume/")
    assert "fast" in text(client, "/admin/storage/offer/")
    assert client.get("/admin/storage/volume/add/").status_code == 403
