"""Which jobs run where, and how a node's GPUs are drawn: from rows that the watcher wrote, never from a call.

Read only; for pages and their impact lists. A job's GPUs are taken to be spread evenly over its nodes, which is what
the rows can say: the map shows how much is in use and by whom, not which physical GPU.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from clusters.hostlist import HostlistError, expand
from clusters.models import Cluster, Node
from clusters.nodes import Health
from slurm.drains import drain_owner
from slurm.models import Job

SHADES = "abc"
FREE = {
    Health.OK: ("free", "free"),
    Health.BUSY: ("free", "free"),
    Health.DRAINING: ("drain", "draining: takes no new job"),
    Health.DOWN: ("down", "down"),
    Health.UNKNOWN: ("unknown", "state unknown"),
}


@dataclass(frozen=True)
class Cell:
    """One GPU of the map. `kind` is a shade (a, b, c) or free, drain, down, unknown."""

    kind: str
    says: str


def nodes_of(job: Job) -> tuple[str, ...]:
    """Names of the nodes that the job runs on; none when it runs nowhere, or when its list cannot be read."""
    if job.is_finished or not job.nodes:
        return ()
    try:
        return expand(job.nodes)
    except HostlistError:
        return ()


def jobs_by_node(cluster: Cluster) -> Mapping[str, Sequence[Job]]:
    """Every node's jobs that hold resources there, longest running first. One query."""
    placed = (
        cluster.jobs.filter(is_finished=False).exclude(nodes="").defer("comment", "work_dir", "dependency")
    )
    found: dict[str, list[Job]] = defaultdict(list)
    for job in placed.order_by("start_at", "number"):
        for name in nodes_of(job):
            found[name].append(job)
    return found


def with_jobs(nodes: Iterable[Node], jobs: Mapping[str, Sequence[Job]]) -> list[Node]:
    """The nodes with `jobs_here`, which `clusters/_node_row.html` shows when it is there."""
    listed = list(nodes)
    for node in listed:
        node.jobs_here = jobs.get(node.name, ())  # type: ignore[attr-defined]
    return listed


def with_cells(nodes: Iterable[Node], jobs: Mapping[str, Sequence[Job]]) -> list[Node]:
    """The nodes with `cells` and `who`, which `clusters/_gpu_row.html` shows when they are there."""
    shades = _shades(job for of_node in jobs.values() for job in of_node)
    listed = with_jobs(nodes, jobs)
    for node in listed:
        here = jobs.get(node.name, ())
        node.cells = _cells(node, here, shades)  # type: ignore[attr-defined]
        node.who = _who(node, here)  # type: ignore[attr-defined]
    return listed


def _shades(jobs: Iterable[Job]) -> dict[int, str]:
    """A job has one shade over all its nodes; the largest jobs are the darkest."""
    by_size = sorted({job.pk: job for job in jobs}.values(), key=lambda job: (-job.gpus, job.number))
    return {job.pk: SHADES[index % len(SHADES)] for index, job in enumerate(by_size)}


def _cells(node: Node, jobs: Sequence[Job], shades: Mapping[int, str]) -> list[Cell]:
    cells: list[Cell] = []
    before = ""
    for job in jobs:
        share = -(-job.gpus // max(1, job.node_count))
        shade = shades[job.pk]
        if share and shade == before:
            shade = SHADES[(SHADES.index(shade) + 1) % len(SHADES)]
        before = shade if share else before
        cells += [Cell(shade, f"job {job.job_id} {job.name} of {job.user}")] * share
    cells = cells[: node.gpus]
    cells += [Cell("a", "in use")] * (node.gpus_allocated - len(cells))
    return cells + [Cell(*FREE[Health(node.health)])] * (node.gpus - len(cells))


def _who(node: Node, jobs: Sequence[Job]) -> str:
    """`ada · 4127 train-70b`, or several jobs by number; then why the node takes no new one."""
    if len(jobs) == 1:
        parts = [jobs[0].user, f"{jobs[0].job_id} {jobs[0].name}"]
    else:
        users = ", ".join(sorted({job.user for job in jobs}))
        more = [f"{len(jobs) - 4} more"] if len(jobs) > 4 else []
        parts = [part for part in (users, *(job.job_id for job in jobs[:4]), *more) if part]
    if node.reason:
        drain = drain_owner(node.reason, node.reason_by)
        parts.append(f"{node.state} {drain.by}: {drain.why}")
    return " · ".join(parts)
