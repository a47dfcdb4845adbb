"""Turning what was seen into rows: only those that differ are written.

Called by `clusters.watch` only. What a table holds is remembered in the process that watches the cluster, so
that an unchanged look costs a comparison and no query. The memory belongs to one hold on the cluster (its
watch token): another watcher in between starts it anew, and a failed transaction must `forget`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from clusters.models import Cluster, Node, Partition
from clusters.observation import NodeSeen, PartitionSeen

Values = dict[str, object]
Row = TypeVar("Row", Node, Partition)
NODE_FIELDS = (
    "group",
    "ordinal",
    "machine",
    "state",
    "health",
    "machine_state",
    "cpus",
    "cpus_allocated",
    "memory_mib",
    "memory_allocated_mib",
    "gpus",
    "gpus_allocated",
    "partitions",
    "features",
    "reason",
    "reason_by",
    "reason_at",
    "boot_at",
    "version",
)
PARTITION_FIELDS = ("state", "nodes", "is_default", "total_nodes", "total_cpus", "fields")


@dataclass
class Memory:
    """What the rows of one cluster hold, by table and name, under one hold on the cluster."""

    token: str
    tables: dict[str, dict[str, Values]] = field(default_factory=dict)


@dataclass(frozen=True)
class Written(Generic[Row]):
    """What one look changed in one table. `before` holds the old values of the changed rows, none for an
    added one."""

    changed: tuple[Row, ...] = ()
    before: tuple[Values, ...] = ()
    added: int = 0
    removed: int = 0

    def __bool__(self) -> bool:
        return bool(self.changed or self.removed)


_memories: dict[int, Memory] = {}


def forget(cluster: Cluster) -> None:
    """The rows may no longer hold what is remembered."""
    _memories.pop(cluster.pk, None)


def write_nodes(cluster: Cluster, nodes: Iterable[NodeSeen]) -> Written[Node]:
    return _write(cluster, Node, NODE_FIELDS, {node.name: _node_values(node) for node in nodes})


def write_partitions(cluster: Cluster, partitions: Iterable[PartitionSeen]) -> Written[Partition]:
    return _write(cluster, Partition, PARTITION_FIELDS, {p.name: _partition_values(p) for p in partitions})


def _write(
    cluster: Cluster, model: type[Row], names: tuple[str, ...], seen: dict[str, Values]
) -> Written[Row]:
    held = _held(cluster, model, names)
    differing = {name: values for name, values in seen.items() if held.get(name) != values}
    gone = held.keys() - seen.keys()
    if gone:
        model.objects.filter(cluster=cluster, name__in=gone).delete()
    rows = [model(cluster=cluster, name=name, **values) for name, values in differing.items()]
    if rows:
        model.objects.bulk_create(
            rows,
            update_conflicts=True,
            unique_fields=["cluster", "name"],
            update_fields=names,
            batch_size=1000,
        )
    before = tuple(held.get(name, {}) for name in differing)
    for name in gone:
        del held[name]
    held.update(differing)
    return Written(tuple(rows), before, added=before.count({}), removed=len(gone))


def _held(cluster: Cluster, model: type[Row], names: tuple[str, ...]) -> dict[str, Values]:
    memory = _memories.get(cluster.pk)
    if memory is None or not memory.token or memory.token != cluster.watch_token:
        memory = _memories[cluster.pk] = Memory(cluster.watch_token)
    if model.__name__ not in memory.tables:
        rows = model.objects.filter(cluster=cluster).values("name", *names)
        memory.tables[model.__name__] = {row.pop("name"): row for row in rows}
    return memory.tables[model.__name__]


def _node_values(node: NodeSeen) -> Values:
    group, _, ordinal = node.name.rpartition("-")
    numbered = bool(group) and ordinal.isdigit()
    return {
        "group": group if numbered else node.name,
        "ordinal": int(ordinal) if numbered else 0,
        "machine": node.machine,
        "state": node.state.word,
        "health": node.state.health.value,
        "machine_state": node.machine_state,
        "cpus": node.cpus,
        "cpus_allocated": node.cpus_allocated,
        "memory_mib": node.memory_mib,
        "memory_allocated_mib": node.memory_allocated_mib,
        "gpus": node.gpus,
        "gpus_allocated": node.gpus_allocated,
        "partitions": list(node.partitions),
        "features": list(node.features),
        "reason": node.reason,
        "reason_by": node.reason_by,
        "reason_at": node.reason_at,
        "boot_at": node.boot_at,
        "version": node.version,
    }


def _partition_values(partition: PartitionSeen) -> Values:
    return {
        "state": partition.state,
        "nodes": partition.nodes,
        "is_default": partition.is_default,
        "total_nodes": partition.total_nodes,
        "total_cpus": partition.total_cpus,
        "fields": dict(partition.fields),
    }
