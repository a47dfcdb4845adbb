"""Mounting and unmounting: a change of the cluster's spec like any other."""

from clusters import changes
from clusters.access import Door
from clusters.models import Change
from clusters.spec import ClusterSpec, Mount
from clusters.when import When
from console.errors import Missing
from storage.models import Volume


def mount_of(volume: Volume, path: str, *, read_only: bool) -> Mount:
    """A dataset's is read-only whatever is asked."""
    return Mount(volume.key, volume.slug, path, read_only=read_only or volume.is_dataset)


def with_mount(spec: ClusterSpec, mount: Mount) -> ClusterSpec:
    """With the volume at this path, and at no other that it had. In the order of paths, so that diffs read well."""
    others = (other for other in spec.mounts if other.volume != mount.volume)
    return spec.with_mounts(tuple(sorted((*others, mount), key=lambda one: one.path)))


def without(spec: ClusterSpec, volume: str) -> ClusterSpec:
    return spec.with_mounts(tuple(mount for mount in spec.mounts if mount.volume != volume))


def mounted(spec: ClusterSpec, volume: str) -> Mount:
    """The mount of a volume, by its key. Raises Missing."""
    for mount in spec.mounts:
        if mount.volume == volume:
            return mount
    raise Missing(f"{spec.name} does not mount that volume.", "Its Volumes tab lists its mounts.")


def mount(door: Door, wanted: Mount, *, base: int | None, start_at: When = None) -> Change:
    """Raises what `changes.propose` raises."""
    after = with_mount(door.cluster.spec, wanted)
    return changes.propose(door.cluster, after, base=base, by=door.membership, start_at=start_at)


def unmount(door: Door, volume: str, *, base: int | None, start_at: When = None) -> Change:
    """Raises Missing, and what `changes.propose` raises."""
    spec = door.cluster.spec
    mounted(spec, volume)
    after = without(spec, volume)
    return changes.propose(door.cluster, after, base=base, by=door.membership, start_at=start_at)
