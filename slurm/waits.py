"""What a change that rests waits for, from rows: the nodes that are to go or to restart, and the jobs on them. Read
only.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from clusters.machine import ChangeStatus, Kind
from clusters.models import Change, Cluster
from clusters.rolling import from_json
from clusters.scaling import leaving
from slurm.models import Job
from slurm.occupancy import jobs_by_node

MOST_NAMED = 12


@dataclass(frozen=True)
class NodeJobs:
    """A node by its Slurm name, and the jobs on it; `more` are not among them."""

    name: str
    jobs: Sequence[Job]
    more: int


@dataclass(frozen=True)
class Waited:
    """`jobs` are at most MOST_NAMED of the `job_count`; `until` is None when one of them has no time limit."""

    nodes: Sequence[str]
    jobs: Sequence[Job]
    job_count: int
    until: datetime | None


def waited_for(change: Change) -> Waited | None:
    """None for a change that does not wait, or not for jobs on nodes. One query."""
    nodes = _nodes(change) if change.rests and change.status != ChangeStatus.ASKING else ()
    by_node = [node for node in jobs_of_nodes(change.cluster, nodes) if node.jobs]
    jobs = list({job.pk: job for node in by_node for job in node.jobs}.values())
    ends = [job.end_at for job in jobs if job.end_at]
    until = max(ends) if ends and len(ends) == len(jobs) else None
    return Waited([node.name for node in by_node], jobs[:MOST_NAMED], len(jobs), until) if jobs else None


def _nodes(change: Change) -> Sequence[str]:
    """Those on which nothing may run any more for the change to go on."""
    if change.kind == Kind.RESTART:
        course = from_json(change.course)
        return [name for name in course.remaining if name in course.begun]
    if change.base is None or change.revision is None:
        return ()
    before, after = change.base.parsed, change.revision.parsed
    if change.status == ChangeStatus.ROLLING_BACK:
        before, after = after, before
    return leaving(before, after)


def jobs_of_nodes(cluster: Cluster, names: Sequence[str]) -> list[NodeJobs]:
    """Each named node with the jobs that hold something there, in the order given. One query, or none."""
    by_node = jobs_by_node(cluster) if names else {}
    found = ((name, by_node.get(name, ())) for name in names)
    return [NodeJobs(name, jobs[:MOST_NAMED], max(0, len(jobs) - MOST_NAMED)) for name, jobs in found]
