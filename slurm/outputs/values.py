"""Single values as Slurm prints them: times, durations, counts, memory, TRES, array indices.

Times are those of a command run with `TZ=UTC` and `SLURM_TIME_FORMAT=standard`. Words for "none" differ
between commands and versions (22.05 to 26.05), so anything that is not a value reads as None.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache

_NULLS = frozenset({"", "(null)", "N/A", "n/a", "None", "NONE", "none", "Unknown"})
_SCALE_MIB = {"K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3}
_SCALE = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}


def text_or_empty(text: str) -> str:
    """Free text; Slurm prints `(null)` or `N/A` where there is none."""
    return "" if text in _NULLS else text


@lru_cache(maxsize=65536)
def parse_time(text: str) -> datetime | None:
    """`2026-11-30T09:43:49` as an aware UTC datetime; None for `N/A`, `Unknown`, `NONE`."""
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError:
        return None


@lru_cache(maxsize=4096)
def parse_duration_s(text: str) -> int | None:
    """`[days-]hours:minutes:seconds`, `minutes:seconds` or `days-hours` in seconds; None for UNLIMITED and
    the like.

    The forms are those of squeue's TimeLimit and scontrol's MaxTime; a bare number is minutes (slurm.conf(5),
    MaxTime).
    """
    match = re.fullmatch(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?", text)
    if not match:
        return None
    days, *clock = match.groups()
    parts = [int(part) for part in clock if part is not None]
    if days is not None:
        hours, minutes, seconds = (*parts, 0, 0)[:3]
        return int(days) * 86400 + hours * 3600 + minutes * 60 + seconds
    if len(parts) == 1:
        return parts[0] * 60
    return parts[0] * 60 + parts[1] if len(parts) == 2 else parts[0] * 3600 + parts[1] * 60 + parts[2]


def parse_minutes(text: str) -> int | None:
    """A duration in whole minutes, as partitions are configured."""
    seconds = parse_duration_s(text)
    return None if seconds is None else seconds // 60


def parse_count(text: str) -> int:
    """A number, `4-6` (at least 4) or `16K`; 0 where there is none."""
    match = re.match(r"(\d+)(?:\.(\d+))?([KMG]?)", text)
    if not match:
        return 0
    return int(float(f"{match[1]}.{match[2] or 0}") * _SCALE[match[3]])


def parse_memory_mib(text: str) -> int | None:
    """`62.50G`, `400M`, `64000` (MiB): whole MiB, rounded down."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGTP]?)[nc]?", text)
    return int(float(match[1]) * _SCALE_MIB[match[2] or "M"]) if match else None


@lru_cache(maxsize=4096)
def parse_tres(text: str) -> Mapping[str, str]:
    """`cpu=4,mem=400M,node=1,gres/gpu=2` as a mapping. Do not change what is returned: it is shared."""
    pairs = (part.partition("=") for part in text_or_empty(text).split(","))
    return {key: value for key, found, value in pairs if found}


def gpus_in(tres: Mapping[str, str]) -> int:
    """GPUs counted by TRES: the plain `gres/gpu`, or where only typed ones are tracked their sum."""
    if "gres/gpu" in tres:
        return parse_count(tres["gres/gpu"])
    return sum(parse_count(value) for key, value in tres.items() if key.startswith("gres/gpu:"))


def gpus_in_gres(gres: str) -> int:
    """`gpu:h100:8(S:0-1),shard:4` as 8: what a node declares, for controllers that do not track gres/gpu as
    TRES."""
    found = re.findall(r"(?:^|,)gpu(?::[A-Za-z_][^:,(]*)?:(\d+)", gres)
    return sum(int(count) for count in found)


@lru_cache(maxsize=4096)
def count_tasks(indices: str) -> int:
    """How many tasks `4-9:2,12%3` stands for; 1 for a single index and for a job that is no array."""
    total = 0
    for part in indices.partition("%")[0].split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+)(?::(\d+))?)?", part)
        if match:
            first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
            total += max(0, last - first) // max(1, step) + 1
    return max(1, total)


def exit_code(text: str) -> str:
    """`3:0` (status:signal). 22.05 prints the raw wait status there (`768`)."""
    if not text.isdigit():
        return text_or_empty(text)
    status = int(text)
    return f"{status >> 8}:{status & 127}"
