r"""Finding a node in a folded host list by one regular expression, so that the database can do it.

Pure. `slinky-[0-1,5,8-10],cpu-workers-0` holds slinky-9, though the text does not: the expression spells "a
range whose start is at most 9 and whose end is at least 9" in digits. It is written in the common part of
Python's and PostgreSQL's syntax. Padding is ignored (gpu-3 finds gpu-003). Only the last number of a name may
be folded, which is how Slurm folds node names of one dimension.
"""

import re


def holds(name: str) -> str:
    """A regular expression that finds host lists with node `name` in them."""
    found = re.fullmatch(r"(.*?)([0-9]+)([^0-9]*)", name, re.ASCII)
    if found is None:
        return rf"(?:^|,){re.escape(name)}(?:,|$)"
    before, digits, after = found.groups()
    number = str(int(digits))
    item = rf"(?:0*{number}|{_at_most(number)}-{_at_least(number)})"
    folded = rf"\[(?:[0-9,-]*,)?{item}(?:,[0-9,-]*)?\]"
    return rf"(?:^|,){re.escape(before)}(?:0*{number}|{folded}){re.escape(after)}(?:,|$)"


def _at_most(number: str) -> str:
    """Digits of a number that is `number` or smaller."""
    smaller = [
        f"{number[:i]}[0-{int(digit) - 1}][0-9]{{{len(number) - i - 1}}}"
        for i, digit in enumerate(number)
        if digit != "0"
    ]
    shorter = [f"[0-9]{{1,{len(number) - 1}}}"] if len(number) > 1 else []
    return f"0*(?:{'|'.join([*shorter, *smaller, number])})"


def _at_least(number: str) -> str:
    """Digits of a number that is `number` or larger."""
    larger = [
        f"{number[:i]}[{int(digit) + 1}-9][0-9]{{{len(number) - i - 1}}}"
        for i, digit in enumerate(number)
        if digit != "9"
    ]
    return f"0*(?:[1-9][0-9]{{{len(number)},}}|{'|'.join([*larger, number])})"
