"""Clusters as they stand at some moment, built in one line, and the operator's way with them."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from clusters.nodes import parse_state
from clusters.observation import NodeSeen
from clusters.spec import ClusterSpec, NodeGroup, Shape
from slurm.provisioners.slinky.pods import Worker
from slurm.provisioners.slinky.stages import Standing

SHAPE = Shape("gpu-8x", 96, 1_024_000, 8, "h100")


def spec_with(**ordinals: Iterable[int]) -> ClusterSpec:
    """`slinky=(0, 1)`."""
    groups = tuple(NodeGroup(name, SHAPE, tuple(numbers)) for name, numbers in ordinals.items())
    return ClusterSpec("demo", "slurm-26-05", "26.05", groups)


def worker(group: str, ordinal: int, **fields: object) -> Worker:
    base = Worker(
        pod=f"demo-c1-{group}-{ordinal}",
        slurm=f"{group}-{ordinal}",
        node_set=f"demo-c1-{group}",
        ordinal=ordinal,
        machine=f"m{ordinal}",
        ready=True,
        leaving=False,
        cordoned=False,
        cost=0,
        deadline=None,
        knows_slurm=True,
        uid=f"uid-{group}-{ordinal}",
    )
    return replace(base, **fields)  # type: ignore[arg-type]


def node(
    name: str, state: str = "IDLE+DYNAMIC_NORM", reason: str = "", busy: int = 0, at: str = ""
) -> NodeSeen:
    return NodeSeen(
        name=name,
        machine="",
        state=parse_state(state),
        machine_state="",
        cpus=96,
        cpus_allocated=busy,
        memory_mib=1000,
        memory_allocated_mib=0,
        gpus=8,
        gpus_allocated=0,
        partitions=(),
        reason=reason,
        reason_at=datetime.fromisoformat(at).astimezone(UTC) if at else None,
    )


def standing(
    named: Iterable[str] | None = (),
    replicas: Mapping[str, int] | None = None,
    extra: Iterable[NodeSeen] = (),
    **ordinals: Iterable[int],
) -> Standing:
    """Every worker is ready and registered; `extra` are Slurm's records beside theirs, or instead of them."""
    workers = {group: tuple(worker(group, n) for n in numbers) for group, numbers in ordinals.items()}
    records = {one.slurm: node(one.slurm) for found in workers.values() for one in found}
    records |= {one.name: one for one in extra}
    return Standing(
        workers=workers,
        replicas=replicas or {group: len(found) for group, found in workers.items()},
        nodes=tuple(records.values()),
        named=None if named is None else frozenset(named),
    )
