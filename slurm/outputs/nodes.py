"""Nodes and partitions: `scontrol -o show nodes|partitions`, one record a line, as values.

The order of the keys is Slurm's (`slurm_sprint_node_table`, 22.05 to 26.05): everything a user can not choose
comes first and ends with the TRES and power keys; `Reason`, `Comment` and `Extra` follow and are free text.
So a record is cut before the first of those, and what stands after is never read for facts. Slurm folds line
ends of a reason into blanks, but prints those of a comment: `has_free_lines` tells when lines can not be
trusted, and `without_texts` takes the exact texts (asked for separately, with marks) out.
"""

import re
from collections.abc import Callable, Mapping

from clusters.nodes import parse_state
from clusters.observation import NodeSeen, PartitionSeen
from slurm.outputs.text import Marks, Unreadable, decoded, fields, long_format, records
from slurm.outputs.values import (
    gpus_in,
    gpus_in_gres,
    parse_count,
    parse_minutes,
    parse_time,
    parse_tres,
    text_or_empty,
)

# The kernel's own words; RealMemory always follows.
_OS = re.compile(r" OS=.* (?=RealMemory=)", re.DOTALL)
_TAIL = re.compile(rb" (?:Reason|Comment|Extra)=")
_REASON = re.compile(
    r" Reason=(?P<text>.*?) \[(?P<who>[^\[\]@\s]+)@(?P<at>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\]"
    r"(?P<more> {8}.*?)?(?= Comment=| Extra=| InstanceId=| ReservationName=|$)",
    re.DOTALL,
)
_PLAIN_REASON = re.compile(r" Reason=(.*)", re.DOTALL)
TEXT_FIELDS = ("Comment", "Extra", "NodeList")


def decode_nodes(
    raw: bytes, machine_of: Mapping[str, str], machine_state_of: Callable[[str], str]
) -> tuple[NodeSeen, ...]:
    """Every node, in Slurm's order. Raises Unreadable."""
    found = node_lines(raw)
    return tuple(decode_node(line, machine_of.get(n, ""), machine_state_of(n)) for n, line in found.items())


def node_lines(raw: bytes) -> dict[str, bytes]:
    """The records by name, one a line. Raises Unreadable for a line that begins none, or a node that comes
    twice."""
    found: dict[str, bytes] = {}
    for line in raw.split(b"\n"):
        if not line.strip() or line == b"No nodes in the system":
            continue
        name = decoded(line.split(b" ", 1)[0].removeprefix(b"NodeName="))
        if not line.startswith(b"NodeName=") or name in found:
            raise Unreadable(f"a line that is no node of its own: {decoded(line[:40])!r}")
        found[name] = line
    return found


def decode_node(line: bytes, machine: str, machine_state: str) -> NodeSeen:
    """One record; the machine is what only the platform knows."""
    cut = _TAIL.search(line)
    head = keyed(decoded(line[: cut.start()] if cut else line))
    tail = decoded(line[cut.start() :]) if cut else ""
    configured, allocated = parse_tres(head.get("CfgTRES", "")), parse_tres(head.get("AllocTRES", ""))
    reason, who, when = _reason(tail)
    try:
        name, total = head["NodeName"], parse_count(head["CPUTot"])
        state, memory = parse_state(head["State"]), parse_count(head["RealMemory"])
    except KeyError as missing:
        raise Unreadable(f"a node's record has no {missing}") from missing
    return NodeSeen(
        name=name,
        machine=machine,
        state=state,
        machine_state=machine_state,
        cpus=total,
        cpus_allocated=parse_count(head.get("CPUAlloc", "")),
        memory_mib=memory,
        memory_allocated_mib=parse_count(head.get("AllocMem", "")),
        gpus=gpus_in(configured) or gpus_in_gres(head.get("Gres", "")),
        gpus_allocated=gpus_in(allocated),
        partitions=_names(head.get("Partitions", "")),
        features=_names(head.get("ActiveFeatures", "")),
        cpu_load=_number(head.get("CPULoad", "")),
        reason=reason,
        reason_by=who,
        reason_at=parse_time(when),
        boot_at=parse_time(head.get("BootTime", "")),
        version=head.get("Version", ""),
    )


def keyed(head: str) -> dict[str, str]:
    """`Key=value Key=value`: the first of each key wins. `OS`, the only value with blanks, is left out."""
    found: dict[str, str] = {}
    for word in _OS.sub(" ", head).split(" "):
        key, equals, value = word.partition("=")
        if equals and key:
            found.setdefault(key, value)
    return found


def _reason(tail: str) -> tuple[str, str, str]:
    """Text, who and when. A reason of several lines is printed with the first line's `[who@when]` in the
    middle."""
    match = _REASON.match(tail)
    if match:
        more = re.sub(r"\s{8}", "\n", match["more"] or "")
        return match["text"] + more, match["who"], match["at"]
    plain = _PLAIN_REASON.match(tail)
    return (text_or_empty(plain[1].strip()), "", "") if plain else ("", "", "")


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in text_or_empty(text).split(",") if name)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def has_free_lines(raw: bytes) -> bool:
    """Whether a node carries text that Slurm prints with its line ends, so that a line may be forged."""
    return b" Comment=" in raw or b" Extra=" in raw


def texts_format(marks: Marks) -> str:
    """For `sinfo -O`: the free texts of all nodes, between marks that nobody could foresee."""
    return long_format(TEXT_FIELDS, marks)


def decode_texts(raw: bytes, marks: Marks) -> tuple[bytes, ...]:
    """The exact texts, longest first, so that one that holds another is taken out whole."""
    mark = marks.field.encode()
    texts: set[bytes] = set()
    for record in records(raw, marks):
        fields(record, mark, len(TEXT_FIELDS))
        comment, extra, _ = record.split(mark)
        texts |= {text for text in (comment, extra) if text and text != b"(null)"}
    return tuple(sorted(texts, key=len, reverse=True))


def without_texts(raw: bytes, texts: tuple[bytes, ...]) -> bytes:
    """The answer with every `Comment=` and `Extra=` of these texts emptied."""
    for text in texts:
        raw = raw.replace(b" Comment=" + text, b" Comment=").replace(b" Extra=" + text, b" Extra=")
    return raw


def decode_partitions(raw: bytes) -> tuple[PartitionSeen, ...]:
    """Every partition, in Slurm's order. Their fields come from slurm.conf and scontrol, never from a
    user."""
    lines = [line for line in decoded(raw).split("\n") if line.strip()]
    if lines == ["No partitions in the system"]:
        return ()
    return tuple(_partition(line) for line in lines)


def _partition(line: str) -> PartitionSeen:
    found = keyed(line)
    if not line.startswith("PartitionName=") or "State" not in found:
        raise Unreadable(f"a line that is no partition: {line[:40]!r}")
    return PartitionSeen(
        name=found["PartitionName"],
        state=found["State"],
        nodes=text_or_empty(found.get("Nodes", "")),
        is_default=found.get("Default") == "YES",
        total_nodes=parse_count(found.get("TotalNodes", "")),
        total_cpus=parse_count(found.get("TotalCPUs", "")),
        max_time_minutes=parse_minutes(found.get("MaxTime", "")),
        default_time_minutes=parse_minutes(found.get("DefaultTime", "")),
        priority_tier=parse_count(found.get("PriorityTier", "1")),
        fields=found,
    )
