"""Jobs that keep nodes from leaving, and the sentence about it. Pure."""

from collections.abc import Collection, Iterable, Sequence

from clusters.hostlist import HostlistError, expand
from clusters.observation import JobSeen
from console.words import count, listed

HOLDING = frozenset(
    {"RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT"}
)


def jobs_on(jobs: Iterable[JobSeen], nodes: Collection[str]) -> tuple[JobSeen, ...]:
    """Those that hold something on any of these nodes."""
    return tuple(job for job in jobs if job.state in HOLDING and not set(nodes).isdisjoint(_places(job)))


def wait_words(nodes: Sequence[str], jobs: Sequence[JobSeen]) -> str:
    """`Waits for 2 jobs on slinky-3, until 2030-01-01 14:20 UTC at the latest.`"""
    busy = [node for node in nodes if jobs_on(jobs, (node,))]
    return f"Waits for {count(len(jobs), 'job')} on {listed(busy)}, {_until(jobs)}."


def _until(jobs: Sequence[JobSeen]) -> str:
    ends = [job.end_at for job in jobs if job.end_at]
    if len(ends) < len(jobs):
        return "some without a time limit"
    return f"until {max(ends):%Y-%m-%d %H:%M} UTC at the latest"


def _places(job: JobSeen) -> tuple[str, ...]:
    try:
        return expand(job.nodes) if job.nodes else ()
    except HostlistError:
        return ()
