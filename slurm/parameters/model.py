"""What the catalogue of slurm.conf says about one key, and the short notation in which its tables are written.

Pure; imported by the tables beside it and, for the types, by whoever shows or checks a key. The facts come from man
slurm.conf and the key tables of Slurm's own parser (src/common/read_config.c), 22.05 to 26.05; the words of help are
our own.

Versions are Slurm's `YY.MM`. `since` is None for keys older than the oldest version known here (22.05), `until` is the
last version in which a key still does something.
"""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache

VERSIONS = ("22.05", "23.02", "23.11", "24.05", "24.11", "25.05", "25.11", "26.05")


class Kind(StrEnum):
    INT = "int"
    """A whole number, one of the row's words, or UNLIMITED / INFINITE where the bound is that of the parser."""
    SIZE = "size"
    """Mebibytes; the letter K multiplies by 1024."""
    BOOL = "bool"
    CHOICE = "choice"
    CHOICES = "choices"
    """Several of the words, separated by commas."""
    OPTIONS = "options"
    """Words, each perhaps with `=value`, separated by commas; Slurm ignores unknown ones without a word."""
    DURATION = "duration"
    """A time in Slurm's notation; a bare number is minutes."""
    TEXT = "text"
    PATH = "path"
    HOSTS = "hosts"
    LIST = "list"
    """Free words separated by commas."""


class Owner(StrEnum):
    USER = "user"
    OPERATOR = "operator"
    """Written by the platform; refused in the user's part."""
    NODE_GROUP = "node group"
    """Follows from the cluster's node groups."""
    PARTITION_TAB = "partition tab"
    """Edited in the Partitions tab."""
    MERGED = "merged"
    """The platform needs a part of the value; the user may add to it."""


class Cost(StrEnum):
    NONE = "none"
    RECONFIGURE = "reconfigure"
    RESTART = "restart"


# Words and parameters are one of a kind and keys of caches: compared, and hashed, by identity.
@dataclass(frozen=True, slots=True, eq=False)
class Word:
    """An allowed word. `form` is what may follow `=`: "" nothing, "#" a number, "*" any text, "a|b" one of these."""

    name: str
    form: str = ""
    optional: bool = False
    low: int | None = None
    high: int | None = None
    since: str | None = None
    until: str | None = None

    def known_in(self, version: str) -> bool:
        return within(version, self.since, self.until)

    @property
    def shown(self) -> str:
        return f"{self.name}=" if self.form and not self.optional else self.name


@dataclass(frozen=True, slots=True, eq=False)
class Parameter:
    """One key. `line` names the kind of line it stands in (`PartitionName`); None is a line of its own.

    `needs` lists `Key=value` settings without one of which this key does nothing. `restart` is the last version in
    which a change takes effect only when daemons restart ("always": in every version, "": in none); from 23.11
    `scontrol reconfigure` starts slurmctld and slurmd anew by itself.
    """

    name: str
    kind: Kind
    help: str
    default: str = ""
    theme: str = ""
    unit: str = ""
    low: int | None = None
    high: int | None = None
    words: tuple[Word, ...] = field(default=(), repr=False)
    is_open: bool = False
    """Other words than the listed ones may exist (plugins of the site's own): unknown ones are advice only."""
    pattern: str = ""
    """A regular expression that a TEXT or LIST value matches as a whole, in any case; `help` shows an example."""
    since: str | None = None
    until: str | None = None
    line: str | None = None
    owner: Owner = Owner.USER
    reason: str = ""
    needs: tuple[str, ...] = ()
    restart: str = ""
    repeats: bool = False
    """Several lines add up instead of the last one winning."""
    instead: str = ""
    """The key that replaced this one."""

    def known_in(self, version: str) -> bool:
        return within(version, self.since, self.until)

    def default_in(self, version: str) -> str:
        """The value in force where nothing is written; "" where the key is unset by default."""
        if "@" not in self.default:
            return self.default
        return next((word.name for word in parse_words(self.default) if word.known_in(version)), "")

    def words_in(self, version: str) -> tuple[Word, ...]:
        return tuple(word for word in self.words if word.known_in(version))

    def cost_in(self, version: str) -> Cost:
        if self.restart == "always" or (self.restart and order(version) <= order(self.restart)):
            return Cost.RESTART
        return Cost.RECONFIGURE


@lru_cache(maxsize=256)
def order(version: str) -> tuple[int, int]:
    """`"24.11.5"` as `(24, 11)`, to compare. ValueError for what is no Slurm version."""
    parts = version.split(".")
    if len(parts) < 2:
        raise ValueError(f"{version!r} is not a Slurm version such as 24.11")
    return int(parts[0]), int(parts[1])


def within(version: str, since: str | None, until: str | None) -> bool:
    if since and order(version) < order(since):
        return False
    return not (until and order(version) > order(until))


_SHORT: dict[str, tuple[Kind, int | None]] = {
    "u16": (Kind.INT, 65_535),
    "u32": (Kind.INT, 4_294_967_295),
}


def row(kind: str, name: str, help: str, default: str = "", *, words: str = "", **rest: object) -> Parameter:
    """One row of a table: `kind` is a Kind's value, or `u16` / `u32` for the parser's bounded numbers."""
    known, high = _SHORT.get(kind, (None, None))
    base = Parameter(name, known or Kind(kind), help, default, words=parse_words(words), high=high)
    needs = rest.pop("needs", "")
    if needs:
        rest["needs"] = tuple(str(needs).split())
    return replace(base, **rest)  # type: ignore[arg-type]  # the tables' keywords are fields, checked by replace()


def themed(theme: str, *rows: Parameter, line: str | None = None) -> tuple[Parameter, ...]:
    return tuple(replace(one, theme=theme, line=line) for one in rows)


def owned(owner: Owner, reason: str, *rows: Parameter) -> tuple[Parameter, ...]:
    """The rows with who writes them, and why in words fit for the person who may not."""
    return tuple(replace(one, owner=owner, reason=reason) for one in rows)


@lru_cache(maxsize=512)
def parse_words(text: str) -> tuple[Word, ...]:
    """`"defer bf_interval=1..10800 preempt_strict_order@..24.11 FORCE?=1.."`: words with value forms and versions."""
    return tuple(_word(item) for item in text.split())


def _word(item: str) -> Word:
    spelt, _, span = item.partition("@")
    since, _, until = span.partition("..")
    name, _, form = spelt.partition("=")
    low = high = None
    if ".." in form:
        ends = form.split("..")
        low, high, form = int(ends[0]), int(ends[1]) if ends[1] else None, "#"
    return Word(name.removesuffix("?"), form, name.endswith("?"), low, high, since or None, until or None)
