"""The port between volumes and the platform that keeps them.

Adapters live in `slurm.provisioners`, beside those of clusters, and are found by dotted path in
`settings.VOLUME_STORES`, under the region's provisioner. All methods block and run in a worker, except where their
docstring says that they are quick. Adapters raise `ConsoleError`s only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from django.conf import settings
from django.utils.module_loading import import_string

from clusters.platform import RegionRef
from console.errors import Missing
from storage.kinds import Kind, Phase


@dataclass(frozen=True)
class VolumeRef:
    """Which volume, and what it should be. `source` names a dataset's files in the platform's own words."""

    key: str
    name: str
    team: str
    kind: Kind
    size_gib: int
    storage_class: str = ""
    source: str = ""


@dataclass(frozen=True)
class VolumeSeen:
    """`size_gib` is None where the platform keeps no size, `used_bytes` where it does not say. `why` is a sentence."""

    phase: Phase
    size_gib: int | None = None
    used_bytes: int | None = None
    why: str = ""


class VolumeStore(Protocol):
    def __init__(self, region: RegionRef) -> None: ...

    def keep(self, volume: VolumeRef) -> None:
        """Have it there in its size: made where it is missing, grown where it is smaller, never shrunk or emptied.
        Idempotent. Raises Rejected when the platform refuses, Unavailable when it cannot tell."""
        ...

    def look(self, volumes: Sequence[VolumeRef]) -> Mapping[str, VolumeSeen]:
        """How they are, by key. One that is not there is LOST; one missing from the answer was not looked at."""
        ...

    def remove(self, volume: VolumeRef) -> None:
        """Delete it with everything in it; a dataset's files stay. Idempotent. Raises like `keep`."""
        ...


def has_volumes(kind: str) -> bool:
    """Whether regions of this provisioner can have volumes."""
    return kind in settings.VOLUME_STORES


def store_of(kind: str, region: RegionRef) -> VolumeStore:
    """Quick: adapters connect late. Raises Missing."""
    path = settings.VOLUME_STORES.get(kind)
    if path is None:
        raise Missing(f"This console keeps no volumes for {kind}.", "Choose another region.")
    store: VolumeStore = import_string(path)(region)
    return store
