"""What each changed line of slurm.conf costs: nothing, a reconfigure, or a restart of daemons.

Pure; called by the review page of a change and by the log of a change. It compares two texts line by line; what a key
costs comes from the catalogue, what becomes of partitions and nodes from man slurm.conf and from what real controllers
were seen to do (22.05: a changed node count ends slurmctld at reconfigure; 23.11 and later take it).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from clusters.line_match import LineMatcher
from slurm.conf import Line, LineKind, parse
from slurm.parameters import VERSIONS, Cost, find
from slurm.parameters.model import within

Op = Literal["add", "change", "remove", "same"]


@dataclass(frozen=True, slots=True)
class LineChange:
    """One line before and after. Numbers are 1-based, None on the side where the line is not; texts are without
    their line ends. `reason` is one sentence on why it costs what it costs; empty for `same`."""

    op: Op
    old_line: int | None
    new_line: int | None
    old: str
    new: str
    key: str
    cost: Cost
    reason: str


def line_diff(old_text: str, new_text: str, *, version: str = VERSIONS[-1]) -> tuple[LineChange, ...]:
    """Every line of both texts in reading order, unchanged ones as `same`.

    A line whose key stands on both sides of a changed stretch is a `change`; its order within the stretch does not
    matter. `version` is the cluster's Slurm: before 23.11 more keys need a restart.
    """
    old, new = parse(old_text).lines, parse(new_text).lines
    changes: list[LineChange] = []
    for tag, start, end, new_start, new_end in _opcodes(old, new):
        if tag == "equal":
            changes += (_same(a, b) for a, b in zip(old[start:end], new[new_start:new_end], strict=True))
        else:
            changes += _stretch(old[start:end], new[new_start:new_end], version)
    return tuple(changes)


def total_cost(changes: tuple[LineChange, ...]) -> Cost:
    """The dearest of them."""
    costs = {change.cost for change in changes}
    return next((cost for cost in (Cost.RESTART, Cost.RECONFIGURE) if cost in costs), Cost.NONE)


def _opcodes(old: tuple[Line, ...], new: tuple[Line, ...]) -> Iterator[tuple[str, int, int, int, int]]:
    """The equal head taken off first: it is most of a file."""
    head = 0
    while head < min(len(old), len(new)) and old[head].text == new[head].text:
        head += 1
    if head:
        yield "equal", 0, head, 0, head
    before, after = [_bare(line) for line in old[head:]], [_bare(line) for line in new[head:]]
    for tag, start, end, new_start, new_end in LineMatcher(before, after).get_opcodes():
        yield tag, start + head, end + head, new_start + head, new_end + head


def _bare(line: Line) -> str:
    return line.text.rstrip("\r\n")


def _same(old: Line, new: Line) -> LineChange:
    return LineChange("same", old.number, new.number, _bare(old), _bare(new), _key(new), Cost.NONE, "")


def _stretch(old: tuple[Line, ...], new: tuple[Line, ...], version: str) -> Iterator[LineChange]:
    """A changed stretch: lines of one key are paired in order, what is left over was removed or added."""
    waiting: dict[str, list[Line]] = {}
    for line in old:
        waiting.setdefault(_identity(line), []).append(line)
    partners: dict[int, Line] = {}
    for line in new:
        identity = _identity(line)
        if identity and waiting.get(identity):
            partners[line.number] = waiting[identity].pop(0)
    paired = {line.number for line in partners.values()}
    yield from (_removed(line, version) for line in old if line.number not in paired)
    for line in new:
        partner = partners.get(line.number)
        yield _changed(partner, line, version) if partner else _added(line, version)


def _identity(line: Line) -> str:
    """What makes two lines the same setting: its key, or the kind and name of what it describes; else nothing."""
    if line.kind is LineKind.ENTITY:
        return f"{line.entity}={line.fields[0].value}"
    return line.fields[0].key.lower() if line.fields else ""


def _key(line: Line) -> str:
    if line.kind is LineKind.ENTITY:
        return _identity(line)
    if line.fields:
        known = find(line.fields[0].key)
        return known.name if known else line.fields[0].key
    return "Include" if line.kind is LineKind.INCLUDE else ""


def _removed(line: Line, version: str) -> LineChange:
    cost, reason = _cost(line, version, "remove")
    return LineChange("remove", line.number, None, _bare(line), "", _key(line), cost, reason)


def _added(line: Line, version: str) -> LineChange:
    cost, reason = _cost(line, version, "add")
    return LineChange("add", None, line.number, "", _bare(line), _key(line), cost, reason)


def _changed(old: Line, new: Line, version: str) -> LineChange:
    cost, reason = _cost(new, version, "change")
    if _meaning(old) == _meaning(new):
        cost, reason = Cost.NONE, "Only the way it is written changed; Slurm reads the same."
    return LineChange("change", old.number, new.number, _bare(old), _bare(new), _key(new), cost, reason)


def _meaning(line: Line) -> tuple[object, ...]:
    fields = [(field.key.lower(), field.operator, field.value) for field in line.fields]
    return line.kind, line.leftover, *fields


def _cost(line: Line, version: str, op: Op) -> tuple[Cost, str]:
    if line.kind in (LineKind.BLANK, LineKind.COMMENT):
        return Cost.NONE, "A comment or a blank line; Slurm does not read it."
    if line.kind is LineKind.ENTITY:
        return _entity_cost(line, version, op)
    key = _key(line)
    known = find(key)
    if known is None:
        return Cost.RESTART, f"{key or 'The line'} is not known to Slurm, which would not start with it."
    if known.cost_in(version) is Cost.RESTART:
        when = "the daemons start" if known.restart == "always" else f"slurmctld {version} starts"
        return Cost.RESTART, f"{known.name} is read only when {when}; running jobs go on."
    return (
        Cost.RECONFIGURE,
        f"{known.name} is read again by a reconfigure; nothing restarts and running jobs go on.",
    )


def _entity_cost(line: Line, version: str, op: Op) -> tuple[Cost, str]:
    if line.entity == "PartitionName":
        if op == "remove":
            return (
                Cost.RECONFIGURE,
                "Jobs waiting in the partition leave the queue, and those running in it end.",
            )
        return Cost.RECONFIGURE, "Partitions are read again by a reconfigure; running jobs go on."
    if line.entity == "NodeName" and within(version, None, "23.02"):
        return Cost.RESTART, f"slurmctld {version} must restart for other nodes; running jobs go on."
    if op == "remove" and line.entity == "NodeName":
        return Cost.RECONFIGURE, "Jobs that run on the node, or wait for it by name, end as NODE_FAIL."
    return Cost.RECONFIGURE, f"{line.entity} lines are read again by a reconfigure; running jobs go on."
