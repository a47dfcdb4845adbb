"""How many nodes a group has: up takes the next ordinals, down lets the highest go. Pure."""

from collections.abc import Mapping
from dataclasses import replace

from clusters.spec import ClusterSpec, NodeGroup


def rescale(spec: ClusterSpec, counts: Mapping[str, int]) -> ClusterSpec:
    """`spec` with as many nodes in each named group; groups that `counts` leaves out stay as they are."""
    groups = tuple(_resized(group, counts.get(group.name, len(group.ordinals))) for group in spec.groups)
    return replace(spec, groups=groups)


def leaving(before: ClusterSpec, after: ClusterSpec) -> tuple[str, ...]:
    """Slurm names of the nodes that `after` no longer has."""
    stays = set(after.node_names)
    return tuple(name for name in before.node_names if name not in stays)


def coming(before: ClusterSpec, after: ClusterSpec) -> tuple[str, ...]:
    """Slurm names of the nodes that `after` adds."""
    return leaving(after, before)


def _resized(group: NodeGroup, count: int) -> NodeGroup:
    have = tuple(sorted(group.ordinals))
    count = max(0, count)
    if count <= len(have):
        return replace(group, ordinals=have[:count])
    first = have[-1] + 1 if have else 0
    return replace(group, ordinals=have + tuple(range(first, first + count - len(have))))
