"""Answers in columns of fixed width, as sacctmgr and sshare print `Name%-20`, cut by position.

Any byte may stand in a name there, line ends and the bars of `-P` included (22.05 to 26.05 take all), but none makes
its column longer: each is filled up with blanks, or cut, to its width in bytes, and followed by one blank
(print_fields_str in Slurm's src/common/print_fields.c). So nobody can forge a field or a record.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from slurm.outputs.text import Unreadable, decoded

_CUT = "+"
_WIDER = 16


@dataclass(frozen=True)
class Column:
    """`name` is the command's own; `width` is in bytes. A value of a `whole` column must not be cut."""

    name: str
    width: int
    whole: bool = False


Columns = Sequence[Column]


class CutOff(ValueError):
    """A value was longer than its column, which must not be: ask again with `wider` ones."""


def columns_format(columns: Columns) -> str:
    """What stands behind `format=` of sacctmgr and `-o` of sshare; the answer must be without its headings (-n)."""
    return ",".join(f"{one.name}%-{one.width}" for one in columns)


def wider(columns: Columns) -> tuple[Column, ...]:
    """The same, with room for longer values in those that must not be cut."""
    return tuple(replace(one, width=one.width * _WIDER) if one.whole else one for one in columns)


def rows(raw: bytes, columns: Columns) -> Iterator[list[str]]:
    """The fields of each record, without the blanks that fill them up. Raises Unreadable, CutOff."""
    size = sum(one.width + 1 for one in columns) + 1
    if len(raw) % size:
        raise Unreadable(f"the answer's {len(raw)} bytes do not make records of {size}")
    for start in range(0, len(raw), size):
        yield _fields(raw[start : start + size], columns)


def _fields(record: bytes, columns: Columns) -> list[str]:
    found, at = [], 0
    for one in columns:
        end = at + one.width
        if record[end : end + 1] != b" ":
            raise Unreadable(f"there is no end of {one.name} where one is expected")
        if one.whole and record[end - 1 : end] == _CUT.encode():
            raise CutOff(f"the value of {one.name} is cut off")
        found.append(decoded(record[at:end].rstrip(b" ")))
        at = end + 1
    if record[at:] != b"\n":
        raise Unreadable("there is no end of a record where one is expected")
    return found
