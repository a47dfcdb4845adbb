"""What a job's row and page say in words: durations as Slurm writes them, hostile names made visible, where or why.

Pure. Names, comments and reasons may hold any character: control and direction characters become visible marks here,
escaping is the template's.
"""

from datetime import datetime

UNLIMITED = "unlimited"
GONE = "\ufffd"
SEEN = {"\n": "\u21b5", "\t": "\u21e5"}


def clock(seconds: float | None) -> str:
    """`00:41:09`, `1-06:12:40`: [days-]hours:minutes:seconds, empty for None."""
    if seconds is None:
        return ""
    days, left = divmod(max(0, int(seconds)), 86_400)
    hours, left = divmod(left, 3600)
    return f"{f'{days}-' if days else ''}{hours:02}:{left // 60:02}:{left % 60:02}"


def limit(seconds: int | None) -> str:
    """A time limit; None is without limit."""
    return UNLIMITED if seconds is None else clock(seconds)


def ran_s(start: datetime | None, end: datetime | None, now: datetime, *, ended: bool) -> float | None:
    """Seconds on nodes: up to now while it runs, whole once it has ended, None before it starts."""
    last = end if ended else now
    return (last - start).total_seconds() if start and last and last >= start else None


def visible(text: str) -> str:
    """`text` with nothing in it that cannot be seen: line ends and tabs as arrows, the rest as a replacement mark."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else SEEN.get(c, GONE) for c in text)


def cut(text: str, most: int) -> str:
    """At most `most` characters of what can be seen of `text`, the last one an ellipsis where more was there."""
    return visible(text if len(text) <= most else text[: most - 1] + "\u2026")
