"""Accounts, their people and QOS: what `sacctmgr show` prints in columns, as values (sacctmgr(1); 22.05 to 26.05).

Columns of fixed width rather than JSON, which 22.05 has not and which takes seconds for some thousand users, and rather
than `-P`, whose separator is fixed: account names and descriptions may hold any byte, and whoever coordinates an
account may add others below it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from slurm.accounts.limits import ASSOCIATION_LIMITS, QOS_LIMITS, Kind, Limit, tres_text
from slurm.outputs.columns import Column, Columns, rows
from slurm.outputs.text import Unreadable
from slurm.outputs.values import parse_duration_s

# What a dump calls "parent": the account's shares are the user's (SLURMDB_FS_USE_PARENT).
PARENT_SHARES = 2**31 - 1
# No name that the console takes is as long; a longer one is shown cut.
_NAME = 80
_NUMBER = 24
_RESOURCES = 96
_UNITS = ("", "K", "M", "G", "T", "P")
# Counted in MiB where there is no unit (slurmdb_make_tres_string_from_simple).
_MEMORY = ("mem", "vmem")


def _of_limit(limit: Limit) -> Column:
    is_resources = limit.kind in (Kind.TRES, Kind.TRES_MINUTES)
    return Column(limit.option, _RESOURCES if is_resources else _NUMBER, whole=is_resources)


ACCOUNT_COLUMNS: Columns = (
    Column("Account", _NAME),
    Column("Descr", 256),
    Column("Org", 256),
    Column("Coordinators", 1024),
)
USER_COLUMNS: Columns = (
    Column("User", _NAME),
    Column("DefaultAccount", _NAME),
    Column("Admin", _NUMBER),
    Column("Coordinators", 256),
)
ASSOCIATION_COLUMNS: Columns = (
    Column("Account", _NAME),
    Column("User", _NAME),
    Column("Partition", _NAME),
    Column("ParentName", _NAME),
    Column("Share", _NUMBER),
    Column("QOS", 128, whole=True),
    Column("DefaultQOS", _NAME),
    *(_of_limit(limit) for limit in ASSOCIATION_LIMITS),
)
QOS_COLUMNS: Columns = (
    Column("Name", _NAME),
    Column("Descr", 256),
    Column("Priority", _NUMBER),
    Column("GraceTime", _NUMBER),
    Column("Preempt", 128, whole=True),
    Column("PreemptMode", _NUMBER),
    Column("Flags", 256, whole=True),
    Column("UsageThreshold", _NUMBER),
    Column("UsageFactor", _NUMBER),
    *(_of_limit(limit) for limit in QOS_LIMITS),
)


@dataclass(frozen=True)
class Association:
    """Where jobs are counted: an account (`user` empty), or a user in an account, maybe in one partition only.

    `shares` is None where the account's count (`fairshare=parent`). `limits` are the ones in force by option of
    sacctmgr, those of the parents included where the option is inherited (Max...).
    """

    account: str
    user: str = ""
    partition: str = ""
    parent: str = ""
    is_default: bool = False
    shares: int | None = 1
    qos: tuple[str, ...] = ()
    default_qos: str = ""
    limits: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Account:
    """`coordinators` are those of the accounts above, too."""

    name: str
    description: str = ""
    organization: str = ""
    coordinators: tuple[str, ...] = ()


@dataclass(frozen=True)
class AccountUser:
    """A user in the accounting database. `level` is None, Operator or Administrator."""

    name: str
    default_account: str = ""
    level: str = "None"
    coordinates: tuple[str, ...] = ()


@dataclass(frozen=True)
class Qos:
    """`preempt_mode` is empty where the cluster's holds; times in seconds."""

    name: str
    description: str = ""
    priority: int = 0
    grace_s: int = 0
    preempt: tuple[str, ...] = ()
    preempt_mode: str = ""
    flags: tuple[str, ...] = ()
    usage_factor: float = 1.0
    usage_threshold: float | None = None
    limits: Mapping[str, str] = field(default_factory=dict)


def decode_accounts(raw: bytes, columns: Columns = ACCOUNT_COLUMNS) -> tuple[Account, ...]:
    """Raises Unreadable."""
    return tuple(
        Account(name, description, organization, _names(coordinators))
        for name, description, organization, coordinators in rows(raw, columns)
    )


def decode_users(raw: bytes, columns: Columns = USER_COLUMNS) -> tuple[AccountUser, ...]:
    """Raises Unreadable."""
    return tuple(
        AccountUser(name, default, level or "None", _names(coordinates))
        for name, default, level, coordinates in rows(raw, columns)
    )


def decode_associations(
    raw: bytes, users: Mapping[str, AccountUser], columns: Columns = ASSOCIATION_COLUMNS
) -> tuple[Association, ...]:
    """In sacctmgr's order; `users` by name tell which is one's default. Raises Unreadable, CutOff."""
    return tuple(_associations(raw, users, columns))


def decode_qos(raw: bytes, columns: Columns = QOS_COLUMNS) -> tuple[Qos, ...]:
    """Raises Unreadable, CutOff."""
    return tuple(_qos(row) for row in rows(raw, columns))


def _associations(raw: bytes, users: Mapping[str, AccountUser], columns: Columns) -> Iterator[Association]:
    for account, user, partition, parent, shares, qos, default_qos, *limits in rows(raw, columns):
        known = users.get(user)
        yield Association(
            account=account,
            user=user,
            partition=partition,
            parent=parent,
            is_default=known is not None and known.default_account == account,
            shares=None if shares == "parent" else _whole(shares or "0"),
            qos=_names(qos),
            default_qos=default_qos,
            limits=_limits(ASSOCIATION_LIMITS, limits),
        )


def _qos(row: list[str]) -> Qos:
    name, description, priority, grace, preempt, mode, flags, threshold, factor, *limits = row
    return Qos(
        name=name,
        description=description,
        priority=_whole(priority or "0"),
        grace_s=parse_duration_s(grace) or 0,
        preempt=_names(preempt),
        preempt_mode="" if mode == "cluster" else mode,
        flags=tuple(sorted(_names(flags))),
        usage_factor=_fraction(factor or "1"),
        usage_threshold=_fraction(threshold) if threshold else None,
        limits=_limits(QOS_LIMITS, limits),
    )


def _limits(known: tuple[Limit, ...], values: list[str]) -> Mapping[str, str]:
    found = zip(known, values, strict=True)
    return {limit.option: _value(limit, value) for limit, value in found if value}


def _value(limit: Limit, text: str) -> str:
    if limit.kind is Kind.COUNT:
        return str(_whole(text))
    if limit.kind is Kind.DURATION:
        return str((parse_duration_s(text) or 0) // 60)
    return _resources(text)


@lru_cache(maxsize=4096)
def _resources(text: str) -> str:
    pairs = (part.partition("=") for part in text.split(","))
    return tres_text({name: _amount(name, count) for name, _, count in pairs})


def _amount(name: str, text: str) -> int:
    """`3100M` of memory as MiB; sacctmgr writes a unit only where nothing is lost by it."""
    number, unit = (text[:-1], text[-1:]) if text[-1:].isalpha() else (text, "")
    if unit not in _UNITS:
        raise Unreadable(f"{text[:40]!r} stands where an amount of {name[:40]} is expected")
    power = _UNITS.index(unit) if unit else 0
    return _whole(number) << 10 * power >> (20 if unit and name in _MEMORY else 0)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split(",") if name)


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise Unreadable(f"{text[:40]!r} stands where a number is expected") from error


def _fraction(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise Unreadable(f"{text[:40]!r} stands where a number is expected") from error
