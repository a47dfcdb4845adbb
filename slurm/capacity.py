"""What is free and what could ever be, for jobs that wait for resources. Pure.

A job's needs are spread evenly over its nodes, as Slurm does unless told otherwise, so a sentence here is
evidence of why a job waits, not a promise of when it starts.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from clusters.observation import JobSeen, NodeSeen


@dataclass(frozen=True)
class Need:
    """What each node of the job must give. Memory is MiB."""

    nodes: int
    gpus: int
    cpus: int
    memory_mib: int


@dataclass(frozen=True)
class Kind:
    """One resource in words: `asked` of the need, `free` and `total` of a node."""

    name: str
    asked: int
    free: tuple[int, ...]
    total: tuple[int, ...]

    @property
    def noun(self) -> str:
        return self.name[:-1] if self.asked == 1 and self.name.endswith("s") else self.name


def need_of(job: JobSeen) -> Need:
    nodes = max(1, job.node_count)
    return Need(nodes, _share(job.gpus, nodes), _share(job.cpus, nodes), _share(job.memory_mib or 0, nodes))


def _share(total: int, nodes: int) -> int:
    return -(-total // nodes)


def impossible(need: Need, nodes: Sequence[NodeSeen]) -> str:
    """A sentence when no node could ever satisfy the need, empty otherwise."""
    if not nodes:
        return ""
    for kind in _kinds(need, nodes):
        if kind.asked > max(kind.total):
            return f"Asks {_amount(kind, kind.asked)} on one node; the largest has {_bare(kind, max(kind.total))}."
    able = sum(fits(need, node, free=False) for node in nodes)
    if able < need.nodes:
        return f"Asks {need.nodes} nodes; only {able} of its partition are large enough."
    return ""


def shortage(need: Need, nodes: Sequence[NodeSeen]) -> str:
    """What is not free now: `Needs 8 free GPUs on one node; most is 2 (slinky-2).` Empty when it would
    fit."""
    open_nodes = [node for node in nodes if node.state.takes_jobs]
    ready = [node for node in open_nodes if fits(need, node)]
    if len(ready) >= need.nodes or not open_nodes:
        return ""
    if need.nodes > 1:
        return _many(need, open_nodes, len(ready))
    kind = next(kind for kind in _kinds(need, open_nodes) if kind.asked > max(kind.free) or kind.asked)
    short = next((k for k in _kinds(need, open_nodes) if k.asked > max(k.free)), None)
    if short is None:
        return f"Needs {_amount(kind, kind.asked)} and more free on one node; no node has all of it free together."
    best = max(open_nodes, key=lambda node: _free(node, short.name))
    most = _bare(short, _free(best, short.name))
    return f"Needs {_free_amount(short)} on one node; most is {most} ({best.name})."


def _many(need: Need, nodes: Sequence[NodeSeen], ready: int) -> str:
    kind = next((kind for kind in _kinds(need, nodes) if kind.asked), None)
    each = f" with {_free_amount(kind)} each" if kind else ""
    return f"Needs {need.nodes} nodes{each}; {ready or 'none'} of {len(nodes)} {'has' if ready == 1 else 'have'} that."


def out_of_service(nodes: Iterable[NodeSeen]) -> str:
    """`slinky-3 is down, slinky-1 is drained (bad fan)`: at most three by name. Empty when all take jobs."""
    away = [node for node in nodes if not node.state.takes_jobs]
    named = [f"{node.name} is {node.state.word}{_because(node)}" for node in away[:3]]
    return ", ".join([*named, f"and {len(away) - 3} more"] if len(away) > 3 else named)


def _because(node: NodeSeen) -> str:
    text = " ".join(node.reason.split())
    return f" ({text[:60]}{'…' if len(text) > 60 else ''})" if text else ""


def fits(need: Need, node: NodeSeen, *, free: bool = True) -> bool:
    """Whether the node's free (or whole) GPUs, CPUs and memory cover one node's share."""
    return all(
        asked <= (_free(node, name) if free else _total(node, name))
        for name, asked in (("GPUs", need.gpus), ("CPUs", need.cpus), ("memory", need.memory_mib))
    )


def _kinds(need: Need, nodes: Sequence[NodeSeen]) -> list[Kind]:
    asked = {"GPUs": need.gpus, "CPUs": need.cpus, "memory": need.memory_mib}
    return [
        Kind(name, n, tuple(_free(x, name) for x in nodes), tuple(_total(x, name) for x in nodes))
        for name, n in asked.items()
    ]


def _total(node: NodeSeen, name: str) -> int:
    return {"GPUs": node.gpus, "CPUs": node.cpus, "memory": node.memory_mib}[name]


def _free(node: NodeSeen, name: str) -> int:
    used = {"GPUs": node.gpus_allocated, "CPUs": node.cpus_allocated, "memory": node.memory_allocated_mib}[
        name
    ]
    return max(0, _total(node, name) - used)


def _amount(kind: Kind, count: int) -> str:
    return f"{_gib(count)} of memory" if kind.name == "memory" else f"{count} {kind.noun}"


def _free_amount(kind: Kind) -> str:
    return f"{_gib(kind.asked)} of free memory" if kind.name == "memory" else f"{kind.asked} free {kind.noun}"


def _bare(kind: Kind, count: int) -> str:
    return _gib(count) if kind.name == "memory" else str(count)


def _gib(mib: int) -> str:
    return f"{mib / 1024:.1f} GiB".replace(".0 ", " ")
