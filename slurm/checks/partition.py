"""Checks of one partition as a person describes it, and of all own partitions together.

Pure; called by the Partitions tab and its API, and by `checks.conf` for the PartitionName lines of whole files. Which
accounts, groups and QOS exist is not known here: only their spelling is checked.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from clusters.hostlist import HostlistError, expand, fold
from console.errors import Problem
from slurm.checks.values import Complaint, complaints, near
from slurm.conf import ConfError, format_value
from slurm.parameters import Parameter, find, nearest
from slurm.times import DurationError, parse_time

RESERVED_NAMES = frozenset({"default", "all", "slinky", "cpu-workers", "llm", "asr", "vision", "tts"})
MAX_OWN_PARTITIONS = 20
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")

# Where a field of a PartitionName line is found in a ClusterSpec's partition; others by their words in lower case.
_FIELD_PATHS = {
    "partitionname": "name",
    "maxtime": "max_time_minutes",
    "defaulttime": "default_time_minutes",
    "oversubscribe": "oversubscribe",
    "qos": "qos",
}
_SHOWN = 4


@dataclass(frozen=True)
class PartitionRules:
    """What a partition is judged by. `platform` allows the reserved names and DEFAULT."""

    version: str
    node_names: tuple[str, ...]
    taken_names: tuple[str, ...] = ()
    platform: bool = False


def check_partition(
    fields: Mapping[str, str],
    *,
    version: str,
    node_names: Sequence[str],
    taken_names: Sequence[str] = (),
    path: str = "partitions[0]",
) -> tuple[Problem, ...]:
    """Everything wrong with one own partition. `fields` are those of its line, PartitionName included, in any case.

    Empty values count as not given. `taken_names` are the cluster's other partitions. A problem's path is `path` with
    the field as ClusterSpec names it (`partitions[2].nodes`, `partitions[2].max_time_minutes`).
    """
    rules = PartitionRules(version, tuple(node_names), tuple(taken_names))
    given = {key: value for key, value in fields.items() if value or key.lower() == "partitionname"}
    given.setdefault(_spelt(given, "PartitionName"), "")
    given.setdefault(_spelt(given, "Nodes"), "")
    return tuple(
        Problem(f"{path}.{field_path(key)}", f"{key} {one.text}.", one.hint, None, one.blocking)
        for key, one in partition_complaints(given, rules)
    )


def check_partitions(
    partitions: Sequence[Mapping[str, str]],
    *,
    version: str,
    node_names: Sequence[str],
    taken_names: Sequence[str] = (),
) -> tuple[Problem, ...]:
    """All own partitions, each against the others too: names, one default, not more than MAX_OWN_PARTITIONS."""
    names = [fields.get(_spelt(fields, "PartitionName"), "") for fields in partitions]
    problems: list[Problem] = []
    for at, fields in enumerate(partitions):
        others = (*taken_names, *names[:at])
        problems += check_partition(
            fields, version=version, node_names=node_names, taken_names=others, path=f"partitions[{at}]"
        )
    defaults = [
        at for at, fields in enumerate(partitions) if _is_yes(fields.get(_spelt(fields, "Default"), ""))
    ]
    for at in defaults[1:]:
        text = f"Default is YES for {names[defaults[0]]} already; Slurm would take the last."
        problems.append(Problem(f"partitions[{at}].default", text, "Let one partition be the default."))
    if len(partitions) > MAX_OWN_PARTITIONS:
        text = f"There are {len(partitions)} own partitions; a cluster can have {MAX_OWN_PARTITIONS}."
        problems.append(
            Problem("partitions", text, "Delete some, or let one partition serve several purposes.")
        )
    return tuple(problems)


def field_path(key: str) -> str:
    """`MaxTime` to `max_time_minutes`, `AllowGroups` to `allow_groups`: the field as a ClusterSpec names it."""
    return _FIELD_PATHS.get(key.lower()) or re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key).lower()


def partition_complaints(fields: Mapping[str, str], rules: PartitionRules) -> Iterator[tuple[str, Complaint]]:
    """Key as spelt in `fields` and what is wrong, one field after the other, then the fields together."""
    for key, value in fields.items():
        yield from ((key, one) for one in _field(key, value, rules))
    yield from _together(fields)


def _field(key: str, value: str, rules: PartitionRules) -> Iterator[Complaint]:
    known = find(key, "PartitionName")
    if known is None or not known.known_in(rules.version):
        yield _unknown(key, known, rules.version)
        return
    unwritable = _unwritable(value)
    if unwritable:
        yield unwritable
    elif known.name == "PartitionName":
        yield from _name(value, rules)
    elif known.name == "Nodes":
        yield from _nodes(value, rules)
    else:
        yield from complaints(known, value, rules.version)


def _unknown(key: str, known: Parameter | None, version: str) -> Complaint:
    if known:
        return Complaint(
            f"exists only from Slurm {known.since} on; this cluster runs {version}", "Take it out."
        )
    guess = nearest(key, "PartitionName", version)
    hint = f"Did you mean {guess}?" if guess else "Slurm does not start with a field that it does not know."
    return Complaint("is not a field of a partition", hint)


def _unwritable(value: str) -> Complaint | None:
    try:
        format_value(value)
    except ConfError as error:
        text = str(error)
        return Complaint(
            f"cannot be written: {text[:1].lower()}{text[1:]}", "Keep it on one line, without quotes."
        )
    return None


def _name(name: str, rules: PartitionRules) -> Iterator[Complaint]:
    if rules.platform and name.upper() == "DEFAULT":
        return
    if not NAME.fullmatch(name):
        hint = "Use letters, digits, - and _, beginning with a letter or a digit; at most 63 of them."
        yield Complaint(f"“{name[:80]}” is not a name for a partition" if name else "is missing", hint)
    elif name.lower() in RESERVED_NAMES and not rules.platform:
        why = (
            "Slurm takes it for the line of defaults."
            if name.lower() == "default"
            else "The platform has it."
        )
        yield Complaint(f"{name} is reserved", f"{why} Choose another name.")
    elif name.lower() in {taken.lower() for taken in rules.taken_names}:
        yield Complaint(f"{name} is taken by another partition", "Choose another name.")


def _nodes(text: str, rules: PartitionRules) -> Iterator[Complaint]:
    if text.upper() == "ALL" or (not text and rules.platform):
        return
    if not text:
        yield Complaint("is missing", "Name the nodes, such as slinky-[0-1,5], or write ALL.")
        return
    try:
        unknown = [name for name in expand(text) if name not in set(rules.node_names)]
    except HostlistError as error:
        yield Complaint(f"cannot be read: {error}", "Write nodes as slinky-[0-1,5,8-10], or ALL.")
        return
    if unknown:
        yield _unknown_nodes(unknown, rules.node_names)


def _unknown_nodes(unknown: list[str], node_names: tuple[str, ...]) -> Complaint:
    shown = ", ".join(unknown[:_SHOWN]) + (
        f" and {len(unknown) - _SHOWN} more" if len(unknown) > _SHOWN else ""
    )
    there = fold(node_names)
    hint = (
        f"The cluster has {there if len(there) <= 200 else there[:197] + '...'}."
        if there
        else "It has no nodes."
    )
    guess = near(unknown[0], node_names) if len(unknown) == 1 else None
    return Complaint(
        f"names {shown}, which the cluster does not have", f"Did you mean {guess}? {hint}" if guess else hint
    )


def _together(fields: Mapping[str, str]) -> Iterator[tuple[str, Complaint]]:
    yield from _longer_than_allowed(fields)
    least, most = (fields.get(_spelt(fields, key), "") for key in ("MinNodes", "MaxNodes"))
    if least.isdigit() and most.isdigit() and int(least) > int(most):
        yield _spelt(fields, "MinNodes"), Complaint(f"{least} is more than MaxNodes ({most})", "Lower it.")
    for ignored, other in (("DenyAccounts", "AllowAccounts"), ("DenyQos", "AllowQos"),
                           ("DefMemPerCPU", "DefMemPerNode"), ("MaxMemPerCPU", "MaxMemPerNode")):  # fmt: skip
        if fields.get(_spelt(fields, ignored)) and fields.get(_spelt(fields, other)):
            text = f"is ignored beside {other}"
            yield (
                _spelt(fields, ignored),
                Complaint(text, f"Keep one of {ignored} and {other}.", blocking=False),
            )


def _longer_than_allowed(fields: Mapping[str, str]) -> Iterator[tuple[str, Complaint]]:
    key = _spelt(fields, "DefaultTime")
    try:
        default, most = (
            parse_time(fields.get(_spelt(fields, one)) or "-1") for one in ("DefaultTime", "MaxTime")
        )
    except DurationError:
        return
    if most is not None and default is not None and default > most:
        yield (
            key,
            Complaint(
                f"{fields[key]} is longer than MaxTime ({fields[_spelt(fields, 'MaxTime')]})", "Lower it."
            ),
        )


def _spelt(fields: Mapping[str, str], key: str) -> str:
    """The key as `fields` spells it, or as given where it is not there."""
    if key in fields:
        return key
    return next((one for one in fields if one.lower() == key.lower()), key)


def _is_yes(value: str) -> bool:
    return value.lower() in ("yes", "true", "1", "up")
