"""Slurm's short form for lists of hosts: `slinky-[0-1,5],gpu-[001-064]` to names and back.

Pure; anyone may call it. It knows the grammar of slurm.conf's host expressions (man slurm.conf, NodeName: "a numeric
range at the end of the name", with several bracket pairs allowed) and nothing of which hosts exist.

ClusterShell's NodeSet was tried and left: it reads `@all` from group files of the machine it runs on, takes `!`, `&`
and blanks as operators, and expands `a[0-99999999]` until memory is gone. Here every expansion is bounded.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import product

MAX_HOSTS = 65_536
MAX_DIGITS = 18

_ALLOWED = re.compile(r"[A-Za-z0-9._,\[\]-]*")
_PIECE = re.compile(r"\[([^\[\]]*)\]|([^\[\]]+)")
_RANGE = re.compile(r"([0-9]+)(?:-([0-9]+))?")
_NUMBERED = re.compile(r"(.*?)([0-9]+)", re.DOTALL)


class HostlistError(ValueError):
    """The text is not a host list; the message says where and why, in words fit for the person who typed it."""


class TooManyHosts(HostlistError):
    """The list is well formed and names more than `MAX_HOSTS` hosts."""


def expand(text: str) -> tuple[str, ...]:
    """Every name that `text` stands for, in order of appearance, each once. Empty text is no hosts.

    Raises HostlistError for anything that Slurm would refuse or read otherwise than written: unclosed or nested
    brackets, reversed ranges, mixed padding (`[8-011]`), empty places, characters outside names.
    """
    if not text:
        return ()
    _check_characters(text)
    names: dict[str, None] = {}
    for part in _split(text):
        for name in _expand_one(part):
            names[name] = None
            if len(names) > MAX_HOSTS:
                raise TooManyHosts(f"More than {MAX_HOSTS} hosts in one list")
    return tuple(names)


def fold(names: Iterable[str]) -> str:
    """The shortest usual form: `fold(["a-1", "a-0", "b"]) == "a-[0-1],b"`.

    Prefixes keep the order in which they first appear; numbers within one prefix are sorted and duplicates dropped.
    Padding is kept, so `n1` and `n01` stay two hosts. Names without trailing digits are written as they are.
    """
    groups: dict[str, set[str]] = {}
    for name in names:
        prefix, digits = _split_number(name)
        groups.setdefault(prefix, set()).add(digits)
    return ",".join(_fold_group(prefix, digits) for prefix, digits in groups.items())


def parse_ordinals(text: str) -> tuple[int, ...]:
    """`"0-3,5"` to `(0, 1, 2, 3, 5)`, in order of appearance, each once. Raises HostlistError."""
    if not text.strip():
        return ()
    found: dict[int, None] = {}
    for digits in _expand_ranges(",".join(item.strip() for item in text.split(",")), text):
        found[int(digits)] = None
    return tuple(found)


def fold_ordinals(numbers: Iterable[int]) -> str:
    """The inverse: `fold_ordinals([5, 0, 1]) == "0-1,5"`. Negative numbers are a programming error (ValueError)."""
    ordered = sorted(set(numbers))
    if ordered and ordered[0] < 0:
        raise ValueError("ordinals are not negative")
    return ",".join(_write_runs(ordered, width=0))


def _check_characters(text: str) -> None:
    good = _ALLOWED.match(text)
    end = good.end() if good else 0
    if end < len(text):
        raise HostlistError(f"{text[end]!r} at character {end + 1} cannot be part of a host list")


def _split(text: str) -> Iterator[str]:
    """The comma-separated parts, commas within brackets left alone; raises on brackets that do not pair."""
    depth = start = 0
    for at, char in enumerate(text):
        if char == "[":
            depth += 1
        elif char == "]":
            depth -= 1
        elif char == "," and depth == 0:
            yield text[start:at]
            start = at + 1
        if depth not in (0, 1):
            what = "Nested" if depth > 1 else "Unopened"
            raise HostlistError(f"{what} bracket at character {at + 1} of {_quote(text)}")
    if depth:
        raise HostlistError(f"Bracket opened and not closed in {_quote(text)}")
    yield text[start:]


def _expand_one(part: str) -> Iterator[str]:
    if not part:
        raise HostlistError("Empty place in the list: two commas in a row, or one at an end")
    if part.startswith("-"):
        raise HostlistError(f"{_quote(part)}: a host name cannot begin with '-'")
    choices: list[tuple[str, ...]] = []
    total = 1
    for inner, plain in _PIECE.findall(part):
        choices.append((plain,) if plain else tuple(_expand_ranges(inner, part)))
        total *= len(choices[-1])
        if total > MAX_HOSTS:
            raise TooManyHosts(f"{_quote(part)} names more than {MAX_HOSTS} hosts")
    return ("".join(pieces) for pieces in product(*choices))


def _expand_ranges(inner: str, whole: str) -> Iterator[str]:
    """The digit strings of `0-1,5`; `whole` is what the person wrote, for the message."""
    count = 0
    for item in inner.split(","):
        low, high = _range_ends(item, whole)
        count += int(high) - int(low) + 1
        if count > MAX_HOSTS:
            raise TooManyHosts(f"{_quote(whole)} names more than {MAX_HOSTS} hosts")
        width = len(low)
        for number in range(int(low), int(high) + 1):
            yield str(number).zfill(width)


def _range_ends(item: str, whole: str) -> tuple[str, str]:
    match = _RANGE.fullmatch(item)
    if match is None:
        raise HostlistError(f"{_quote(item)} in {_quote(whole)} is not a number or a range such as 0-3")
    low, high = match[1], match[2] or match[1]
    if max(len(low), len(high)) > MAX_DIGITS:
        raise HostlistError(f"A number in {_quote(whole)} has more than {MAX_DIGITS} digits")
    if int(high) < int(low):
        raise HostlistError(f"Range {item} in {_quote(whole)} runs backwards")
    if len(low) != len(high) and (_is_padded(low) or _is_padded(high)):
        raise HostlistError(f"Range {item} in {_quote(whole)} has ends padded to different widths")
    return low, high


def _is_padded(digits: str) -> bool:
    return len(digits) > 1 and digits[0] == "0"


def _split_number(name: str) -> tuple[str, str]:
    """`("gpu-", "003")`; digits are empty where there are none at the end or too many to count with."""
    match = _NUMBERED.fullmatch(name)
    if match is None or len(match[2]) > MAX_DIGITS:
        return name, ""
    return match[1], match[2]


def _fold_group(prefix: str, digits: set[str]) -> str:
    """One prefix with all its numbers. A prefix that is also a bare name is written first, by itself."""
    bare = [prefix] if "" in digits else []
    numbers = digits - {""}
    if len(numbers) == 1:
        return ",".join([*bare, prefix + numbers.pop()])
    runs = _padded_runs(numbers)
    return ",".join([*bare, f"{prefix}[{','.join(runs)}]"] if runs else bare)


def _padded_runs(numbers: set[str]) -> list[str]:
    """Runs over digit strings: a width in which any number is padded is a counting of its own (`[8-9,08-10]`)."""
    padded = {len(digits) for digits in numbers if _is_padded(digits)}
    by_width: dict[int, list[int]] = {}
    for digits in numbers:
        by_width.setdefault(len(digits) if len(digits) in padded else 0, []).append(int(digits))
    return [run for width in sorted(by_width) for run in _write_runs(sorted(by_width[width]), width)]


def _write_runs(ordered: list[int], width: int) -> Iterator[str]:
    start = previous = None
    for number in [*ordered, None]:
        if start is not None and previous is not None and number != previous + 1:
            low, high = str(start).zfill(width), str(previous).zfill(width)
            yield low if start == previous else f"{low}-{high}"
            start = None
        if start is None:
            start = number
        previous = number


def _quote(text: str) -> str:
    return f"“{text if len(text) <= 60 else text[:57] + '...'}”"
