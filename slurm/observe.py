"""Slurm's part of an observation, the same for every adapter.

Blocking (three commands in one exchange, 4 s each at most); never raises for a sick cluster. Called by provisioners'
`observe`, which add what only they know: the parts, the machines, drift.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from clusters.observation import Observation
from console.errors import ConsoleError
from slurm.client import Slurm


def observe_slurm(
    slurm: Slurm,
    machine_of: Mapping[str, str],
    machine_state_of: Callable[[str], str],
    *,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Observation:
    """Nodes, partitions and jobs, or a problem. Both callables and the mapping go by Slurm name.

    All three or none: jobs of one moment beside nodes of another would make pages that contradict themselves.
    `taken_at` is the moment before the first question, so a page never claims to be fresher than it is.
    """
    taken_at = now()
    try:
        seen = slurm.everything(machine_of, machine_state_of)
    except ConsoleError as error:
        return Observation(taken_at, problem=error.message)
    return Observation(taken_at, nodes=seen.nodes, partitions=seen.partitions, jobs=seen.jobs)
