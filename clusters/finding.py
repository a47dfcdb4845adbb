"""What was found of a region, one thing at a time. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import msgspec


class State(StrEnum):
    """How something that a region needs is; `unknown` says that it could not be looked at."""

    OK = "ok"
    WARN = "warn"
    BAD = "bad"
    UNKNOWN = "unknown"


WORST_FIRST = (State.BAD, State.WARN, State.UNKNOWN, State.OK)


@dataclass(frozen=True)
class Finding:
    """One thing that a region needs, as it was found. `key` is stable.

    `sentence` says how it is, `hint` what to do about it; `details` are further lines, `commands` shell lines to copy.
    """

    key: str
    title: str
    state: State
    sentence: str
    hint: str = ""
    details: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()


def worst(findings: Iterable[Finding]) -> Finding | None:
    """The first of the gravest ones; None when there is nothing to do."""
    grave = sorted(
        (finding for finding in findings if finding.state in (State.BAD, State.WARN)),
        key=lambda finding: WORST_FIRST.index(finding.state),
    )
    return grave[0] if grave else None


def as_stored(findings: Iterable[Finding]) -> list[dict[str, object]]:
    """For `Region.readiness`."""
    return [msgspec.to_builtins(finding) for finding in findings]


def from_stored(rows: object) -> tuple[Finding, ...]:
    """What `as_stored` wrote; nothing for rows that an older or newer console wrote in another form."""
    try:
        return msgspec.convert(rows, tuple[Finding, ...])
    except msgspec.ValidationError:
        return ()
