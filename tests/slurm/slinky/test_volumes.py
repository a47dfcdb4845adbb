"""A volume as a claim: what is asked for, and what is read back of it."""

import pytest

from slurm.provisioners.slinky.region import RegionSettings
from slurm.provisioners.slinky.volumes import asked_gib, claim, gib, seen_of
from storage.kinds import Kind, Phase
from storage.store import VolumeRef, VolumeSeen

SHARED = VolumeRef("v000000000001", "shared", "research", Kind.SFS, 500, "cephfs")
DATASET = VolumeRef("v000000000002", "imagenet", "research", Kind.DATASET, 200, source="imagenet-pv")


def spec(volume: VolumeRef, **settings: str) -> object:
    return claim(volume, "quarterdeck-research", RegionSettings(**settings))["spec"]  # type: ignore[arg-type]


def test_a_claim_is_for_many_machines_and_belongs_to_no_cluster() -> None:
    made = claim(SHARED, "quarterdeck-research", RegionSettings())
    assert made["spec"] == {
        "accessModes": ["ReadWriteMany"],
        "resources": {"requests": {"storage": "500Gi"}},
        "storageClassName": "cephfs",
    }
    assert made["metadata"]["name"] == "volume-v000000000001"
    assert "ownerReferences" not in made["metadata"]
    assert "quarterdeck.dev/cluster" not in made["metadata"]["labels"]


def test_without_a_class_of_its_own_it_is_of_the_regions() -> None:
    plain = VolumeRef("v000000000001", "shared", "research", Kind.SFS, 1)
    assert spec(plain, storage_class="nfs")["storageClassName"] == "nfs"  # type: ignore[index]
    assert "storageClassName" not in spec(plain)  # type: ignore[operator]


def test_a_dataset_takes_the_volume_that_an_administrator_made() -> None:
    assert spec(DATASET, storage_class="nfs") == {
        "accessModes": ["ReadOnlyMany"],
        "resources": {"requests": {"storage": "200Gi"}},
        "storageClassName": "",
        "volumeName": "imagenet-pv",
    }


def found(phase: str, capacity: str = "", **more: object) -> VolumeSeen:
    status = {"phase": phase, **({"capacity": {"storage": capacity}} if capacity else {}), **more}
    return seen_of({"metadata": {"name": "x"}, "status": status})


def test_what_is_seen_of_a_claim() -> None:
    assert found("Bound", "500Gi") == VolumeSeen(Phase.READY, 500)
    assert found("Pending").phase is Phase.PENDING
    assert found("Lost", "500Gi").phase is Phase.LOST
    assert seen_of(None).phase is Phase.LOST
    growing = {"type": "FileSystemResizePending", "status": "True", "message": "Waiting for a mount."}
    assert found("Bound", "500Gi", conditions=[growing]).why == "Waiting for a mount."


def test_a_claim_that_somebody_deletes_is_lost_before_it_is_gone() -> None:
    going = {
        "metadata": {"name": "x", "deletionTimestamp": "2030-01-01T00:00:00Z"},
        "status": {"phase": "Bound"},
    }
    assert seen_of(going).phase is Phase.LOST


@pytest.mark.parametrize(
    ("quantity", "size"),
    [("1Gi", 1), ("1.5Ti", 1536), ("1073741824", 1), ("1G", 0), ("2G", 1), ("500Mi", 0), ("", 0), ("odd", 0)],
)
def test_quantities_are_whole_gib_rounded_down(quantity: str, size: int) -> None:
    assert gib(quantity) == size


def test_what_a_claim_asks_for() -> None:
    assert asked_gib(claim(SHARED, "n", RegionSettings())) == 500
