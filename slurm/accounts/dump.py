"""What `sacctmgr dump` writes and `sacctmgr load` reads: taken apart, to say what reading it in would do.

Pure. A line is a kind and a name in quotes, then options with colons between, whose values may be quoted
(`Account - 'llm':Description='a b':Fairshare=20`); accounts and users stand below the last `Parent`. sacctmgr turns
quotation marks inside of texts into backticks when it keeps them, but not line ends, so that a file that it wrote
itself may be one that it cannot read (24.11 and 26.05).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from console.errors import Problem, Rejected
from slurm.accounts.book import Book
from slurm.accounts.plan import Plan, load
from slurm.outputs.accounts import PARENT_SHARES

# Less than Django takes of a form's text (DATA_UPLOAD_MAX_MEMORY_SIZE).
MOST_BYTES = 2 * 2**20
MOST_PROBLEMS = 20
KINDS = ("QOS", "Cluster", "Parent", "Account", "User")
_LINE = re.compile(r"(QOS|Cluster|Parent|Account|User) - '([^']*)'((?::[A-Za-z]+=(?:'[^']*'|[^':]*))*)")
_OPTION = re.compile(r":([A-Za-z]+)=(?:'([^']*)'|([^':]*))")
# 24.11 writes none and refuses to read them; 26.05 does both.
QOS_SINCE = (25, 5)


@dataclass(frozen=True)
class Line:
    """One line of the file; `parent` is where an account or a user stands."""

    number: int
    kind: str
    name: str
    parent: str = ""
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def partition(self) -> str:
        return self.options.get("Partition", "")


@dataclass(frozen=True)
class Dump:
    cluster: str
    lines: tuple[Line, ...]
    problems: tuple[Problem, ...]


@dataclass(frozen=True)
class Difference:
    """One thing that reading the file would add or change. `what` is a sentence without its full stop."""

    sign: str
    what: str


@dataclass(frozen=True)
class Reading:
    """What reading a file in would do, and the command that does it."""

    differences: tuple[Difference, ...]
    plan: Plan


def reading_in(text: str, book: Book, version: tuple[int, ...]) -> Reading:
    """Raises Rejected with the lines that speak against it."""
    if len(text.encode()) > MOST_BYTES:
        raise Rejected(f"The file is larger than {MOST_BYTES >> 20} MiB.")
    dump = parse_dump(text)
    if problems := check_dump(dump, book, version):
        raise Rejected("The file cannot be read in.", problems[:MOST_PROBLEMS])
    return Reading(differences(dump, book), load(book, text.encode()))


def parse_dump(text: str) -> Dump:
    """Every line, with what cannot be read as problems of the field `file` at its line."""
    lines, problems, parent = [], [], "root"
    for number, raw in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        if not raw.strip() or raw.startswith("#"):
            continue
        match = _LINE.fullmatch(raw.rstrip())
        if not match or not raw.isprintable():
            problems.append(_problem(number, f"This is no line of a dump: {raw[:60]!r}."))
            continue
        kind, name, rest = match.groups()
        options = {key: quoted or plain for key, quoted, plain in _OPTION.findall(rest)}
        below = "" if kind in ("QOS", "Cluster", "Parent") else parent
        lines.append(Line(number, kind, name, below, options))
        parent = name if kind == "Parent" else parent
    clusters = [line for line in lines if line.kind == "Cluster"]
    if len(clusters) != 1:
        problems.append(_problem(None, f"A dump is of one cluster; this file names {len(clusters)}."))
    return Dump(clusters[0].name if clusters else "", tuple(lines), tuple(problems))


def check_dump(dump: Dump, book: Book, version: tuple[int, ...]) -> tuple[Problem, ...]:
    """What speaks against reading the file into this cluster. Another cluster's would be made new in the database."""
    problems = list(dump.problems)
    if dump.cluster and dump.cluster != book.cluster:
        problems.append(
            _problem(
                _first(dump, "Cluster"),
                f"The file is of the cluster {dump.cluster[:64]}; this one is {book.cluster} to Slurm.",
                f"To read it in here, write {book.cluster} in its line “Cluster - …”.",
            )
        )
    if version < QOS_SINCE and (qos := _first(dump, "QOS")):
        problems.append(
            _problem(
                qos,
                "This version of Slurm reads no QOS from a file.",
                "Take the lines out, and add the QOS here.",
            )
        )
    known = {line.name for line in dump.lines if line.kind == "Account"} | {"root"}
    known |= {one.account for one in book.own if not one.user}
    for line in dump.lines:
        if line.kind == "Parent" and line.name not in known:
            problems.append(
                _problem(line.number, f"There is no account {line.name[:64]} to put others below.")
            )
    return tuple(problems)


def differences(dump: Dump, book: Book) -> tuple[Difference, ...]:
    """What would be added, and the shares and descriptions that would change; other options are said to be set.

    Nothing is taken away: what the file does not have stays.
    """
    return tuple(found for line in dump.lines for found in _difference(line, book))


def _difference(line: Line, book: Book) -> Iterator[Difference]:
    if line.kind == "QOS" and book.named_qos(line.name) is None:
        yield Difference("+", f"QOS {line.name}")
    elif line.kind == "Account":
        before = book.account(line.name)
        if before is None:
            yield Difference("+", f"account {line.name} below {line.parent}")
        else:
            if before.parent != line.parent:
                yield Difference("~", f"account {line.name} moves from {before.parent} to {line.parent}")
            yield from _shares(line, f"account {line.name}", before.shares)
    elif line.kind == "User":
        own = book.membership(line.name, line.parent, line.partition)
        where = f" in the partition {line.partition}" if line.partition else ""
        if own is None:
            yield Difference("+", f"user {line.name} in {line.parent}{where}")
        else:
            yield from _shares(line, f"{line.name} in {line.parent}{where}", own.shares)


def _shares(line: Line, who: str, before: int | None) -> Iterator[Difference]:
    said = line.options.get("Fairshare")
    if said is None:
        return
    now = "parent" if said == str(PARENT_SHARES) else said
    was = "parent" if before is None else str(before)
    if now != was:
        yield Difference("~", f"{who}: shares {was} → {now}")


def _first(dump: Dump, kind: str) -> int | None:
    return next((line.number for line in dump.lines if line.kind == kind), None)


def _problem(line: int | None, message: str, hint: str = "") -> Problem:
    return Problem("file", message, hint, line)
