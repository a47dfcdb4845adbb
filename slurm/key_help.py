"""The catalogue in the words of the configuration page: what a key is, may hold, costs, and who may write it.

Pure. One `KeyHelp` says everything that the page shows beside the cursor and needs for a field of its form, for one
version of Slurm. What a value is worth is judged elsewhere (`slurm.checks.conf`).
"""

from dataclasses import dataclass

from slurm.parameters import VERSIONS, Cost, Kind, Owner, Parameter, Word, for_version

KINDS = {
    Kind.INT: "whole number",
    Kind.SIZE: "size in MiB",
    Kind.BOOL: "YES or NO",
    Kind.CHOICE: "one of a few words",
    Kind.CHOICES: "words, separated by commas",
    Kind.OPTIONS: "options, separated by commas",
    Kind.DURATION: "time, a bare number is minutes",
    Kind.TEXT: "text",
    Kind.PATH: "path",
    Kind.HOSTS: "host list",
    Kind.LIST: "names, separated by commas",
}
COSTS = {Cost.NONE: "at once", Cost.RECONFIGURE: "on reconfigure", Cost.RESTART: "when the daemons restart"}
_SHAPES = {"": "", "#": "a number", "*": "a text"}


@dataclass(frozen=True)
class WordHelp:
    """An allowed word; `form` says what follows its `=`, empty for nothing."""

    word: str
    form: str


@dataclass(frozen=True)
class KeyHelp:
    """`line` names the kind of line it stands in, empty for one of its own. `locked` is why it may not be written
    here, `note` what to mind where it may. `range` is empty where any value of the kind will do."""

    name: str
    line: str
    theme: str
    help: str
    kind: str
    kind_words: str
    unit: str
    range: str
    default: str
    words: tuple[WordHelp, ...]
    is_open: bool
    cost: str
    cost_words: str
    needs: tuple[str, ...]
    known: str
    instead: str
    locked: str
    note: str


def keys_help(version: str) -> tuple[KeyHelp, ...]:
    """Every key of the version: those of the top level, then those of partitions' and nodes' lines."""
    lines = (None, "PartitionName", "NodeName")
    return tuple(_help(one, version) for line in lines for one in for_version(version, line))


def _help(one: Parameter, version: str) -> KeyHelp:
    is_locked = one.owner not in (Owner.USER, Owner.MERGED) or one.line is not None
    cost = one.cost_in(version)
    return KeyHelp(
        name=one.name,
        line=one.line or "",
        theme=one.theme,
        help=one.help,
        kind=one.kind.value,
        kind_words=KINDS[one.kind],
        unit=one.unit,
        range=_range(one),
        default=one.default_in(version),
        words=tuple(WordHelp(word.name, _form(word)) for word in one.words_in(version)),
        is_open=one.is_open,
        cost=cost.value,
        cost_words=COSTS[cost],
        needs=one.needs,
        known=_known(one),
        instead=one.instead,
        locked=one.reason or "The platform writes this line." if is_locked else "",
        note="" if is_locked else one.reason,
    )


def _range(one: Parameter) -> str:
    if one.kind not in (Kind.INT, Kind.SIZE) or (one.low is None and one.high is None):
        return ""
    return f"{one.low or 0} – {one.high}" if one.high is not None else f"{one.low} or more"


def _form(word: Word) -> str:
    shape = _SHAPES.get(word.form, word.form.replace("|", " or "))
    if word.low is None and word.high is None:
        return shape
    return f"{word.low or 0} – {word.high}" if word.high is not None else f"{word.low} or more"


def _known(one: Parameter) -> str:
    since = f"since {one.since}" if one.since else f"before {VERSIONS[0]}"
    return f"{since}, up to {one.until or VERSIONS[-1]}"
