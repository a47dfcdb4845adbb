"""Whether the volumes that a spec mounts may be mounted: `settings.MOUNTABLE`, see `clusters.mountable`.

The rows are locked until the revision is written, so that no volume is deleted meanwhile; `storage.volumes` locks the
same row before it deletes.
"""

from collections.abc import Iterator

from clusters.models import Region
from clusters.mountable import Offered
from clusters.spec import ClusterSpec, Mount
from console.errors import Problem
from console.models import Team
from storage.kinds import may_be_mounted
from storage.models import Volume, about_volume


class Volumes:
    """Those of all teams."""

    def offered(self, team: Team, region: Region) -> tuple[Offered, ...]:
        rows = team.volumes.filter(region=region).order_by("slug")
        return tuple(
            Offered(row.key, row.slug, about_volume(row), row.is_dataset)
            for row in rows
            if may_be_mounted(row.status)
        )

    def problems(
        self, team: Team, region: Region, spec: ClusterSpec, before: ClusterSpec | None
    ) -> tuple[Problem, ...]:
        """At `mounts[i].volume` or `mounts[i].read_only`. Locks the volumes' rows."""
        keys = [mount.volume for mount in spec.mounts]
        # Always in one order: two specs that mount the same two volumes would otherwise wait for each other.
        rows = Volume.objects.select_for_update(of=("self",)).filter(team=team, key__in=keys).order_by("pk")
        volumes = {volume.key: volume for volume in rows}
        held = {mount.volume for mount in before.mounts} if before else set()
        return tuple(
            problem
            for index, mount in enumerate(spec.mounts)
            for problem in _problems(
                mount, volumes.get(mount.volume), region, f"mounts[{index}]", is_held=mount.volume in held
            )
        )


def _problems(
    mount: Mount, volume: Volume | None, region: Region, where: str, *, is_held: bool
) -> Iterator[Problem]:
    if volume is None or volume.deleted_at is not None:
        yield Problem(f"{where}.volume", f"The team has no volume {mount.name} any more.", "Choose another.")
        return
    if volume.region_id != region.pk:
        there = f"{volume.slug} is in {volume.region.slug}, the cluster in {region.slug}."
        yield Problem(f"{where}.volume", there, "A volume can be mounted in its own region only.")
    if volume.is_dataset and not mount.read_only:
        yield Problem(f"{where}.read_only", f"{volume.slug} is a dataset: mount it read-only.")
    if not is_held and not may_be_mounted(volume.status):
        yield Problem(
            f"{where}.volume", f"{volume.slug} is {volume.status.value.lower()}. {volume.phase_why}".strip(),
            "The Volumes page shows how it goes on.",
        )  # fmt: skip
