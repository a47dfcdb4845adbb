"""Another cluster like this one: what is taken along, and what cannot be, with the reason.

From any status that still has a record (`clusters.lifecycle`): only the desired state is read, and what runs is not
asked. The form and the API both come through here.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from clusters.inventory import images_of
from clusters.machine import ChangeStatus
from clusters.models import Cluster
from clusters.mountable import offered
from clusters.spec import CPU_GROUP, GPU_GROUP, ClusterSpec, NodeGroup
from console.words import count, listed


@dataclass(frozen=True)
class LeftOut:
    """`what` stays behind, and `why`; `instead` is what can be done about it, empty where there is nothing."""

    what: str
    why: str
    instead: str = ""


def like(source: ClusterSpec, ordered: ClusterSpec) -> ClusterSpec:
    """What was ordered, and of the source all that no order names: its slurm.conf, its own partitions, and so on."""
    return replace(
        source,
        name=ordered.name,
        image=ordered.image,
        slurm_version=ordered.slurm_version,
        groups=tuple(_numbered(group, source.group(group.name)) for group in ordered.groups),
        region_partitions=ordered.region_partitions,
        ssh_keys=ordered.ssh_keys,
        mounts=ordered.mounts,
    )


def left_out(cluster: Cluster) -> tuple[LeftOut, ...]:
    """Everything that a clone of `cluster` will not have, the most painful first. Some small queries."""
    return (
        *_jobs(cluster),
        LeftOut(
            "Job history, accounts, users, QOS and limits",
            "they are in the cluster's own accounting database",
            "Dump accounts, QOS and limits on its Accounts tab and restore them in the new one; history stays with it.",
        ),
        LeftOut(
            "Files on its nodes: /tmp, /dev/shm, and homes that are on no volume",
            "nothing but volumes outlives a node",
            "Copy to a volume what is to be kept.",
        ),
        *_volumes(cluster),
        LeftOut(
            "What was installed or edited by hand on its login node or controller",
            "only the desired state is copied",
        ),
        LeftOut("Host keys and addresses", "each cluster has its own: ssh asks about the new one's once"),
        *_gone_volumes(cluster),
        *_image(cluster),
        *_people(cluster),
        LeftOut("Revisions, changes and activity", "the new one begins with its own"),
        *_scheduled(cluster),
    )


def order_of(cluster: Cluster) -> dict[str, object]:
    """What to order for another one like it, in the API's words. Volumes that cannot be mounted are left out."""
    spec = cluster.spec
    names = {volume.key: volume.name for volume in offered(cluster.team, cluster.region)}
    mounts = [
        {"volume": names[mount.volume], "path": mount.path, "read_only": mount.read_only}
        for mount in spec.mounts
        if mount.volume in names
    ]
    order: dict[str, object] = {
        "name": next_name(cluster),
        "region": cluster.region.slug,
        "image": spec.image,
        "ssh_keys": list(spec.ssh_keys),
        "mounts": mounts,
        "like": cluster.slug,
    }
    for name, kind in ((GPU_GROUP, "gpu"), (CPU_GROUP, "cpu")):
        group = spec.group(name)
        order[f"{kind}_plan"] = group.shape.plan if group else ""
        order[f"{kind}_nodes"] = len(group.ordinals) if group else 0
    return order


def next_name(cluster: Cluster) -> str:
    """`demo-2` for `demo`, the first number that the team does not use."""
    stem = re.sub(r"-\d+$", "", cluster.slug)[:36]
    taken = set(cluster.team.clusters.values_list("slug", flat=True))
    return next(name for n in range(2, len(taken) + 3) if (name := f"{stem}-{n}") not in taken)


def _numbered(group: NodeGroup, before: NodeGroup | None) -> NodeGroup:
    """With the same numbers where there are as many: the source's partitions name its nodes."""
    if before is None or len(before.ordinals) != len(group.ordinals):
        return group
    return replace(group, ordinals=before.ordinals)


def _jobs(cluster: Cluster) -> Iterator[LeftOut]:
    """`jobs` is what slurm.models.Job calls its way back; clusters does not import slurm."""
    if number := cluster.jobs.filter(is_finished=False).count():
        yield LeftOut(
            f"Its queue: {count(number, 'job')}", "jobs belong to its controller", "Submit them again."
        )


def _volumes(cluster: Cluster) -> Iterator[LeftOut]:
    names = [mount.name for mount in cluster.spec.mounts if mount.volume in _mountable(cluster)]
    if names:
        yield LeftOut(
            f"A copy of {listed(names)}",
            "volumes are attached, not copied: both clusters see the same files",
            "Leave the path empty to do without one.",
        )


def _gone_volumes(cluster: Cluster) -> Iterator[LeftOut]:
    mountable = _mountable(cluster)
    for mount in cluster.spec.mounts:
        if mount.volume not in mountable:
            yield LeftOut(
                f"The mount of {mount.name} at {mount.path}", "this volume cannot be mounted any more"
            )


def _mountable(cluster: Cluster) -> frozenset[str]:
    return frozenset(volume.key for volume in offered(cluster.team, cluster.region))


def _image(cluster: Cluster) -> Iterator[LeftOut]:
    spec = cluster.spec
    if spec.image not in {image.slug for image in images_of(cluster.region)}:
        yield LeftOut(f"Its image {spec.image}", "it is not offered any more", "Choose another.")


def _people(cluster: Cluster) -> Iterator[LeftOut]:
    if number := cluster.grants.count():
        yield LeftOut(
            f"Rights of {count(number, 'member')} on this cluster alone",
            "they were given for it",
            "Give them again.",
        )


def _scheduled(cluster: Cluster) -> Iterator[LeftOut]:
    for change in cluster.changes.filter(status=ChangeStatus.SCHEDULED):
        yield LeftOut(
            f"Change {change.number}, which is scheduled: {change.summary}", "it has not happened yet"
        )
