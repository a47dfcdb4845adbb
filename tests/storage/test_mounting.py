"""Which volumes a cluster may mount: asked wherever a spec becomes a revision."""

import pytest
from django.utils import timezone

from clusters.changes import create_cluster, propose
from clusters.models import Region
from clusters.spec import Mount
from console.errors import Rejected
from console.models import Team
from storage.kinds import Kind, Phase
from storage.models import Volume
from tests.cast import Cast, tiny_cluster, tiny_spec
from tests.storage.conftest import a_volume


def mount(volume: Volume, path: str = "/shared", **fields: bool) -> Mount:
    return Mount(volume.key, volume.slug, path, **fields)


def refused(cast: Cast, *mounts: Mount) -> list[str]:
    cluster = tiny_cluster(cast.team)
    with pytest.raises(Rejected) as caught:
        propose(cluster, cluster.spec.with_mounts(mounts), base=1, by=cast.ada)
    assert not cluster.changes.exists()
    return [problem.path for problem in caught.value.problems]


def test_a_volume_of_the_team_is_mounted(cast: Cast, lab: Region) -> None:
    volume = a_volume(cast, lab)
    cluster = tiny_cluster(cast.team)
    change = propose(cluster, cluster.spec.with_mounts((mount(volume),)), base=1, by=cast.ada)
    assert change.summary == "Volumes: mount scratch at /shared"
    assert change.revision.parsed.mounts == (Mount(volume.key, "scratch", "/shared"),)


def test_a_new_cluster_may_begin_with_it(cast: Cast, lab: Region) -> None:
    volume = a_volume(cast, lab)
    spec = tiny_spec("fresh", partitions=(), mounts=(mount(volume),))
    cluster = create_cluster(cast.team, lab, spec, by=cast.ada)
    assert cluster.spec.mounts[0].volume == volume.key


def test_a_volume_of_another_team_does_not_exist(cast: Cast, lab: Region) -> None:
    other = Team.objects.create(slug="other", name="Other")
    theirs = Volume.objects.create(
        team=other, region=lab, slug="theirs", kind=Kind.PFS, size_gib=1, phase="ready"
    )
    assert refused(cast, mount(theirs)) == ["mounts[0].volume"]


def test_a_new_cluster_does_not_get_one_of_another_team(cast: Cast, lab: Region) -> None:
    other = Team.objects.create(slug="other", name="Other")
    theirs = Volume.objects.create(
        team=other, region=lab, slug="theirs", kind=Kind.PFS, size_gib=1, phase="ready"
    )
    with pytest.raises(Rejected):
        create_cluster(cast.team, lab, tiny_spec("fresh", mounts=(mount(theirs),)), by=cast.ada)
    assert not cast.team.clusters.exists()


def test_a_volume_of_another_region_stays_there(cast: Cast, lab: Region) -> None:
    far = Region.objects.create(slug="far", name="Far", provisioner="fake")
    assert refused(cast, mount(a_volume(cast, far))) == ["mounts[0].volume"]


def test_a_dataset_is_read_only(cast: Cast, lab: Region) -> None:
    dataset = a_volume(cast, lab, "imagenet", kind=Kind.DATASET)
    assert refused(cast, mount(dataset)) == ["mounts[0].read_only"]


def test_what_is_lost_or_being_deleted_is_not_mounted_anew(cast: Cast, lab: Region) -> None:
    lost = a_volume(cast, lab, phase=Phase.LOST, phase_why="It is not on the shelf.")
    going = a_volume(cast, lab, "going", deleted_at=timezone.now())
    assert refused(cast, mount(lost), mount(going, "/going")) == ["mounts[0].volume", "mounts[1].volume"]


def test_a_cluster_that_has_a_lost_volume_can_still_be_changed(cast: Cast, lab: Region) -> None:
    lost = a_volume(cast, lab, phase=Phase.LOST)
    cluster = tiny_cluster(cast.team, spec=tiny_spec(mounts=(mount(lost),)))
    assert propose(cluster, cluster.spec.with_slurm_conf("MaxJobCount=20000\n"), base=1, by=cast.ada)
