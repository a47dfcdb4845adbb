"""Checks of slurm.conf before anything is touched: what Slurm would refuse, ignore in silence, or die of.

Pure; called by the conf dialog as one types, by the API, and again before a change is applied. It sees the text alone.
What only a daemon can see (files that must exist, users, groups, accounts, QOS names) is left to the shadow
controller, which reads the same text afterwards.

Two kinds of text are checked: the user's part of slurm.conf, in which the platform's keys and the lines of nodes and
partitions are refused with the reason, and, with `whole=True`, a complete file as the platform writes it.
"""

import re
from collections.abc import Iterator, Sequence

from console.errors import Problem
from slurm.checks.combinations import Settings, combinations
from slurm.checks.entities import entity_problems
from slurm.checks.values import Complaint, complaints
from slurm.conf import ENTITY_KINDS, Field, Line, LineKind, SlurmConf, parse
from slurm.parameters import Owner, Parameter, find, nearest
from slurm.parameters.model import within
from slurm.parameters.reasons import INCLUDE

PATH = "slurm_conf"
MAX_PROBLEMS = 500

# A bare carriage return and the Unicode line ends are line ends to editors and YAML, and not to Slurm.
_STRAY = re.compile(r"\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f\u2028\u2029\ufeff]")
_ENTITY_OWNER = {
    "PartitionName": "Partitions are edited in the Partitions tab: take this line out.",
    "PowerAction": "It names a program that Slurm runs with its own rights; only the platform may.",
}
_NODES_OWNED = "Nodes follow from the cluster's node groups: scale a group instead, and take this line out."


def check_conf(
    text: str,
    *,
    version: str,
    node_names: Sequence[str] = (),
    first_line: int = 1,
    whole: bool = False,
) -> tuple[Problem, ...]:
    """Everything wrong with the text, in the order of its lines; empty if nothing is.

    `version` is the cluster's Slurm (`"24.11"`), `first_line` the number of the text's first line where it is shown.
    Problems have `path="slurm_conf"`, the line, and a message that names key and line; advice is not blocking. After
    `MAX_PROBLEMS` the rest is left out.
    """
    found = _Findings(version, tuple(node_names), first_line, whole)
    found.read(parse(text))
    found.problems.sort(key=lambda problem: problem.line or 0)
    return tuple(found.problems[:MAX_PROBLEMS])


class _Findings:
    """One run over one text: the problems so far, and which line set which key."""

    def __init__(self, version: str, node_names: tuple[str, ...], first_line: int, whole: bool) -> None:
        self.version = version
        self.node_names = node_names
        self.offset = first_line - 1
        self.whole = whole
        self.problems: list[Problem] = []
        self._at: dict[str, Line] = {}

    def read(self, document: SlurmConf) -> None:
        for line in document.lines:
            if _STRAY.search(line.text):
                self._stray(line)
            self._read_line(line)
            if len(self.problems) >= MAX_PROBLEMS:
                return
        if document.is_open:
            line = document.lines[-1]
            text = "ends in “\\”, so that the line below becomes part of it"
            self._say(
                line, line.fields[0].key if line.fields else "The line", Complaint(text, "Take it out.")
            )
        self._read_together(document)

    def _read_line(self, line: Line) -> None:
        kind = line.kind
        if kind is LineKind.SETTING:
            self._setting(line, line.fields[0])
        elif kind is LineKind.ENTITY:
            self._entity(line)
        elif kind is LineKind.INCLUDE:
            self._say(line, "Include", Complaint("is not allowed here", INCLUDE))
        elif kind is LineKind.GARBAGE:
            self._garbage(line)

    def _garbage(self, line: Line) -> None:
        if line.leftover.lower().startswith("include"):
            self._say(line, "Include", Complaint("is not allowed here", INCLUDE))
            return
        key, equals, value = line.leftover.partition("=")
        if equals and key.strip():
            text = "has characters that no key has" if value.strip() else "has no value"
            self._say(line, _short(key), Complaint(text, 'Write Key=Value, or Key="" for an empty value.'))
        else:
            what = Complaint("has no “=”: Slurm cannot read it", "Write Key=Value, or # before a comment.")
            self._say(line, f"“{_short(line.leftover)}”", what)

    def _stray(self, line: Line) -> None:
        stray = _STRAY.search(line.text)
        if stray:
            key = line.fields[0].key if line.fields else "The line"
            text = f"holds the control character {stray[0]!a}"
            self._say(line, key, Complaint(text, "Remove it; it may hide a second line from the eye."))

    def _setting(self, line: Line, field: Field) -> None:
        if line.leftover:
            text = f"has “{_short(line.leftover)}” after its value"
            hint = "Put one setting on a line, and quotes around a value with blanks."
            self._say(line, field.key, Complaint(text, hint))
        if field.operator:
            text = f"is set with “{field.operator}=”, which Slurm reads as “=”"
            self._say(line, field.key, Complaint(text, f"Write {field.key}={field.value}."))
        known = find(field.key)
        if known is None:
            self._say(line, field.key, _unknown(field.key, self.version))
        else:
            self._known(line, field, known)
        self._duplicate(line, field, known)

    def _known(self, line: Line, field: Field, known: Parameter) -> None:
        if not known.known_in(self.version):
            self._say(line, field.key, _other_version(known, self.version))
        elif known.owner in (Owner.OPERATOR, Owner.NODE_GROUP) and not self.whole:
            self._say(line, field.key, Complaint("is set by the platform", known.reason))
        else:
            if known.owner is Owner.MERGED and not self.whole:
                self._say(
                    line, field.key, Complaint("is partly the platform's", known.reason, blocking=False)
                )
            if known.instead:
                text = f"is an old name: Slurm now has {known.instead}"
                self._say(line, field.key, Complaint(text, f"Use {known.instead}.", blocking=False))
            for one in complaints(known, field.value, self.version):
                self._say(line, field.key, one)

    def _duplicate(self, line: Line, field: Field, known: Parameter | None) -> None:
        if known and known.repeats:
            return
        first = self._at.get(field.key.lower())
        self._at[field.key.lower()] = line
        if first:
            text = f"is already set on line {first.number + self.offset}; Slurm takes the last"
            self._say(line, field.key, Complaint(text, "Keep one of the lines."))

    def _entity(self, line: Line) -> None:
        kind = line.entity or ""
        if not self.whole:
            hint = _ENTITY_OWNER.get(kind, _NODES_OWNED)
            self._say(line, f"{kind}={_short(line.fields[0].value)}", Complaint("does not belong here", hint))
        elif line.leftover:
            text = f"has “{_short(line.leftover)}” among its fields"
            self._say(line, f"{kind}={line.fields[0].value}", Complaint(text, "Write Key=Value pairs."))

    def _read_together(self, document: SlurmConf) -> None:
        written = {key: line.fields[0].value for key, line in self._at.items()}
        settings = Settings(written, self.version, self.whole)
        for key, one in combinations(settings):
            line = self._at[key.lower()]
            self._say(line, line.fields[0].key, one)
        if self.whole:
            for line, key, one in entity_problems(document, settings, self.node_names):
                self._say(line, key, one)
            if not settings.get("ClusterName"):
                self._say(None, "ClusterName", Complaint("is missing", "Slurm does not start without it."))

    def _say(self, line: Line | None, key: str, one: Complaint) -> None:
        number = line.number + self.offset if line else None
        message = f"Line {number}: {key} {one.text}." if line else f"{key} {one.text}."
        self.problems.append(Problem(PATH, message, one.hint, number, one.blocking))


def _unknown(key: str, version: str) -> Complaint:
    guess = nearest(key, None, version)
    if guess and guess.lower() != key.lower():
        return Complaint("is not a key of slurm.conf", f"Did you mean {guess}?")
    home = next((kind for kind in ENTITY_KINDS if find(key, kind)), None)
    if home:
        text = f"belongs on a {home} line"
        return Complaint(text, "Set it in the Partitions tab." if home == "PartitionName" else _NODES_OWNED)
    return Complaint("is not a key of slurm.conf", "Slurm does not start with a key that it does not know.")


def _other_version(known: Parameter, version: str) -> Complaint:
    here = f"this cluster runs {version}"
    if not within(version, known.since, None):
        return Complaint(f"exists only from Slurm {known.since} on; {here}", "Take the line out.")
    instead = f"Use {known.instead}." if known.instead else "Take the line out."
    return Complaint(f"was last read by Slurm {known.until}; {here}", instead)


def _short(text: str) -> str:
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= 60 else one_line[:57] + "..."


def blocking(problems: Sequence[Problem]) -> Iterator[Problem]:
    return (problem for problem in problems if problem.blocking)
