"""Slurm's way of writing how long: `90` minutes, `1-00:00:00`, `INFINITE`.

Pure; anyone may call it. The forms are those of man slurm.conf (MaxTime) and man sbatch (--time): "minutes",
"minutes:seconds", "hours:minutes:seconds", "days-hours", "days-hours:minutes", "days-hours:minutes:seconds".
A limit is kept by Slurm in whole minutes, seconds rounded up (time_str2mins, 22.05 to 26.05).
"""

import re
from math import ceil

UNLIMITED_WORDS = frozenset({"infinite", "unlimited"})
MAX_MINUTES = 2**32 - 3

_DAYS = re.compile(r"([0-9]{1,9})-([0-9]{1,9})(?::([0-9]{1,9}))?(?::([0-9]{1,9}))?")
_CLOCK = re.compile(r"([0-9]{1,9})(?::([0-9]{1,9}))?(?::([0-9]{1,9}))?")


class DurationError(ValueError):
    """The text is none of Slurm's forms of a duration; the message lists them."""


def parse_time(text: str) -> int | None:
    """Minutes, seconds rounded up; None for no limit (`INFINITE`, `UNLIMITED`, `-1`). Raises DurationError."""
    seconds = parse_seconds(text)
    return None if seconds is None else ceil(seconds / 60)


def parse_seconds(text: str) -> int | None:
    """The same to the second."""
    plain = text.strip()
    if plain.lower() in UNLIMITED_WORDS or plain == "-1":
        return None
    seconds = _days_form(plain)
    if seconds is None:
        seconds = _clock_form(plain)
    if seconds is None:
        raise DurationError(
            f"“{text}” is not a time: write minutes (90), hours:minutes:seconds (1:30:00), "
            "days-hours:minutes:seconds (1-00:00:00) or INFINITE"
        )
    if seconds > MAX_MINUTES * 60:
        raise DurationError(f"“{text}” is longer than Slurm can count; write INFINITE for no limit")
    return seconds


def format_time(minutes: int | None) -> str:
    """The usual spelling: `INFINITE`, `01:30:00`, `1-00:00:00`. Negative minutes are a programming error."""
    if minutes is None:
        return "INFINITE"
    if minutes < 0:
        raise ValueError("a duration is not negative")
    days, rest = divmod(minutes, 24 * 60)
    clock = f"{rest // 60:02}:{rest % 60:02}:00"
    return f"{days}-{clock}" if days else clock


def _days_form(text: str) -> int | None:
    match = _DAYS.fullmatch(text)
    if match is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def _clock_form(text: str) -> int | None:
    match = _CLOCK.fullmatch(text)
    if match is None:
        return None
    first, second, third = match.groups()
    if third is not None:
        return (int(first) * 60 + int(second)) * 60 + int(third)
    return int(first) * 60 + int(second or 0)
