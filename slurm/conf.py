"""slurm.conf as a document: read, changed and written again with everything else left as it was.

Pure; anyone may call it. It knows the grammar (which characters make a key, a value, a comment, a continued line) and
the kinds of lines that describe things rather than set a value. It does not know which keys exist or what they
may hold: that is `slurm.parameters` and `slurm.checks.conf`.

`parse` never fails and `render(parse(text)) == text` for any text; what Slurm could not read is kept in
`Line.leftover`. The grammar was compared with Slurm's own parser (s_p_parse_file; 22.05, 24.11 and 26.05 agree):
- a comment runs from an unescaped `#` to the end of the line, also within quotes;
- a line continues where, comment and trailing blanks taken off, it ends in an odd number of `\\`; the parts are joined
  with nothing between them; afterwards every `\\x` stands for `x`;
- `Key=Value`, with blanks allowed around `=`, an operator (`+ - * /`) before it, and quotes around a value; one pair a
  line, but for the lines of `ENTITY_KINDS`, which hold several;
- the last of several lines for one key wins; keys are the same in any case.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

ENTITY_KINDS = ("NodeName", "PartitionName", "NodeSet", "DownNodes", "FrontendName", "PowerAction")

_ENTITIES = {kind.lower(): kind for kind in ENTITY_KINDS}
_BLANK = " \t\v\f\r\n"
_PAIR = re.compile(
    r"[{0}]*([A-Za-z0-9_.]+)[{0}]*([-+*/]?)=[{0}]*(?:\"([^\"]*)\"|([^{0}]+))(?![^{0}])".replace("{0}", _BLANK)
)
_INCLUDE = re.compile(rf"include[{_BLANK}]+(.*)", re.IGNORECASE | re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NEEDS_QUOTES = re.compile(r'[ ]|^$|^"')


class ConfError(ValueError):
    """A value that no line of slurm.conf can hold, or a key that is none."""


class LineKind(StrEnum):
    BLANK = "blank"
    COMMENT = "comment"
    SETTING = "setting"
    ENTITY = "entity"
    INCLUDE = "include"
    GARBAGE = "garbage"


class Field(NamedTuple):
    """One `Key=Value`. `key` is spelt as in the file, `value` is what Slurm reads (quotes and escapes taken off).

    `key_at`, `value_at`, `end` are offsets into `Line.text`: where the key begins, the value (its quote), and ends.
    """

    key: str
    value: str
    operator: str
    key_at: int
    value_at: int
    end: int


@dataclass(frozen=True, slots=True)
class Line:
    """One logical line: `text` is every character of it, its line ends and continued lines included.

    `fields` are the pairs that could be read: exactly one of a SETTING, of an ENTITY the first names it. `leftover` is
    what follows the last of them and makes Slurm refuse the file; for an INCLUDE it is the file's name.
    """

    number: int
    text: str
    kind: LineKind
    fields: tuple[Field, ...] = ()
    leftover: str = ""

    @property
    def entity(self) -> str | None:
        """`"PartitionName"` and the like in its usual spelling, for an ENTITY."""
        return _ENTITIES.get(self.fields[0].key.lower()) if self.kind is LineKind.ENTITY else None

    def get(self, key: str) -> str | None:
        found = self.field(key)
        return found.value if found else None

    def field(self, key: str) -> Field | None:
        """The last field of that name in any case: the one that Slurm goes by."""
        wanted = key.lower()
        return next((field for field in reversed(self.fields) if field.key.lower() == wanted), None)

    def with_field(self, key: str, value: str) -> "Line":
        """The line with that field changed in place, or added after the last. Raises ConfError as `format_value`."""
        found = self.field(key)
        if found:
            text = self.text[: found.value_at] + format_value(value) + self.text[found.end :]
        elif self.fields:
            end = self.fields[-1].end
            text = f"{self.text[:end]} {format_pair(key, value)}{self.text[end:]}"
        else:
            raise ConfError(f"Line {self.number} holds no fields to add {key} to")
        return read_line(self.number, text)

    def without_field(self, key: str) -> "Line":
        """The line without any field of that name; the first stays, for without it the line means nothing."""
        text = self.text
        for field in reversed(self.fields[1:]):
            if field.key.lower() == key.lower():
                text = text[: field.key_at].rstrip(" \t") + text[field.end :]
        return read_line(self.number, text)


@dataclass(frozen=True)
class SlurmConf:
    """The document. Every change answers a new one; `lines` are numbered by the first physical line they cover."""

    lines: tuple[Line, ...]

    def get(self, key: str) -> str | None:
        """The value that Slurm goes by: the last of that key in any case, entity lines left aside."""
        at = self._last(key)
        return self.lines[at].fields[0].value if at is not None else None

    def settings(self) -> Iterator[tuple[Line, Field]]:
        for line in self.lines:
            if line.kind is LineKind.SETTING:
                yield line, line.fields[0]

    def entities(self, kind: str) -> Iterator[Line]:
        """The lines of one of `ENTITY_KINDS`, in order; `kind` in any case."""
        wanted = _ENTITIES.get(kind.lower())
        return (line for line in self.lines if line.kind is LineKind.ENTITY and line.entity == wanted)

    def set(self, key: str, value: str) -> "SlurmConf":
        """Change the value in place (the last line of that key), or add a line after the last setting.

        Raises ConfError if the value cannot stand in a line, or the key begins an entity line.
        """
        if key.lower() in _ENTITIES:
            raise ConfError(f"{key} begins a line of its own fields; it is not a setting")
        at = self._last(key)
        if at is not None:
            return self._with_line(at, self.lines[at].with_field(key, value).text)
        return self._insert(self._after_settings(), format_pair(key, value))

    def unset(self, key: str) -> "SlurmConf":
        """Without any line of that key, its comment on the same line included. Unchanged if there is none."""
        wanted = key.lower()
        kept = [line.text for line in self.lines if not _sets(line, wanted)]
        return self if len(kept) == len(self.lines) else parse("".join(kept))

    def set_in(self, kind: str, name: str, key: str, value: str) -> "SlurmConf":
        """Change one field of an entity line (`set_in("PartitionName", "all", "MaxTime", "60")`). KeyError if none."""
        at = self._entity(kind, name)
        return self._with_line(at, self.lines[at].with_field(key, value).text)

    def unset_in(self, kind: str, name: str, key: str) -> "SlurmConf":
        """Remove one field of an entity line; KeyError if there is no such line."""
        at = self._entity(kind, name)
        return self._with_line(at, self.lines[at].without_field(key).text)

    def append(self, text: str) -> "SlurmConf":
        """With one more line at the end; `text` is without its line end. Raises ConfError on a line end within."""
        if _CONTROL.search(text.replace("\t", "")):
            raise ConfError("A line to be added holds a line end or another control character")
        return self._insert(len(self.lines), text)

    @property
    def newline(self) -> str:
        """The document's own line end, by its first line."""
        return "\r\n" if self.lines and self.lines[0].text.endswith("\r\n") else "\n"

    @property
    def is_open(self) -> bool:
        """Whether the last line ends in a continuation, so that it would take in whatever is written below."""
        text = self.lines[-1].text if self.lines else ""
        return _continues(text[text.rfind("\n", 0, -1) + 1 :])

    def _last(self, key: str) -> int | None:
        wanted = key.lower()
        return next((at for at in range(len(self.lines) - 1, -1, -1) if _sets(self.lines[at], wanted)), None)

    def _entity(self, kind: str, name: str) -> int:
        wanted = _ENTITIES[kind.lower()]
        for at in range(len(self.lines) - 1, -1, -1):
            line = self.lines[at]
            if line.entity == wanted and line.fields[0].value == name:
                return at
        raise KeyError(f"{wanted}={name}")

    def _after_settings(self) -> int:
        kinds = [line.kind for line in self.lines]
        for kind in (LineKind.SETTING, LineKind.INCLUDE):
            if kind in kinds:
                return len(kinds) - kinds[::-1].index(kind)
        return kinds.index(LineKind.ENTITY) if LineKind.ENTITY in kinds else len(kinds)

    def _with_line(self, at: int, text: str) -> "SlurmConf":
        return parse("".join(text if here == at else line.text for here, line in enumerate(self.lines)))

    def _insert(self, at: int, text: str) -> "SlurmConf":
        before = "".join(line.text for line in self.lines[:at])
        if before and not before.endswith("\n"):
            before += self.newline
        if _continues(before[before.rfind("\n", 0, -1) + 1 :]):
            before += self.newline
        return parse(before + text + self.newline + "".join(line.text for line in self.lines[at:]))


def parse(text: str) -> SlurmConf:
    """The document of any text at all; never raises."""
    lines: list[Line] = []
    physical = _physical_lines(text)
    at = 0
    while at < len(physical):
        end = at + 1
        while end < len(physical) and _continues(physical[end - 1]):
            end += 1
        lines.append(read_line(at + 1, physical[at] if end == at + 1 else "".join(physical[at:end])))
        at = end
    return SlurmConf(tuple(lines))


def render(document: SlurmConf) -> str:
    return "".join(line.text for line in document.lines)


def format_value(value: str) -> str:
    """A value as it has to stand in the file, quoted and escaped where needed.

    Raises ConfError for what no line can hold: control characters (a line end would begin another setting), or a
    double quote beside a blank, for which Slurm has no escape.
    """
    if _CONTROL.search(value):
        raise ConfError("A value holds a line end or another control character")
    quoted = _NEEDS_QUOTES.search(value) is not None
    if quoted and '"' in value:
        raise ConfError("Slurm cannot read a value that holds both a blank and a double quote")
    escaped = value.replace("\\", "\\\\").replace("#", "\\#")
    return f'"{escaped}"' if quoted else escaped


def format_pair(key: str, value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_.]+", key):
        raise ConfError(f"{key!r} is no key of slurm.conf")
    return f"{key}={format_value(value)}"


def entity_line(kind: str, name: str, fields: Mapping[str, str]) -> str:
    """`PartitionName=NAME Key=Value ...` in the order of the mapping, without a line end. Raises ConfError."""
    first = format_pair(_ENTITIES[kind.lower()], name)
    return " ".join([first, *(format_pair(key, value) for key, value in fields.items())])


def _physical_lines(text: str) -> list[str]:
    r"""Split at `\n` alone, as fgets does: str.splitlines also cuts at `\r`, form feeds and U+2028."""
    pieces = text.split("\n")
    lines = [piece + "\n" for piece in pieces[:-1]]
    return [*lines, pieces[-1]] if pieces[-1] else lines


def _continues(physical: str) -> bool:
    if "\\" not in physical:
        return False
    code = _without_comment(physical).rstrip(_BLANK)
    return (len(code) - len(code.rstrip("\\"))) % 2 == 1


def _without_comment(physical: str) -> str:
    start = physical.find("#")
    while start > 0:
        before = physical[:start]
        if (len(before) - len(before.rstrip("\\"))) % 2 == 0:
            return before
        start = physical.find("#", start + 1)
    return physical if start < 0 else ""


def read_line(number: int, text: str) -> Line:
    """The line of `text`, which is one logical line with its line ends; never raises."""
    first = text.lstrip(_BLANK)[:1]
    if not first or first == "#":
        return Line(number, text, LineKind.COMMENT if first else LineKind.BLANK)
    code, offsets = _logical(text)
    include = _INCLUDE.match(code)
    if include:
        return Line(number, text, LineKind.INCLUDE, (), include[1].strip(_BLANK))
    pair = _PAIR.match(code)
    if pair is None:
        left = code.strip(_BLANK)
        return Line(number, text, LineKind.GARBAGE if left else LineKind.BLANK, (), left)
    is_entity = pair[1].lower() in _ENTITIES
    fields = []
    end = 0
    while pair:
        fields.append(_field(pair, text, offsets))
        end = pair.end()
        pair = _PAIR.match(code, end) if is_entity else None
    kind = LineKind.ENTITY if is_entity else LineKind.SETTING
    return Line(number, text, kind, tuple(fields), code[end:].strip(_BLANK))


def _logical(text: str) -> tuple[str, list[int] | None]:
    """What Slurm's reader is left with, and where each of its characters stands in `text` (None: where it stands)."""
    if "\\" not in text:
        start = text.find("#")
        return (text if start < 0 else text[:start]), None
    chars: list[str] = []
    offsets: list[int] = []
    base = 0
    for physical in _physical_lines(text):
        code = _without_comment(physical)
        if _continues(physical):
            code = code.rstrip(_BLANK)[:-1]
        _unescape(code, base, chars, offsets)
        base += len(physical)
    offsets.append(base)
    return "".join(chars), offsets


def _unescape(code: str, base: int, chars: list[str], offsets: list[int]) -> None:
    escaped = False
    for at, char in enumerate(code):
        if char == "\\" and not escaped:
            escaped = True
            continue
        chars.append(char)
        offsets.append(base + at - escaped)
        escaped = False


def _field(pair: re.Match[str], text: str, offsets: list[int] | None) -> Field:
    quoted = pair[3] is not None
    value = pair[3] if quoted else pair[4]
    key_at, value_at, end = pair.start(1), pair.start(3) - 1 if quoted else pair.start(4), pair.end()
    if offsets is not None:
        last = offsets[end - 1]
        key_at, value_at, end = offsets[key_at], offsets[value_at], last + (2 if text[last] == "\\" else 1)
    return Field(pair[1], value, pair[2], key_at, value_at, end)


def _sets(line: Line, wanted: str) -> bool:
    return line.kind is LineKind.SETTING and line.fields[0].key.lower() == wanted
