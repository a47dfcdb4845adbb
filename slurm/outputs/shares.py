"""Fair share and priorities: what `sshare -o` and `sprio -o` print, as values (sshare(1), sprio(1); 22.05 to 26.05).

Usage has faded (PriorityDecayHalfLife): it is what fair share counts, not what was run. sshare pads its columns; sprio
takes any text between its fields, so that these are cut by marks made for the call.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from slurm.outputs.columns import Column, Columns, rows
from slurm.outputs.text import Marks, Unreadable, fields, records
from slurm.outputs.values import parse_tres

_NAME, _NUMBER = 80, 24
SHARE_COLUMNS: Columns = (
    Column("Account", _NAME),
    Column("User", _NAME),
    Column("Partition", _NAME),
    Column("RawShares", _NUMBER),
    Column("NormShares", _NUMBER),
    Column("RawUsage", _NUMBER),
    Column("EffectvUsage", _NUMBER),
    Column("FairShare", _NUMBER),
    Column("GrpTRESRaw", 1024),
)

# Format letter of sprio(1) and what it is; the last is no free text. 22.05 has none for the account and the QOS.
_PRIORITY_FIELDS = {
    "job": "i",
    "user": "u",
    "partition": "r",
    "site": "S",
    "age": "A",
    "association": "B",
    "fair_share": "F",
    "job_size": "J",
    "partition_factor": "P",
    "qos_factor": "Q",
    "nice": "N",
    "tres": "T",
    "total": "Y",
}


@dataclass(frozen=True)
class Share:
    """An account (`user` empty) or a user in one. `shares` is None where the account's count, and for root.

    `usage_s` is in seconds of billing units; `used_minutes` by resource; `norm_shares` is the part promised and
    `effective_usage` the part used, of the siblings'; `fair_share` is between 0 (much used) and 1, for users only.
    """

    account: str
    user: str
    partition: str
    shares: int | None
    norm_shares: float
    usage_s: int
    effective_usage: float
    fair_share: float | None
    used_minutes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Priority:
    """Why a waiting job has its priority: `total` is the sum of the parts, less `nice`.

    A job in several partitions is there once for each; the record of a waiting array is there once, by its number.
    """

    number: int
    user: str
    partition: str
    parts: Mapping[str, int]
    tres: Mapping[str, int]
    nice: int
    total: int


def decode_shares(raw: bytes) -> tuple[Share, ...]:
    """In sshare's order: parents before children. Raises Unreadable."""
    if not raw:
        raise Unreadable("there is nothing where at least root is expected")
    return tuple(_share(row) for row in rows(raw, SHARE_COLUMNS))


def priority_format(marks: Marks) -> str:
    *first, last = (f"%{letter}" for letter in _PRIORITY_FIELDS.values())
    return "".join([*(f"{code}{marks.field}" for code in first), f"{last}{marks.record}"])


def decode_priorities(raw: bytes, marks: Marks) -> tuple[Priority, ...]:
    """Waiting jobs in sprio's order. Raises Unreadable."""
    mark = marks.field.encode()
    return tuple(_priority(record, mark) for record in records(raw, marks))


def _share(row: list[str]) -> Share:
    account, user, partition, shares, norm_shares, usage, effective_usage, factor, minutes = row
    return Share(
        # Set in by a blank for each account above it.
        account=account.lstrip(" "),
        user=user,
        partition=partition,
        shares=_whole(shares) if shares.isdecimal() else None,
        norm_shares=_fraction(norm_shares),
        usage_s=_whole(usage or "0"),
        effective_usage=_fraction(effective_usage),
        fair_share=_fraction(factor) if user else None,
        used_minutes={name: _whole(used) for name, used in parse_tres(minutes).items() if used != "0"},
    )


def _priority(record: bytes, mark: bytes) -> Priority:
    found = dict(zip(_PRIORITY_FIELDS, fields(record, mark, len(_PRIORITY_FIELDS)), strict=True))
    names = ("site", "age", "association", "fair_share", "job_size", "partition_factor", "qos_factor")
    return Priority(
        number=_whole(found["job"]),
        user=found["user"],
        partition=found["partition"],
        parts={name: _whole(found[name]) for name in names},
        tres={name: _whole(count) for name, count in parse_tres(found["tres"]).items()},
        nice=_whole(found["nice"]),
        total=_whole(found["total"]),
    )


def _fraction(word: str) -> float:
    try:
        return float(word or "0")
    except ValueError as error:
        raise Unreadable(f"{word[:40]!r} stands where a fraction is expected") from error


def _whole(word: str) -> int:
    try:
        return int(word)
    except ValueError as error:
        raise Unreadable(f"{word[:40]!r} stands where a number is expected") from error
