"""The port between a spec's mounts and the volumes that they name.

Volumes belong to `storage`, which stands above `clusters`: it is found by the dotted path `settings.MOUNTABLE`, so that
nothing here imports upward.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from django.conf import settings
from django.utils.module_loading import import_string

from clusters.models import Region
from clusters.spec import ClusterSpec, Mount
from console.errors import Problem
from console.models import Team


@dataclass(frozen=True)
class Offered:
    """A volume that a cluster may mount. `about` says in a few words what it is."""

    key: str
    name: str
    about: str
    is_read_only: bool


@dataclass(frozen=True)
class MountOrder:
    """A mount as ordered: a volume by its name."""

    volume: str
    path: str
    read_only: bool = False


class Mountable(Protocol):
    def offered(self, team: Team, region: Region) -> tuple[Offered, ...]:
        """The team's volumes that a cluster in the region may mount, by name."""
        ...

    def problems(
        self, team: Team, region: Region, spec: ClusterSpec, before: ClusterSpec | None
    ) -> tuple[Problem, ...]:
        """What of `spec.mounts` is no volume that `team` can mount in `region`, by field path.

        Called in the transaction that writes the revision: the volumes stay until it ends. What the cluster has mounted
        already (`before`) may stay although a new mount would be refused, as long as the volume is there.
        """
        ...


def volume_problems(
    team: Team, region: Region, spec: ClusterSpec, before: ClusterSpec | None
) -> tuple[Problem, ...]:
    """Ask the volumes. Quick where nothing is mounted."""
    return _volumes().problems(team, region, spec, before) if spec.mounts else ()


def offered(team: Team, region: Region) -> tuple[Offered, ...]:
    return _volumes().offered(team, region)


def mounts_for(orders: Iterable[MountOrder], among: Iterable[Offered]) -> tuple[Mount, ...]:
    """As they stand in a spec, in the order given. One of no such volume has no key, which validation finds."""
    named = {one.name: one for one in among}
    return tuple(
        Mount(
            volume=found.key if (found := named.get(order.volume)) else "",
            name=order.volume,
            path=order.path,
            read_only=order.read_only or (found is not None and found.is_read_only),
        )
        for order in orders
    )


def _volumes() -> Mountable:
    volumes: Mountable = import_string(settings.MOUNTABLE)()
    return volumes
