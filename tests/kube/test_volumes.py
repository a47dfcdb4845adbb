"""Volumes against a real API server: made, bound, grown, kept, removed."""

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from clusters.platform import RegionRef
from console.errors import Rejected
from slurm.kube.client import Kube
from slurm.kube.kinds import CLAIM
from slurm.kube.kinds import NAMESPACE as NAMESPACES
from slurm.provisioners.slinky.names import TEAM_LABEL, claim_of
from storage.kinds import Kind, Phase
from storage.models import new_key
from storage.store import VolumeRef, VolumeSeen
from tests.kube.clusters import RigVolumes, remove_namespace
from tests.kube.rig.admin import Admin

NAMESPACE = "volumes-research"


@pytest.fixture(scope="module")
def store(kubernetes: Admin, kube: Kube) -> Iterator[RigVolumes]:
    yield RigVolumes(RegionRef("rig", {"namespace_prefix": "volumes"}), kube)
    remove_namespace(kube, NAMESPACE)


@pytest.fixture
def volume() -> VolumeRef:
    return VolumeRef(new_key(), "shared", "research", Kind.SFS, 10)


def seen(store: RigVolumes, volume: VolumeRef, phase: Phase, within_s: float = 60.0) -> VolumeSeen:
    give_up = time.monotonic() + within_s
    while (found := store.look([volume])[volume.key]).phase is not phase:
        assert time.monotonic() < give_up, found
        time.sleep(0.2)
    return found


def test_a_volume_is_bound_and_keeping_it_again_changes_nothing(store: RigVolumes, volume: VolumeRef) -> None:
    store.keep(volume)
    assert (seen(store, volume, Phase.READY).size_gib or 0) >= 10
    before = store.kube.get(CLAIM, claim_of(volume.key), NAMESPACE)["metadata"]
    store.keep(volume)
    after = store.kube.get(CLAIM, claim_of(volume.key), NAMESPACE)["metadata"]
    assert (before["uid"], before["resourceVersion"]) == (after["uid"], after["resourceVersion"])


def test_a_class_that_cannot_grow_says_so(store: RigVolumes, volume: VolumeRef) -> None:
    store.keep(volume)
    seen(store, volume, Phase.READY)
    with pytest.raises(Rejected):
        store.keep(replace(volume, size_gib=20))


def test_a_removed_volume_is_gone_and_removing_it_again_is_nothing(
    store: RigVolumes, volume: VolumeRef
) -> None:
    store.keep(volume)
    for _ in range(2):
        store.remove(volume)
    assert store.look([volume])[volume.key].phase is Phase.LOST


def test_a_namespace_of_another_team_is_left_alone(store: RigVolumes, volume: VolumeRef) -> None:
    store.keep(volume)
    label(store, "chemistry")
    try:
        with pytest.raises(Rejected, match="chemistry"):
            store.keep(replace(volume, key=new_key()))
    finally:
        label(store, "research")


def label(store: RigVolumes, team: str) -> None:
    store.kube.patch(NAMESPACES, NAMESPACE, "", {"metadata": {"labels": {TEAM_LABEL: team}}})
