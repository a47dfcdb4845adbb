"""Cutting an answer into records where its fields may hold any byte, line ends and tabs included.

Separators are made anew for each call and handed to Slurm inside its format option, so nobody can have
written them into a job's name beforehand. A mark starts and ends with different characters, so it can not
overlap with itself at the edge of a field.
"""

import secrets
import string
from collections.abc import Iterator
from dataclasses import dataclass

_LETTERS = string.ascii_letters + string.digits
_MARK_LENGTH = 8


class Unreadable(ValueError):
    """The answer is cut off or of an unknown shape. The text says what was found."""


@dataclass(frozen=True)
class Marks:
    """What separates fields and ends records in one call."""

    field: str
    record: str


def fresh_marks() -> Marks:
    """Marks for one call. They do not start with a digit, which squeue would read as a field's width."""
    return Marks(_mark(), _mark())


def _mark() -> str:
    return "<" + "".join(secrets.choice(_LETTERS) for _ in range(_MARK_LENGTH)) + ">"


def decoded(raw: bytes) -> str:
    """UTF-8 with a replacement mark for each byte that is not, and for NUL, which no database text may
    hold."""
    return raw.decode("utf-8", "replace").replace("\0", "\ufffd")


def long_format(names: tuple[str, ...], marks: Marks) -> str:
    """A format for `squeue -O` and `sinfo -O`: no width, so nothing is cut; a mark after each field
    (squeue(1), -O)."""
    *first, last = names
    return ",".join([*(f"{name}:{marks.field}" for name in first), f"{last}:{marks.record}"])


def records(raw: bytes, marks: Marks) -> list[bytes]:
    """The raw records of an answer to a `long_format` call. squeue ends each with a line end of its own."""
    *found, rest = raw.split(marks.record.encode())
    if rest.strip():
        raise Unreadable(f"the answer is cut off after {len(found)} records")
    return [record.removeprefix(b"\n") for record in found]


def fields(record: bytes, mark: bytes, width: int) -> list[str]:
    """The `width` fields of one record."""
    found = [decoded(part) for part in record.split(mark)]
    if len(found) != width:
        raise Unreadable(f"a record has {len(found)} fields instead of {width}")
    return found


def delimited_rows(raw: bytes, mark: str, width: int) -> Iterator[list[str]]:
    """Rows of an answer whose fields are separated by `mark` and whose rows are ended by a line end only.

    The first and last field of a row must not be free text: the line end between them is then the only one
    that can follow a last field, whatever the fields between hold.
    """
    parts = [decoded(part) for part in raw.split(mark.encode())]
    if parts == [""]:
        return
    if (len(parts) - 1) % (width - 1):
        raise Unreadable(f"the answer's {len(parts)} fields do not make rows of {width}")
    first = parts[0]
    for at in range(1, len(parts), width - 1):
        *middle, seam = parts[at : at + width - 1]
        last, end, following = seam.partition("\n")
        if not end:
            raise Unreadable("the answer is cut off in its last row")
        yield [first, *middle, last]
        first = following
    if first:
        raise Unreadable("the answer is cut off in its last row")
