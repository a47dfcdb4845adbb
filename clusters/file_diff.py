"""What differs between two renderings of a cluster: file by file, in stretches of lines, for a person to read. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from clusters.line_match import LineMatcher

AROUND = 3


class LineOp(StrEnum):
    SAME = "same"
    ADD = "add"
    REMOVE = "remove"


SIGNS = {LineOp.SAME: " ", LineOp.ADD: "+", LineOp.REMOVE: "-"}


@dataclass(frozen=True)
class DiffLine:
    """Numbers count from 1; None on the side where the line is not."""

    op: LineOp
    old: int | None
    new: int | None
    text: str


@dataclass(frozen=True)
class Stretch:
    """Changed lines with up to AROUND unchanged ones before and after; `skipped` lines are left out above it."""

    lines: tuple[DiffLine, ...]
    skipped: int


@dataclass(frozen=True)
class FileDiff:
    """One file or object by its name. `word` is what became of it: added, changed or removed."""

    name: str
    word: str
    stretches: tuple[Stretch, ...]

    @property
    def added(self) -> int:
        return self._count(LineOp.ADD)

    @property
    def removed(self) -> int:
        return self._count(LineOp.REMOVE)

    @property
    def text(self) -> str:
        """A stretch begins with `@@` and where it is, as in a unified diff."""
        return "\n".join(line for stretch in self.stretches for line in _unified(stretch))

    def _count(self, op: LineOp) -> int:
        return sum(line.op is op for stretch in self.stretches for line in stretch.lines)


def file_diffs(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[FileDiff, ...]:
    """Only files that differ, in the order of the new ones, those that are gone last."""
    names = dict.fromkeys([*new, *old])
    return tuple(
        FileDiff(name, _word(name, old, new), _stretches(old.get(name, ""), new.get(name, "")))
        for name in names
        if old.get(name) != new.get(name)
    )


def _word(name: str, old: Mapping[str, str], new: Mapping[str, str]) -> str:
    return "added" if name not in old else "changed" if name in new else "removed"


def _stretches(old_text: str, new_text: str) -> tuple[Stretch, ...]:
    old, new = old_text.splitlines(), new_text.splitlines()
    groups = LineMatcher(old, new).get_grouped_opcodes(AROUND)
    found, end = [], 0
    for group in groups:
        found.append(Stretch(tuple(_lines(group, old, new)), group[0][1] - end))
        end = group[-1][2]
    return tuple(found)


def _lines(
    group: Sequence[tuple[str, int, int, int, int]], old: Sequence[str], new: Sequence[str]
) -> Iterator[DiffLine]:
    for tag, first, last, new_first, new_last in group:
        if tag == "equal":
            for at in range(last - first):
                yield DiffLine(LineOp.SAME, first + at + 1, new_first + at + 1, old[first + at])
            continue
        yield from (DiffLine(LineOp.REMOVE, at + 1, None, old[at]) for at in range(first, last))
        yield from (DiffLine(LineOp.ADD, None, at + 1, new[at]) for at in range(new_first, new_last))


def _unified(stretch: Stretch) -> Iterator[str]:
    olds = [line.old for line in stretch.lines if line.old]
    news = [line.new for line in stretch.lines if line.new]
    yield f"@@ -{_span(olds)} +{_span(news)} @@"
    yield from (f"{SIGNS[line.op]}{line.text}" for line in stretch.lines)


def _span(numbers: Sequence[int]) -> str:
    return f"{numbers[0] if numbers else 0},{len(numbers)}"
