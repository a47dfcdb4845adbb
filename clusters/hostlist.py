"""Slurm host lists: `slinky-[0-1,5,8-10],cpu-workers-0` to node names.

Pure. Enough of the grammar of slurm.conf(5) NodeName for what a person writes in a partition:
comma-separated names, each with any number of bracket ranges, zero padding kept.
"""

import re
from collections.abc import Iterator
from itertools import product

MOST = 65_536
ITEM = re.compile(r"[A-Za-z0-9._\-]*(?:\[[0-9,\-]+\][A-Za-z0-9._\-]*)*")
BRACKET = re.compile(r"\[([0-9,\-]+)\]")
RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


class HostlistError(ValueError):
    """Its text is a sentence for the person who wrote the list."""


def expand(text: str) -> tuple[str, ...]:
    """Every name, in order, each once. Raises HostlistError; at most 65,536 names."""
    names: dict[str, None] = {}
    for item in _items(text):
        for name in _names(item):
            names[name] = None
            if len(names) > MOST:
                raise HostlistError(f"This names more than {MOST} nodes.")
    return tuple(names)


def _items(text: str) -> Iterator[str]:
    """Split at the commas that are not inside brackets."""
    for item in re.split(r",(?![^\[\]]*\])", text.strip(" ")):
        if not item or not ITEM.fullmatch(item):
            raise HostlistError(f"“{item or text}” is not a host list such as slinky-[0-1,5].")
        yield item


def _names(item: str) -> Iterator[str]:
    parts = BRACKET.split(item)
    choices = [[part] if n % 2 == 0 else _numbers(part) for n, part in enumerate(parts)]
    return ("".join(choice) for choice in product(*choices))


def _numbers(inside: str) -> list[str]:
    numbers: list[str] = []
    for part in inside.split(","):
        found = RANGE.fullmatch(part)
        if found is None:
            raise HostlistError(f"“{part}” in [{inside}] is not a number or a range such as 0-3.")
        first, last = found[1], found[2] or found[1]
        if int(last) < int(first):
            raise HostlistError(f"The range {part} runs backwards.")
        if int(last) - int(first) >= MOST:
            raise HostlistError(f"The range {part} is larger than {MOST} nodes.")
        numbers += [str(n).zfill(len(first)) for n in range(int(first), int(last) + 1)]
    return numbers
