"""Which lines of two texts are the same, for diffs: as difflib does it, in time that no text can draw out. Pure.

difflib compares each line with every like one, again for each stretch that it finds: minutes for some ten thousand
lines that repeat, hours for what a slurm.conf may hold. Here so many comparisons are made that way and no more; beyond
them, lines that both texts have once are the marks between which the search goes on (Bram Cohen's patience diff).
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import Match, SequenceMatcher

# Pairs of lines that are compared as difflib compares them, in all.
MOST_PAIRS = 250_000
# How often stretches between marks are searched for marks of their own.
DEPTH = 8


class LineMatcher(SequenceMatcher[str]):
    """A SequenceMatcher of two lists of lines. What it no longer looks for is a stretch that was replaced."""

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        super().__init__(None, old, new, autojunk=False)
        pairs = _Search(old, new, MOST_PAIRS).pairs(_Range(0, len(old), 0, len(new)), DEPTH)
        self._found = [*_blocks(pairs), Match(len(old), len(new), 0)]

    def get_matching_blocks(self) -> list[Match]:
        return self._found


@dataclass(frozen=True)
class _Range:
    """Lines of both texts, the ends not included."""

    old: int
    old_end: int
    new: int
    new_end: int

    @property
    def pairs(self) -> int:
        return (self.old_end - self.old) * (self.new_end - self.new)


@dataclass
class _Search:
    old: Sequence[str]
    new: Sequence[str]
    left: int

    def pairs(self, part: _Range, depth: int) -> Iterator[tuple[int, int]]:
        """Numbers of lines that are the same, ascending on both sides."""
        if part.pairs <= self.left:
            yield from self._closely(part)
            return
        head, middle = self._ends(part)
        yield from ((part.old + at, part.new + at) for at in range(head))
        yield from self._between_marks(middle, depth)
        tail = part.old_end - middle.old_end
        yield from ((middle.old_end + at, middle.new_end + at) for at in range(tail))

    def _closely(self, part: _Range) -> Iterator[tuple[int, int]]:
        self.left -= part.pairs
        old, new = self.old[part.old : part.old_end], self.new[part.new : part.new_end]
        for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
            yield from ((part.old + block.a + at, part.new + block.b + at) for at in range(block.size))

    def _ends(self, part: _Range) -> tuple[int, _Range]:
        """How many lines are the same at the beginning, and what is left without those and the same ones at the end."""
        old, new, old_end, new_end = part.old, part.new, part.old_end, part.new_end
        while old < old_end and new < new_end and self.old[old] == self.new[new]:
            old, new = old + 1, new + 1
        while old < old_end and new < new_end and self.old[old_end - 1] == self.new[new_end - 1]:
            old_end, new_end = old_end - 1, new_end - 1
        return old - part.old, _Range(old, old_end, new, new_end)

    def _between_marks(self, part: _Range, depth: int) -> Iterator[tuple[int, int]]:
        if part.pairs <= self.left:
            yield from self._closely(part)
            return
        old, new = part.old, part.new
        for mark_old, mark_new in self._marks(part) if depth else ():
            yield from self.pairs(_Range(old, mark_old, new, mark_new), depth - 1)
            yield mark_old, mark_new
            old, new = mark_old + 1, mark_new + 1
        if (old, new) != (part.old, part.new):
            yield from self.pairs(_Range(old, part.old_end, new, part.new_end), depth - 1)

    def _marks(self, part: _Range) -> list[tuple[int, int]]:
        """The longest row of lines that are there once on either side, and in the same order on both."""
        there = _once(self.new, part.new, part.new_end)
        here = _once(self.old, part.old, part.old_end)
        both = [(at, there[line]) for line, at in here.items() if line in there]
        return _ascending(sorted(both))


def _once(lines: Sequence[str], first: int, end: int) -> dict[str, int]:
    counts = Counter(lines[first:end])
    return {lines[at]: at for at in range(first, end) if counts[lines[at]] == 1}


def _ascending(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of `pairs`, ascending by the first, that ascends by the second, too (patience sorting)."""
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for number, (_, new) in enumerate(pairs):
        pile = bisect_left(ends, new)
        before.append(last[pile - 1] if pile else -1)
        ends[pile : pile + 1] = [new]
        last[pile : pile + 1] = [number]
    found, at = [], last[-1] if last else -1
    while at >= 0:
        found.append(pairs[at])
        at = before[at]
    return found[::-1]


def _blocks(pairs: Iterator[tuple[int, int]]) -> Iterator[Match]:
    """Neighbours together."""
    block: Match | None = None
    for old, new in pairs:
        if block and (old, new) == (block.a + block.size, block.b + block.size):
            block = block._replace(size=block.size + 1)
            continue
        if block:
            yield block
        block = Match(old, new, 1)
    if block:
        yield block
