"""The filter box above the nodes: `slinky-[0-2] state:drain partition:debug`, as a query.

A bare word is a Slurm host list, else a part of either name. Words are joined by and; several host lists by or.
"""

from dataclasses import dataclass, field

from django.db.models import Q

from clusters.hostlist import HostlistError, expand
from clusters.nodes import Health

KEYS = ("state", "partition", "group", "reason", "machine", "feature")
SORTS = {
    "name": ("group", "ordinal", "name"),
    "state": ("health", "state", "group", "ordinal"),
    "gpus": ("gpus_allocated", "gpus", "group", "ordinal"),
    "cpus": ("cpus_allocated", "cpus", "group", "ordinal"),
    "memory": ("memory_allocated_mib", "memory_mib", "group", "ordinal"),
}


@dataclass
class NodeQuery:
    """What was asked for, and in `problem` what of it was not understood (and left out)."""

    where: Q = field(default_factory=Q)
    problem: str = ""


def parse_query(text: str) -> NodeQuery:
    """Never raises."""
    query = NodeQuery()
    names = Q()
    for word in text.split():
        key, colon, value = word.partition(":")
        if not colon:
            names |= _named(word)
        elif key in KEYS and value:
            query.where &= _condition(key, value)
        else:
            query.problem = (
                f"“{word}” is not a filter here. Use {', '.join(f'{key}:' for key in KEYS)} or names."
            )
    query.where &= names
    return query


def order(sort: str) -> tuple[str, ...]:
    """Columns for `?sort=`; the model's own order when it names none."""
    descending = sort.startswith("-")
    columns = SORTS.get(sort.removeprefix("-"))
    if columns is None:
        return ("-gpus", "group", "ordinal", "name")
    return (f"-{columns[0]}" if descending else columns[0], *columns[1:])


def _named(word: str) -> Q:
    if "[" in word or "," in word:
        try:
            return Q(name__in=expand(word))
        except HostlistError:
            pass
    return Q(name__icontains=word) | Q(machine__icontains=word)


def _condition(key: str, value: str) -> Q:
    if key == "state":
        is_health = Q(health=value) if value in set(Health) else Q()
        return Q(state__istartswith=value) | is_health if is_health else Q(state__istartswith=value)
    if key in {"partition", "feature"}:
        return Q(**{f"{key}s__contains": [value]})
    return Q(**{f"{key}__icontains": value})
