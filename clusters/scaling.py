"""How many nodes a group has, and which ones. Pure.

Growth takes the lowest free numbers, as Slinky's operator does; when a group shrinks the highest go, unless others are
chosen. Numbers may so have gaps. A group without nodes is no group: with its last node it goes, its partition and its
plan with it, and one that is not there comes with its first.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from itertools import count, islice

from clusters.spec import CPU_GROUP, GPU_GROUP, ClusterSpec, NodeGroup, Shape
from console.errors import Problem

GROUPS = (GPU_GROUP, CPU_GROUP)


def rescale(
    spec: ClusterSpec,
    counts: Mapping[str, int],
    leaving: Collection[str] = (),
    shapes: Mapping[str, Shape] | None = None,
) -> ClusterSpec:
    """`spec` with as many nodes in each named group; groups that `counts` leaves out stay as they are.

    Of nodes that go those named in `leaving` go first. What they cannot mean is for `misfits` to say. `shapes` are the
    machines of groups that come to be; one that is named without stays away.
    """
    fresh = (NodeGroup(name, shape, ()) for name, shape in (shapes or {}).items() if spec.group(name) is None)
    groups = (
        _resized(group, counts.get(group.name, len(group.ordinals)), frozenset(leaving))
        for group in sorted((*spec.groups, *fresh), key=lambda group: GROUPS.index(group.name))
    )
    return replace(spec, groups=tuple(group for group in groups if group.ordinals))


def misfits(
    spec: ClusterSpec, counts: Mapping[str, int], leaving: Collection[str], path: str = "leaving"
) -> Iterator[Problem]:
    """Why the chosen nodes do not fit the counts: one problem for nodes that are not there, one for each group."""
    if unknown := [name for name in leaving if name not in spec.node_names]:
        yield Problem(
            path, f"The cluster has no node {', '.join(unknown[:3])}.", "The Nodes page lists them all."
        )
    for group in spec.groups:
        going = len(group.ordinals) - counts.get(group.name, len(group.ordinals))
        chosen = sum(name in leaving for name in group.node_names)
        if chosen > max(going, 0):
            words = f"{chosen} of {group.name} are chosen to go, but its number goes down by {max(going, 0)}."
            yield Problem(path, words, f"Set the number of {group.name} to {len(group.ordinals) - chosen}.")


def leaving(before: ClusterSpec, after: ClusterSpec) -> tuple[str, ...]:
    """Slurm names of the nodes that `after` no longer has."""
    stays = set(after.node_names)
    return tuple(name for name in before.node_names if name not in stays)


def coming(before: ClusterSpec, after: ClusterSpec) -> tuple[str, ...]:
    """Slurm names of the nodes that `after` adds."""
    return leaving(after, before)


def _resized(group: NodeGroup, wanted: int, chosen: Collection[str]) -> NodeGroup:
    more = max(0, wanted) - len(group.ordinals)
    if more >= 0:
        free = (n for n in count() if n not in group.ordinals)
        return replace(group, ordinals=tuple(sorted([*group.ordinals, *islice(free, more)])))
    first_to_go = sorted(group.ordinals, key=lambda n: (f"{group.name}-{n}" in chosen, n), reverse=True)
    return replace(group, ordinals=tuple(sorted(first_to_go[-more:])))
