"""When a change is to start: now, at a time, or when nothing runs that it would end. Pure.

The one place that says so for forms, the API and `clusters.changes`; what becomes of a change that waits is in
`clusters.schedule`.
"""

from collections.abc import Collection
from datetime import datetime
from enum import Enum


class Idle(Enum):
    """A type of one value, so that it can stand beside a time."""

    WHEN_IDLE = "when idle"


WHEN_IDLE = Idle.WHEN_IDLE
# None is now.
When = datetime | Idle | None


def time_of(when: When) -> datetime | None:
    return when if isinstance(when, datetime) else None


# Names of what a form or a script says about it.
FIELDS = ("start_at", "when_idle", "at_once")
AT_ONCE_ONLY = (
    "This is done at once or not at all. Changes of a cluster and restarts can start later; for jobs Slurm has "
    "sbatch --begin, and for nodes that shall be free at a time its reservations."
)


def refusals(said: Collection[str], known: Collection[str]) -> dict[str, str]:
    """Of an act that knows only `known` fields: why it does not take what is said about when it is to start. Passing
    over it would do at once what somebody wanted done later."""
    return {name: AT_ONCE_ONLY for name in FIELDS if name in said and name not in known}
