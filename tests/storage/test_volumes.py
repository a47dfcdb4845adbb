"""What people do to volumes, who may, and what the platform is asked for."""

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from clusters.changes import propose
from clusters.lifecycle import Status as ClusterStatus
from clusters.machine import ChangeStatus
from clusters.models import Region
from clusters.spec import Mount
from console.errors import Conflict, Forbidden, Missing, Rejected, Unavailable
from console.models import Event, Membership
from console.roles import Role
from storage import tending, volumes
from storage.kinds import Kind, Phase, Status
from storage.models import Volume
from storage.volumes import Wish
from tests.cast import Cast, person, tiny_cluster, tiny_spec
from tests.storage.conftest import a_volume
from tests.storage.fake_store import SHELF

SCRATCH = Wish("scratch", "lab", "fast", 100)


@pytest.fixture
def lin(cast: Cast) -> Membership:
    return Membership.objects.create(team=cast.team, user=person("lin"), role=Role.ADMIN)


@pytest.fixture(autouse=True)
def shelf() -> None:
    SHELF.__init__()  # type: ignore[misc]


def problems(caught: pytest.ExceptionInfo[Rejected]) -> list[str]:
    return [problem.path for problem in caught.value.problems]


def test_a_volume_is_made_and_then_there(cast: Cast, lab: Region, lin: Membership) -> None:
    volume = volumes.create(cast.team, SCRATCH, by=lin)
    assert (volume.status, volume.kind, volume.orphan_since is None) == (Status.CREATING, Kind.PFS, False)
    tending.tend(volume)
    assert (volume.status, SHELF.volumes[volume.key].size_gib) == (Status.READY, 100)
    event = Event.objects.get(verb="volume.create")
    assert (event.who, event.target, event.detail) == (
        "lin",
        "scratch",
        {"summary": "100 GiB of fast in lab"},
    )


@pytest.mark.parametrize("who", ["ben", "mo", "cy"])
def test_below_admin_nobody_makes_one(cast: Cast, lab: Region, who: str) -> None:
    with pytest.raises(Forbidden):
        volumes.create(cast.team, SCRATCH, by=getattr(cast, who))
    assert not Volume.objects.exists()


@pytest.mark.parametrize(
    ("wish", "path"),
    [
        (Wish("Scratch", "lab", "fast", 1), "name"),
        (Wish("new", "lab", "fast", 1), "name"),
        (Wish("a", "moon", "fast", 1), "region"),
        (Wish("a", "lab", "slow", 1), "offer"),
        (Wish("a", "lab", "shared", 501), "size_gib"),
        (Wish("a", "lab", "shared", 0), "size_gib"),
        (Wish("a", "lab", "shared", None), "size_gib"),
    ],
)
def test_what_does_not_fit_is_said_at_its_field(cast: Cast, lab: Region, wish: Wish, path: str) -> None:
    with pytest.raises(Rejected) as caught:
        volumes.create(cast.team, wish, by=cast.ada)
    assert problems(caught) == [path]


def test_two_volumes_of_a_team_have_two_names(cast: Cast, lab: Region) -> None:
    volumes.create(cast.team, SCRATCH, by=cast.ada)
    with pytest.raises(Rejected) as caught:
        volumes.create(cast.team, SCRATCH, by=cast.ada)
    assert problems(caught) == ["name"]


def test_a_dataset_brings_its_files_and_no_size(cast: Cast, lab: Region) -> None:
    volume = volumes.create(cast.team, Wish("pictures", "lab", "imagenet"), by=cast.ada)
    assert (volume.is_dataset, volume.source) == (True, "imagenet")
    with pytest.raises(Rejected):
        volumes.grow(volume, 20_000, by=cast.ada)


def test_it_grows(cast: Cast, lab: Region) -> None:
    volume = volumes.create(cast.team, SCRATCH, by=cast.ada)
    tending.tend(volume)
    volumes.grow(volume, 200, by=cast.ada)
    volume.refresh_from_db()
    assert volume.status is Status.GROWING
    tending.tend(volume)
    assert (volume.status, SHELF.volumes[volume.key].size_gib) == (Status.READY, 200)


@pytest.mark.parametrize("size_gib", [99, 100, 1, 10_241])
def test_it_does_not_shrink_nor_outgrow_the_offer(cast: Cast, lab: Region, size_gib: int) -> None:
    volume = volumes.create(cast.team, SCRATCH, by=cast.ada)
    with pytest.raises(Rejected) as caught:
        volumes.grow(volume, size_gib, by=cast.ada)
    assert problems(caught) == ["size_gib"]
    volume.refresh_from_db()
    assert volume.size_gib == 100


def test_a_new_name_moves_nothing(cast: Cast, lab: Region) -> None:
    volume = volumes.create(cast.team, SCRATCH, by=cast.ada)
    volumes.rename(volume, "archive", by=cast.ada)
    again = Volume.objects.get(slug="archive")
    assert again.key == volume.key
    a_volume(cast, lab, "other")
    with pytest.raises(Rejected) as caught:
        volumes.rename(again, "other", by=cast.ada)
    assert problems(caught) == ["name"]


def test_deleting_takes_the_files_and_then_the_row(cast: Cast, lab: Region) -> None:
    volume = volumes.create(cast.team, SCRATCH, by=cast.ada)
    tending.tend(volume)
    volumes.delete(volume, by=cast.ada)
    volume.refresh_from_db()
    assert volume.status is Status.DELETING
    with pytest.raises(Conflict):
        volumes.grow(volume, 300, by=cast.ada)
    tending.tend(volume)
    assert (SHELF.volumes, Volume.objects.count()) == ({}, 0)
    tending.tend(volume)
    with pytest.raises(Missing):
        volumes.delete(volume, by=cast.ada)


def test_one_that_is_deleted_while_it_is_made_leaves_nothing(cast: Cast, lab: Region) -> None:
    slow = volumes.create(cast.team, SCRATCH, by=cast.ada)
    volumes.delete(slow, by=cast.ada)
    tending.tend(Volume.objects.get())
    assert not Volume.objects.exists()
    tending.tend(slow)
    assert SHELF.volumes == {}


def test_only_the_owner_deletes(cast: Cast, lab: Region, lin: Membership) -> None:
    volume = volumes.create(cast.team, SCRATCH, by=lin)
    with pytest.raises(Forbidden):
        volumes.delete(volume, by=lin)


def mounted(volume: Volume) -> tuple[Mount, ...]:
    return (Mount(volume.key, volume.slug, "/shared"),)


@pytest.mark.parametrize("status", [ClusterStatus.RUNNING, ClusterStatus.FAILED, ClusterStatus.TERMINATING])
def test_a_mounted_volume_is_not_deleted(cast: Cast, lab: Region, status: ClusterStatus) -> None:
    volume = a_volume(cast, lab)
    tiny_cluster(cast.team, spec=tiny_spec(mounts=mounted(volume)), status=status)
    with pytest.raises(Conflict, match="mounted by tiny"):
        volumes.delete(volume, by=cast.ada)


@pytest.mark.parametrize("start_at", [None, timezone.now() + timedelta(hours=2)], ids=["now", "later"])
def test_neither_is_one_that_a_change_on_its_way_mounts(cast: Cast, lab: Region, start_at: datetime) -> None:
    volume = a_volume(cast, lab)
    cluster = tiny_cluster(cast.team)
    spec = cluster.spec.with_mounts(mounted(volume))
    change = propose(cluster, spec, base=1, by=cast.ada, start_at=start_at)
    with pytest.raises(Conflict, match="mounted by tiny"):
        volumes.delete(volume, by=cast.ada)
    change.status = ChangeStatus.ROLLED_BACK
    change.save()
    volumes.delete(volume, by=cast.ada)


@pytest.mark.parametrize("status", [ClusterStatus.TERMINATED, ClusterStatus.DELETED])
def test_a_volume_outlives_its_cluster_and_is_then_an_orphan(
    cast: Cast, lab: Region, status: ClusterStatus
) -> None:
    volume = a_volume(cast, lab)
    cluster = tiny_cluster(cast.team, spec=tiny_spec(mounts=mounted(volume)))
    tending.note_orphans()
    volume.refresh_from_db()
    assert volume.orphan_since is None
    cluster.enter(status)
    tending.note_orphans()
    volume.refresh_from_db()
    since = volume.orphan_since
    assert since is not None
    tending.note_orphans()
    volume.refresh_from_db()
    assert volume.orphan_since == since
    volumes.delete(volume, by=cast.ada)


def test_a_platform_that_refuses_is_quoted_and_asked_again(cast: Cast, lab: Region) -> None:
    volume = volumes.create(cast.team, SCRATCH, by=cast.ada)
    SHELF.refusals = [Rejected("There is no storage class fast.", (), "Ask the operator of the region.")]
    tending.tend(volume)
    assert volume.status is Status.FAILED
    assert volume.phase_why == "There is no storage class fast. Ask the operator of the region."
    assert tending.look(lab) == [volume]
    tending.tend(volume)
    assert (volume.status, volume.phase_why) == (Status.READY, "")


def test_a_platform_that_is_away_changes_no_status(cast: Cast, lab: Region) -> None:
    volume = a_volume(cast, lab)
    SHELF.refusals = [Unavailable("The region lab does not answer.")]
    tending.tend(volume)
    assert (volume.status, volume.phase_why) == (Status.READY, "The region lab does not answer.")


def test_a_lost_volume_is_not_made_anew(cast: Cast, lab: Region) -> None:
    volume = volumes.create(cast.team, SCRATCH, by=cast.ada)
    tending.tend(volume)
    SHELF.volumes.clear()
    assert tending.look(lab) == []
    volume.refresh_from_db()
    volumes.grow(volume, 200, by=cast.ada)
    volume.refresh_from_db()
    tending.tend(volume)
    assert SHELF.volumes == {}
    assert (volume.status, volume.phase_why) == (Status.LOST, "It is not on the shelf.")


def test_looking_sees_what_is_used_and_what_wants_to_grow(cast: Cast, lab: Region) -> None:
    volume = volumes.create(cast.team, SCRATCH, by=cast.ada)
    tending.tend(volume)
    SHELF.used[volume.key] = 5 * 2**30
    volumes.grow(volume, 300, by=cast.ada)
    assert tending.look(lab) == [volume]
    volume.refresh_from_db()
    assert (volume.used_bytes, volume.phase) == (5 * 2**30, Phase.READY)
