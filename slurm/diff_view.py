"""A diff of slurm.conf cut into the stretches that a person has to look at. Pure; for pages."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from slurm.effects import LineChange

AROUND = 3


@dataclass(frozen=True)
class Stretch:
    """Changed lines with up to AROUND unchanged ones before and after; `skipped` lines are left out above."""

    lines: tuple[LineChange, ...]
    skipped: int


def stretches(lines: Sequence[LineChange]) -> list[Stretch]:
    """In reading order; none when nothing changed."""
    found: list[Stretch] = []
    end = 0
    for first, last in _near(lines):
        found.append(Stretch(tuple(lines[first:last]), first - end))
        end = last
    return found


def _near(lines: Sequence[LineChange]) -> Iterator[tuple[int, int]]:
    """Half-open ranges around the changes, those that touch joined."""
    begun: tuple[int, int] | None = None
    for at, line in enumerate(lines):
        if line.op == "same":
            continue
        first, last = max(0, at - AROUND), min(len(lines), at + AROUND + 1)
        if begun and first <= begun[1]:
            begun = begun[0], last
        else:
            if begun:
                yield begun
            begun = first, last
    if begun:
        yield begun
