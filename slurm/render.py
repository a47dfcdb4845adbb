"""slurm.conf from a spec: the platform's head, the user's own block between two fixed lines, the partitions.

Pure. The head (daemons, ports, plugins, NodeName lines) is the adapter's. What the user wrote is taken as it
is, but it can not reach beyond its block: control characters, the marker lines and a continuation at its end
are refused here as a second lock, after `slurm.checks.conf` and the forms. `user_part` is the reverse, for an
editor that shows the whole file with the other lines locked.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from clusters.spec import ClusterSpec, PartitionSpec
from console.errors import Problem

BEGIN = "# >>> Your settings begin here. The lines above belong to the platform. >>>"
END = "# <<< Your settings end here. The lines below are made from the cluster's partitions. <<<"

DEFAULT_USER_CONF = """\
# A node that registers with a correct configuration returns to service by itself.
ReturnToService=2
# Seconds without a word from a node before it is DOWN, and between SIGTERM and SIGKILL for a job at its
# limit.
SlurmdTimeout=60
KillWait=30
# How long an ended job stays in the queue's memory, in seconds.
MinJobAge=300
# How often the scheduler looks at the queue: seconds between backfill runs and between full runs.
SchedulerParameters=bf_interval=5,sched_interval=5
# MiB of memory for each CPU of a job that asks for none. Without it such a job takes the whole node's memory.
DefMemPerCPU=1000
MaxArraySize=100001
MaxJobCount=200000
"""

_FIELD = re.compile(r"[A-Za-z0-9_.,:@/+%\[\]-]+")
_LINE_ENDS = frozenset("\u2028\u2029")


@dataclass(frozen=True)
class RenderedConf:
    """The file, and which of its lines (1-based, inclusive) are the user's; last < first when there are
    none."""

    text: str
    user_first_line: int
    user_last_line: int


@dataclass(frozen=True)
class UserPart:
    """What a person made of the block between the markers, and where they touched anything else."""

    text: str
    problems: tuple[Problem, ...] = ()


def render_conf(
    spec: ClusterSpec, platform_head: str = "", partitions: Iterable[PartitionSpec] | None = None
) -> RenderedConf:
    """The whole file. Same arguments, same text. `partitions` stand in for the spec's where a platform writes them
    another way. Raises ValueError for a value that could break out."""
    head = _lines(platform_head)
    mine = user_lines(spec.slurm_conf)
    above = [*head, BEGIN]
    below = partition_lines(spec) if partitions is None else [partition_line(one) for one in partitions]
    lines = [*above, *mine, END, *below]
    return RenderedConf("\n".join(lines) + "\n", len(above) + 1, len(above) + len(mine))


def rendered_in(files: Mapping[str, str], spec: ClusterSpec) -> RenderedConf:
    """slurm.conf among the files that a provisioner renders for `spec`, with the lines that are the user's.

    Where a platform writes its own head and renders no whole file, what the spec alone says stands for it.
    """
    lines = _lines(files.get("slurm.conf", ""))
    if BEGIN not in lines or END not in lines:
        return render_conf(spec)
    return RenderedConf(files["slurm.conf"], lines.index(BEGIN) + 2, lines.index(END))


def partition_lines(spec: ClusterSpec) -> list[str]:
    """One PartitionName line for each platform partition, then each of the team's own, in the spec's
    order."""
    return [partition_line(partition) for partition in (*spec.platform_partitions, *spec.partitions)]


def partition_line(partition: PartitionSpec) -> str:
    """Without its line end. Raises ValueError for a value that slurm.conf would misread."""
    fields = partition_fields(partition)
    return " ".join(f"{key}={_safe(key, value)}" for key, value in fields.items() if value)


def partition_fields(partition: PartitionSpec) -> dict[str, str]:
    """What its line holds, in order; an empty value is left out of the line."""
    minutes = partition.max_time_minutes
    return {
        "PartitionName": partition.name,
        "Nodes": partition.nodes,
        "Default": "YES" if partition.default else "",
        "MaxTime": "INFINITE" if minutes is None else str(minutes),
        "DefaultTime": "" if partition.default_time_minutes is None else str(partition.default_time_minutes),
        "State": partition.state,
        "PriorityTier": "" if partition.priority_tier == 1 else str(partition.priority_tier),
        "OverSubscribe": "" if partition.oversubscribe == "NO" else partition.oversubscribe,
        "QOS": partition.qos,
        "AllowGroups": ",".join(partition.allow_groups),
        "AllowAccounts": ",".join(partition.allow_accounts),
        "AllowQos": ",".join(partition.allow_qos),
    }


def user_lines(text: str) -> list[str]:
    """The user's block as lines. Raises ValueError for text that would not stay between the markers."""
    for number, why in outbreaks(text):
        raise ValueError(f"line {number} of the settings {why}")
    return _lines(text)


def outbreaks(text: str) -> Iterator[tuple[int, str]]:
    """Lines of the user's block (1-based) that would reach beyond it, and what each does."""
    lines = _lines(text)
    for number, line in enumerate(lines, start=1):
        if any(_is_control(c) for c in line):
            yield number, "holds a control character"
        if line.strip() in (BEGIN, END):
            yield number, "is one of the platform's marker lines"
    if lines and lines[-1].rstrip().endswith("\\"):
        yield len(lines), "ends with a backslash, which would join the next line to it"


def user_part(edited: str, rendered: RenderedConf) -> UserPart:
    """The user's block of an edited whole file. Problems name each place where a locked line is not as
    rendered.

    Line ends as browsers send them (CRLF) are taken as plain ones.
    """
    lines = _lines(edited.replace("\r\n", "\n"))
    original = _lines(rendered.text)
    head, tail = original[: rendered.user_first_line - 1], original[rendered.user_last_line :]
    if BEGIN not in lines or END not in lines or lines.index(BEGIN) > lines.index(END):
        return UserPart("", (_altered(1, "A marker line is missing."),))
    begin, end = lines.index(BEGIN), lines.index(END)
    problems = [*_differences(lines[: begin + 1], head, 1), *_differences(lines[end:], tail, end + 1)]
    return UserPart("".join(f"{line}\n" for line in lines[begin + 1 : end]), tuple(problems))


def in_user_part(problem: Problem, conf: RenderedConf) -> Problem:
    """A problem at a line of the whole file as one of the user's own part; outside of that the line is left out."""
    if problem.path != "slurm_conf" or problem.line is None:
        return problem
    inside = conf.user_first_line <= problem.line <= conf.user_last_line
    return replace(problem, line=problem.line - conf.user_first_line + 1 if inside else None)


def _differences(now: list[str], before: list[str], first_line: int) -> Iterable[Problem]:
    """The first line of this locked part that is not as it was: what follows it has only shifted."""
    for at in range(max(len(now), len(before))):
        if now[at : at + 1] != before[at : at + 1]:
            was = before[at] if at < len(before) else "(nothing)"
            yield _altered(first_line + at, f"This line belongs to the platform; it was: {was}")
            return


def _altered(line: int, message: str) -> Problem:
    return Problem(
        "slurm_conf", message, "Undo the change here; write your settings between the marker lines.", line
    )


def _safe(key: str, value: str) -> str:
    if not _FIELD.fullmatch(value):
        raise ValueError(f"{key} of a partition has a character that slurm.conf would misread: {value!r}")
    return value


def _lines(text: str) -> list[str]:
    """Split at line feeds only, as Slurm does; Python's splitlines knows more line ends than that."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _is_control(character: str) -> bool:
    return (unicodedata.category(character) == "Cc" and character != "\t") or character in _LINE_ENDS
