"""A store of volumes in this process: the double of a platform for everything above the port."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from clusters.platform import RegionRef
from console.errors import ConsoleError
from storage.kinds import Phase
from storage.store import VolumeRef, VolumeSeen


@dataclass
class Shelf:
    """What is there, by key; `refusals` are raised one by one, `calls` is what was asked."""

    volumes: dict[str, VolumeRef] = field(default_factory=dict)
    used: dict[str, int] = field(default_factory=dict)
    refusals: list[ConsoleError] = field(default_factory=list)
    calls: list[tuple[str, str]] = field(default_factory=list)


SHELF = Shelf()


class FakeStore:
    def __init__(self, region: RegionRef) -> None:
        self.region = region

    def keep(self, volume: VolumeRef) -> None:
        self._called("keep", volume)
        SHELF.volumes[volume.key] = volume

    def look(self, volumes: Sequence[VolumeRef]) -> Mapping[str, VolumeSeen]:
        return {volume.key: self._seen(volume) for volume in volumes}

    def remove(self, volume: VolumeRef) -> None:
        self._called("remove", volume)
        SHELF.volumes.pop(volume.key, None)

    def _seen(self, volume: VolumeRef) -> VolumeSeen:
        there = SHELF.volumes.get(volume.key)
        if there is None:
            return VolumeSeen(Phase.LOST, why="It is not on the shelf.")
        return VolumeSeen(Phase.READY, there.size_gib, SHELF.used.get(volume.key))

    def _called(self, verb: str, volume: VolumeRef) -> None:
        SHELF.calls.append((verb, volume.key))
        if SHELF.refusals:
            raise SHELF.refusals.pop(0)
