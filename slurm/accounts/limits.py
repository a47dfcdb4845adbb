"""The limits that an association or a QOS may set: their names in sacctmgr, their words, and their values.

Pure. A value is kept as sacctmgr takes it: a number of jobs (`10`), minutes (`240`), or resources (`gres/gpu=8,cpu=64`,
memory in MiB); a limit that is not set is not in the mapping. Sources: sacctmgr(1), "SPECIFICATIONS FOR QOS" and "FOR
ASSOCIATIONS"; resource_limits.html of Slurm's documentation, for what each counts.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from slurm.times import DurationError, parse_time

GPU = "gres/gpu"
MOST = 2**32 - 3
_TRES = re.compile(
    r"(?:cpu|mem|node|billing|energy|vmem|pages|fs/disk|(?:gres|license|bb|ic)/[A-Za-z0-9_.:-]{1,64})"
)
_MIB = {"": 1, "M": 1, "G": 1024, "T": 1024**2, "P": 1024**3}


class Kind(StrEnum):
    """How a value is written: a number, a duration, resources, or resources times minutes."""

    COUNT = "count"
    DURATION = "duration"
    TRES = "resources"
    TRES_MINUTES = "resource minutes"


@dataclass(frozen=True)
class Limit:
    """`option` is sacctmgr's; `label` and `help` are what a form shows; `usual` ones stand in it at first sight."""

    option: str
    kind: Kind
    label: str
    help: str = ""
    usual: bool = False

    @property
    def word(self) -> str:
        """As sacctmgr is told to set it: 22.05 takes these two by their short names alone."""
        return _SHORT.get(self.option, self.option)

    @property
    def field(self) -> str:
        """The name of its field in forms and in the API: `max_tres_per_user`."""
        return _FIELD.sub("_", self.option).lower()


_SHORT = {"MaxTRESRunMinsPerAccount": "MaxTRESRunMinsPA", "MaxTRESRunMinsPerUser": "MaxTRESRunMinsPU"}
_FIELD = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=TRES)(?=[A-Z])")

_GPUS_HELP = "A number is GPUs; or gres/gpu=8,cpu=64,mem=1T"
_MINUTES = "A number is GPU-minutes"
_FADING = "A number is GPU-minutes, which fade as fair-share usage does"

ASSOCIATION_LIMITS = (
    Limit("GrpTRES", Kind.TRES, "GPUs at once, all jobs together", _GPUS_HELP, usual=True),
    Limit("GrpTRESMins", Kind.TRES_MINUTES, "GPU-minutes, all jobs together", _FADING, usual=True),
    Limit("MaxJobs", Kind.COUNT, "Running jobs of each user", usual=True),
    Limit("MaxSubmitJobs", Kind.COUNT, "Jobs of each user, waiting ones too", usual=True),
    Limit("MaxTRESPerJob", Kind.TRES, "GPUs of one job", _GPUS_HELP, usual=True),
    Limit("MaxWall", Kind.DURATION, "Longest job", "1-00:00:00, 12:00:00, 2h", usual=True),
    Limit("GrpJobs", Kind.COUNT, "Running jobs, all together"),
    Limit("GrpSubmitJobs", Kind.COUNT, "Jobs, waiting ones too, all together"),
    Limit("GrpWall", Kind.DURATION, "Time of all jobs together"),
    Limit("GrpTRESRunMins", Kind.TRES_MINUTES, "GPU-minutes that running jobs may still take", _MINUTES),
    Limit("MaxTRESPerNode", Kind.TRES, "GPUs of one job on each node", _GPUS_HELP),
    Limit("MaxTRESMinsPerJob", Kind.TRES_MINUTES, "GPU-minutes of one job", _MINUTES),
)  # fmt: skip
QOS_LIMITS = (
    Limit("MaxTRESPerUser", Kind.TRES, "GPUs of each user at once", _GPUS_HELP, usual=True),
    Limit("GrpTRES", Kind.TRES, "GPUs at once, all jobs together", _GPUS_HELP, usual=True),
    Limit("GrpTRESMins", Kind.TRES_MINUTES, "GPU-minutes, all jobs together", _FADING, usual=True),
    Limit("MaxJobsPerUser", Kind.COUNT, "Running jobs of each user", usual=True),
    Limit("MaxSubmitJobsPerUser", Kind.COUNT, "Jobs of each user, waiting ones too", usual=True),
    Limit("MaxWall", Kind.DURATION, "Longest job", "1-00:00:00, 12:00:00, 2h", usual=True),
    Limit("MaxTRESPerJob", Kind.TRES, "GPUs of one job", _GPUS_HELP),
    Limit("MaxTRESPerAccount", Kind.TRES, "GPUs of each account at once", _GPUS_HELP),
    Limit("MaxJobsPerAccount", Kind.COUNT, "Running jobs of each account"),
    Limit("MaxSubmitJobsPerAccount", Kind.COUNT, "Jobs of each account, waiting ones too"),
    Limit("GrpJobs", Kind.COUNT, "Running jobs, all together"),
    Limit("GrpSubmitJobs", Kind.COUNT, "Jobs, waiting ones too, all together"),
    Limit("GrpWall", Kind.DURATION, "Time of all jobs together"),
    Limit("GrpTRESRunMins", Kind.TRES_MINUTES, "GPU-minutes that running jobs may still take", _MINUTES),
    Limit("MaxTRESPerNode", Kind.TRES, "GPUs of one job on each node", _GPUS_HELP),
    Limit("MaxTRESMinsPerJob", Kind.TRES_MINUTES, "GPU-minutes of one job", _MINUTES),
    Limit("MaxTRESRunMinsPerUser", Kind.TRES_MINUTES, "GPU-minutes each user's jobs may still take", _MINUTES),
    Limit("MaxTRESRunMinsPerAccount", Kind.TRES_MINUTES, "GPU-minutes each account's jobs may still take", _MINUTES),
    Limit("MinTRESPerJob", Kind.TRES, "At least so many GPUs a job", _GPUS_HELP),
)  # fmt: skip


class LimitError(ValueError):
    """What was typed is no such value; the message is a sentence for the field."""


def typed_value(limit: Limit, text: str) -> str:
    """What a person typed, as it is kept; empty for no limit. Raises LimitError."""
    plain = "".join(text.split()) if limit.kind is not Kind.DURATION else text.strip()
    if not plain:
        return ""
    if limit.kind is Kind.COUNT:
        return str(_number(plain))
    if limit.kind is Kind.DURATION:
        return _minutes(plain)
    return tres_text(_typed_tres(plain))


def tres_of(value: str) -> Mapping[str, int]:
    """`gres/gpu=8,cpu=64` as a mapping; empty for an empty value."""
    return {name: int(count) for name, _, count in (part.partition("=") for part in value.split(",")) if name}


def tres_text(tres: Mapping[str, int]) -> str:
    """The reverse, GPUs first."""
    order = sorted(tres, key=lambda name: (not name.startswith(GPU), name))
    return ",".join(f"{name}={tres[name]}" for name in order)


def setting(limit: Limit, before: str, after: str) -> str:
    """The word that makes sacctmgr change the limit; empty when nothing changes. -1 takes a limit away, of resources
    each by its name (sacctmgr(1))."""
    if before == after:
        return ""
    if limit.kind in (Kind.COUNT, Kind.DURATION):
        return f"{limit.word}={after or -1}"
    old, new = tres_of(before), tres_of(after)
    changed = {name: count for name, count in new.items() if old.get(name) != count}
    return f"{limit.word}={tres_text({**changed, **{name: -1 for name in old if name not in new}})}"


def _number(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,10}", text) or int(text) > MOST:
        raise LimitError(f"“{text[:40]}” is not a whole number up to {MOST}. Leave it empty for no limit.")
    return int(text)


def _minutes(text: str) -> str:
    try:
        minutes = parse_time(text)
    except DurationError as error:
        raise LimitError(f"{error}.") from error
    return "" if minutes is None else str(minutes)


def _typed_tres(text: str) -> Mapping[str, int]:
    if re.fullmatch(r"[0-9]+", text):
        return {GPU: _number(text)}
    found: dict[str, int] = {}
    for part in text.split(","):
        name, equals, count = part.partition("=")
        name = name.lower()
        if not equals or not _TRES.fullmatch(name):
            raise LimitError(f"“{part[:60]}” is not a resource: write gres/gpu=8,cpu=64,mem=1T.")
        if name in found:
            raise LimitError(f"{name} is there twice.")
        found[name] = _memory(count) if name in ("mem", "vmem") else _number(count)
    return found


def _memory(text: str) -> int:
    match = re.fullmatch(r"([0-9]{1,9})([MGTP]?)", text.upper())
    if not match:
        raise LimitError(f"“{text[:40]}” is not an amount of memory: write 512G or 1T; a number is MiB.")
    return int(match[1]) * _MIB[match[2]]
