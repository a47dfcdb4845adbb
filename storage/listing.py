"""Volumes as lists show them: with their mounts, their use and what they cost. Reads only."""

from dataclasses import dataclass
from decimal import Decimal

from clusters.models import Cluster
from clusters.spec import Mount
from console.models import Team
from console.words import memory, memory_of
from storage.attachments import Attachment, attachments_of
from storage.models import Volume
from storage.volumes import why_not_deleted


@dataclass(frozen=True)
class Row:
    """`cost` is for a month, None where nobody set a price; `used_mib` None where the platform does not say."""

    volume: Volume
    attachments: list[Attachment]
    cost: Decimal | None

    @property
    def is_orphan(self) -> bool:
        return not self.attachments

    @property
    def size_mib(self) -> int:
        return self.volume.size_gib * 1024

    @property
    def used_mib(self) -> int | None:
        used = self.volume.used_bytes
        return None if used is None else -(-used // 2**20)

    @property
    def used_words(self) -> str:
        """`0.4 / 2.0 TiB`, or the size alone; a small use in its own unit, not as nothing of much."""
        used = self.used_mib
        if self.volume.is_dataset:
            return memory(used)
        if used is None:
            return memory(self.size_mib)
        if used == 0:
            return f"0 of {memory(self.size_mib)}"
        if used * 20 < self.size_mib:
            return f"{memory(used)} of {memory(self.size_mib)}"
        return memory_of(used, self.size_mib)

    @property
    def why_not_deleted(self) -> str:
        return why_not_deleted(self.volume, self.attachments)


@dataclass(frozen=True)
class MountRow:
    """A mount of a cluster, and its volume where that is still there."""

    mount: Mount
    row: Row | None
    is_settled: bool

    @property
    def name(self) -> str:
        return self.row.volume.slug if self.row else self.mount.name


def rows_of(team: Team) -> list[Row]:
    """All of the team's, by name. Three queries."""
    held = attachments_of(team)
    volumes = team.volumes.select_related("team", "region", "offer").order_by("slug")
    return [Row(volume, held.get(volume.key, []), cost_of(volume)) for volume in volumes]


def cost_of(volume: Volume) -> Decimal | None:
    """A month of it. A dataset's files are the operator's."""
    price = volume.offer.price_per_gib_month if volume.offer else None
    return None if price is None or volume.is_dataset else price * volume.size_gib


def total(rows: list[Row]) -> Decimal | None:
    """What they cost together; None when one has no price."""
    costs = [row.cost for row in rows if not row.volume.is_dataset]
    return None if not costs or None in costs else sum((cost for cost in costs if cost), Decimal(0))


def mounts_of(cluster: Cluster, rows: list[Row]) -> list[MountRow]:
    """The cluster's mounts by path, with those that a change is about to bring."""
    by_key = {row.volume.key: row for row in rows}
    settled = {mount.volume: MountRow(mount, by_key.get(mount.volume), True) for mount in cluster.spec.mounts}
    coming = {
        row.volume.key: MountRow(one.mount, row, False)
        for row in rows
        for one in row.attachments
        if one.cluster == cluster and row.volume.key not in settled
    }
    return sorted((*settled.values(), *coming.values()), key=lambda one: one.mount.path)


def mountable(cluster: Cluster, rows: list[Row]) -> list[Row]:
    """The team's volumes in the cluster's region that it does not mount."""
    mounted = {mount.volume for mount in cluster.spec.mounts}
    return [r for r in rows if r.volume.region_id == cluster.region_id and r.volume.key not in mounted]
