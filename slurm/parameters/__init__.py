"""The catalogue of slurm.conf: every key that Slurm 22.05 to 26.05 knows, with what it is, holds and costs to change.

Pure; anyone may call it. The rows are in the modules beside this one, by theme. Keys are found in any case; those of
lines that describe things (`PartitionName=...`) are asked for with `line`.
"""

from difflib import get_close_matches
from functools import lru_cache

from slurm.parameters import (
    accounting,
    daemons,
    jobs,
    logs,
    nodes,
    partitions,
    power,
    priority,
    scheduling,
    security,
    timers,
)
from slurm.parameters.model import VERSIONS, Cost, Kind, Owner, Parameter, Word

__all__ = [
    "VERSIONS", "Cost", "Kind", "Owner", "Parameter", "Word",
    "all_parameters", "find", "for_version", "nearest",
]  # fmt: skip

_TABLES = (
    scheduling, priority, accounting, jobs, timers, logs, security, daemons, power, partitions, nodes,
)  # fmt: skip
_ALL: tuple[Parameter, ...] = tuple(parameter for table in _TABLES for parameter in table.ROWS)
_BY_NAME = {(parameter.line, parameter.name.lower()): parameter for parameter in _ALL}


def all_parameters() -> tuple[Parameter, ...]:
    """Every row, top-level keys first, grouped by theme; those of entity lines have `line` set."""
    return _ALL


def find(name: str, line: str | None = None) -> Parameter | None:
    """The key in any case, or None. `line` is the kind of line as in `slurm.conf.ENTITY_KINDS`."""
    return _BY_NAME.get((line, name.lower()))


def for_version(version: str, line: str | None = None) -> tuple[Parameter, ...]:
    """The keys that this version (`"24.11"`, `"24.11.5"`) knows, of one kind of line or at the top level."""
    return tuple(one for one in _ALL if one.line == line and one.known_in(version))


@lru_cache(maxsize=1024)
def nearest(name: str, line: str | None = None, version: str | None = None) -> str | None:
    """The known key most like a misspelt one, in its usual spelling; None if nothing is near."""
    known = {
        one.name.lower(): one.name
        for one in _ALL
        if one.line == line and (version is None or one.known_in(version))
    }
    found = get_close_matches(name.lower(), known, n=1, cutoff=0.72)
    return known[found[0]] if found else None
