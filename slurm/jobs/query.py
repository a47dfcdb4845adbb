"""The filter box of a job list: `user:lin gpus:>4 node:slinky-2 state:running partition:debug text`.

Pure: text in, typed terms and hints out. It never raises: what it cannot read becomes a hint beside the box,
and the rest of the line still filters. Terms are joined by *and*, values after a comma by *or*, a leading `-`
turns a term round. The box is the whole truth about what a list shows, so a link to a page carries the filter
and the chips only rewrite it. `slurm.jobs.reading` turns the terms into SQL.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from slurm.jobs.states import BAD_ENDS, ENDED, GOOD_ENDS, ON_NODES, WAITING

MAX_TEXT = 500
MAX_TERMS = 20
MOST = 10**12

WORDS = {
    "user": "user",
    "account": "account",
    "partition": "partition",
    "qos": "qos",
    "node": "node",
    "name": "name",
    "id": "id",
    "state": "state",
    "cluster": "cluster",
}
NUMBERS = {"gpus": "gpus", "nodes": "nodes", "cpus": "cpus", "tasks": "tasks", "priority": "priority"}
SPANS = {"limit": "limit", "ran": "ran", "ended": "ended", "submitted": "submitted"}
ALIASES = {
    "part": "partition",
    "p": "partition",
    "u": "user",
    "job": "id",
    "gpu": "gpus",
    "cpu": "cpus",
    "is": "state",
}
FIELDS = (*WORDS, *NUMBERS, *SPANS)

# `held` and `cannot-run` are waiting jobs told apart by their reason; the caller knows how.
STATES: dict[str, tuple[str, ...]] = {
    "any": (*WAITING, *ON_NODES, *ENDED),
    "queue": (*WAITING, *ON_NODES),
    "waiting": WAITING,
    "held": WAITING,
    "cannot-run": ("PENDING",),
    "running": ON_NODES,
    "finished": ENDED,
    "ended": ENDED,
    "bad": BAD_ENDS,
    **{
        state.lower(): (state,)
        for state in (*WAITING, *ON_NODES, *GOOD_ENDS, *BAD_ENDS, "CANCELLED", "PREEMPTED")
    },
    # Squeue's word for one state is the page's word for a group.
    "pending": WAITING,
}
SORTS = (
    "id",
    "user",
    "name",
    "partition",
    "state",
    "gpus",
    "nodes",
    "ran",
    "limit",
    "priority",
    "submitted",
    "ended",
)

TOKEN = re.compile(r'(?:[^\s"]|"[^"]*(?:"|$))+')
BOUND = re.compile(r"(>=|<=|>|<|=)?([0-9]+)", re.ASCII)
SPAN = re.compile(r"(>=|<=|>|<)?([0-9]+)([smhdw])", re.ASCII)
NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
JOB_ID = re.compile(r"[0-9]{1,15}(?:_(?:[0-9]{1,10}|\[[0-9,%:-]*\]))?", re.ASCII)
UNIT_S = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


@dataclass(frozen=True)
class Match:
    """`field` is one of `values`. Field `text` is a free word; the values of `state` are keys of STATES."""

    field: str
    values: tuple[str, ...]
    negated: bool = False


@dataclass(frozen=True)
class Bound:
    """`field` compares with `value`: a count, or seconds. Fields `ended` and `submitted` are ages."""

    field: str
    op: str
    value: int
    negated: bool = False


Term = Match | Bound


@dataclass(frozen=True)
class Hint:
    """What could not be read, and what would be."""

    token: str
    message: str


@dataclass(frozen=True)
class JobQuery:
    """A whole request for a list. `sort` is empty for the list's own order; `page` counts from 1."""

    text: str = ""
    terms: tuple[Term, ...] = ()
    hints: tuple[Hint, ...] = ()
    sort: str = ""
    descending: bool = False
    page: int = 1

    @property
    def names_states(self) -> bool:
        """Whether the filter itself says which states to show; else only what has not ended is."""
        return any(term.field in {"state", "id", "ended"} and not term.negated for term in self.terms)

    @property
    def states(self) -> tuple[str, ...]:
        """The words of the plain `state:` terms."""
        return tuple(
            value
            for term in self.terms
            if isinstance(term, Match) and term.field == "state" and not term.negated
            for value in term.values
        )

    @property
    def is_mine(self) -> bool:
        return Match("user", ("me",)) in self.terms

    def rewritten(self, *drop: str, add: str = "") -> str:
        """The text of the box without the terms on the fields `drop`, and with `add` in front."""
        kept = [token for token in _tokens(self.text) if _field(token) not in drop]
        return " ".join([*add.split(), *kept])

    def without_chips(self, add: str = "") -> str:
        """The text with `add` in place of every term that a chip may have put there."""
        kept = (token for token in _tokens(self.text) if token.lower() != "user:me")
        return " ".join([*add.split(), *(token for token in kept if _field(token) not in {"state", "ended"})])


class Unreadable(ValueError):
    """A token that is no term; the message is the hint."""


def parse(text: str, sort: str = "", page: str = "1") -> JobQuery:
    """Read the box, the sort key (`gpus`, `-gpus`) and the page number. Never raises."""
    text = _clean(text)
    terms: list[Term] = []
    hints: list[Hint] = []
    for token in _tokens(text):
        try:
            terms.append(_term(token))
        except Unreadable as problem:
            hints.append(Hint(token, str(problem)))
    if len(terms) > MAX_TERMS:
        hints.append(Hint("", f"Only the first {MAX_TERMS} terms are used."))
    key = sort.removeprefix("-")
    known = key in SORTS
    return JobQuery(
        text=text,
        terms=tuple(terms[:MAX_TERMS]),
        hints=tuple(hints),
        sort=key if known else "",
        descending=known and sort.startswith("-"),
        page=_page(page),
    )


def _clean(text: str) -> str:
    printable = "".join(
        c if c.isprintable() and not "\ud800" <= c <= "\udfff" else " " for c in text[:MAX_TEXT]
    )
    return " ".join(printable.split())


def _tokens(text: str) -> Iterator[str]:
    return (match.group() for match in TOKEN.finditer(text))


def _page(page: str) -> int:
    return int(page) if re.fullmatch(r"[0-9]{1,6}", page, re.ASCII) and int(page) else 1


def _field(token: str) -> str:
    """The field that a token speaks of, empty for a free word."""
    name, colon, _ = token.removeprefix("-").partition(":")
    name = ALIASES.get(name.lower(), name.lower())
    return name if colon and name in FIELDS else ""


def _term(token: str) -> Term:
    negated = token.startswith("-") and len(token) > 1
    body = token[1:] if negated else token
    name, colon, value = body.partition(":")
    if not colon or not re.fullmatch(r"[A-Za-z]+", name):
        return Match("text", (body.replace('"', ""),), negated)
    field = ALIASES.get(name.lower(), name.lower())
    value = value.replace('"', "")
    if field not in FIELDS:
        raise Unreadable(_unknown_field(name))
    if not value:
        raise Unreadable(f"Say what {field} should be: {EXAMPLES[field]}.")
    if field in NUMBERS:
        return _number(field, value, negated)
    return _span(field, value, negated) if field in SPANS else _match(field, value, negated)


EXAMPLES = {
    "user": "user:lin, or user:me",
    "account": "account:vision",
    "partition": "partition:debug",
    "qos": "qos:high",
    "node": "node:slinky-2",
    "name": "name:train",
    "id": "id:4127",
    "state": "state:running",
    "cluster": "cluster:demo",
    "gpus": "gpus:>4",
    "nodes": "nodes:>=2",
    "cpus": "cpus:64",
    "tasks": "tasks:>1",
    "priority": "priority:>1000",
    "limit": "limit:<2h",
    "ran": "ran:>1d",
    "ended": "ended:<2h, or ended:today",
    "submitted": "submitted:<1d",
}


def _unknown_field(name: str) -> str:
    near = get_close_matches(name.lower(), FIELDS, n=1)
    return f"No filter is called {name}. " + (
        f"Did you mean {near[0]}:?" if near else f"Known: {', '.join(FIELDS)}."
    )


def _match(field: str, value: str, negated: bool) -> Match:
    values = tuple(part for part in value.split(",") if part) if field != "name" else (value,)
    if field == "id":
        # The list of a waiting array's tasks has commas of its own.
        values = tuple(re.findall(r"[^,\[]+(?:\[[^\]]*\]?)?", value))
    if not values:
        raise Unreadable(f"Say what {field} should be: {EXAMPLES[field]}.")
    for part in values:
        _check(field, part)
    return Match(field, tuple(part.lower() for part in values) if field == "state" else values, negated)


def _check(field: str, value: str) -> None:
    if field == "state" and value.lower() not in STATES:
        near = get_close_matches(value.lower(), STATES, n=1)
        known = "waiting, held, cannot-run, running, finished, failed, timeout, cancelled, any"
        raise Unreadable(
            f"There is no state {value}. " + (f"Did you mean {near[0]}?" if near else f"Known: {known}.")
        )
    if field == "id" and not JOB_ID.fullmatch(value):
        raise Unreadable(f"{value} is no job id. Write id:4127 or id:4127_3.")
    if field == "node" and not NAME.fullmatch(value):
        raise Unreadable(f"{value} is no node name. Write one name, as in {EXAMPLES['node']}.")


def _number(field: str, value: str, negated: bool) -> Bound:
    found = BOUND.fullmatch(value)
    if found is None:
        raise Unreadable(f"{field} takes a number: {EXAMPLES[field]}.")
    return Bound(field, found[1] or "=", min(int(found[2]), MOST), negated)


def _span(field: str, value: str, negated: bool) -> Term:
    if field == "ended" and value.lower() == "today":
        return Match("ended", ("today",), negated)
    found = SPAN.fullmatch(value.lower())
    if found is None:
        raise Unreadable(f"{field} takes a time such as 30m, 2h or 1d: {EXAMPLES[field]}.")
    # `ended:2h` says within the last two hours; `limit:2h` says two hours.
    op = found[1] or ("<=" if field in {"ended", "submitted"} else "=")
    return Bound(field, op, min(int(found[2]), MOST) * UNIT_S[found[3]], negated)
