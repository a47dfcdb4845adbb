"""One value against its row of the catalogue: the right type, within range, one of the allowed words.

Pure; called by `checks.conf` and its parts. Says what is wrong with the value and what would be right; where it stands
and who wrote it are the caller's.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache

from slurm.parameters import Kind, Parameter, Word
from slurm.parameters.patterns import SHAPES
from slurm.times import DurationError, parse_time

_NUMBER = re.compile(r"0|[1-9][0-9]{0,19}|0[xX][0-9a-fA-F]{1,16}")
_NO_LIMIT = frozenset({"unlimited", "infinite"})
_PARSER_BOUNDS = frozenset({None, 65_535, 4_294_967_295})
_BOOLEANS = frozenset({"yes", "no", "true", "false", "up", "down", "1", "0"})
_LISTED = 12


@dataclass(frozen=True, slots=True)
class Complaint:
    """What is wrong, without the key's name (“abc” is not a whole number), and what to write instead."""

    text: str
    hint: str = ""
    blocking: bool = True


@lru_cache(maxsize=8192)
def complaints(parameter: Parameter, value: str, version: str) -> tuple[Complaint, ...]:
    """Everything wrong with the value; empty if Slurm of this version takes it. Memoised: files repeat themselves."""
    if parameter.kind in (Kind.CHOICES, Kind.OPTIONS):
        found = [_word(parameter, item.strip(), version) for item in value.split(",") if item.strip()]
    else:
        found = [_BY_KIND[parameter.kind](parameter, value, version)]
    return tuple(one for one in found if one)


def near(word: str, known: Iterable[str]) -> str | None:
    """The known word most like this one, case left aside."""
    spellings = {one.lower(): one for one in known}
    found = get_close_matches(word.lower(), spellings, n=1, cutoff=0.7)
    return spellings[found[0]] if found else None


def listed(words: Iterable[str]) -> str:
    """`a, b or c`; of many, the first and how many more."""
    names = list(words)
    if len(names) > _LISTED:
        return ", ".join(names[:_LISTED]) + f" and {len(names) - _LISTED} more"
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " or " + names[-1]


def _number(parameter: Parameter, value: str, version: str) -> Complaint | None:
    if any(value.lower() == word.name.lower() for word in parameter.words_in(version)):
        return None
    low = parameter.low or 0
    if value.lower() in _NO_LIMIT and parameter.high in _PARSER_BOUNDS:
        return None
    if not _NUMBER.fullmatch(value):
        return Complaint(f"“{value}” is not a whole number", _range_hint(parameter))
    number = int(value, 0)
    if number < low or (parameter.high is not None and number > parameter.high):
        return Complaint(f"{value} is out of range", _range_hint(parameter))
    return None


def _range_hint(parameter: Parameter) -> str:
    unit = f", in {parameter.unit}" if parameter.unit else ""
    low = parameter.low or 0
    upper = f"from {low} to {parameter.high}" if parameter.high is not None else f"of at least {low}"
    words = "".join(f", or {word.name}" for word in parameter.words)
    return f"Write a whole number {upper}{unit}{words}."


def _size(parameter: Parameter, value: str, version: str) -> Complaint | None:
    plain = value[:-1] if value[-1:] in ("k", "K") else value
    return _number(parameter, plain, version) and _number(parameter, value, version)


def _boolean(parameter: Parameter, value: str, version: str) -> Complaint | None:
    if value.lower() in _BOOLEANS:
        return None
    return Complaint(f"“{value}” is neither yes nor no", "Write YES or NO.")


def _duration(parameter: Parameter, value: str, version: str) -> Complaint | None:
    try:
        minutes = parse_time(value)
    except DurationError as error:
        text, _, hint = str(error).partition(": ")
        return Complaint(text, hint[:1].upper() + hint[1:] + "." if hint else "")
    if parameter.low and (minutes is None or minutes < parameter.low):
        return Complaint(f"“{value}” is not allowed", f"Write a time of at least {parameter.low} minutes.")
    return None


def _word(parameter: Parameter, item: str, version: str) -> Complaint | None:
    name, _, given = item.partition("=")
    word = _find_word(parameter.words, name, parameter.kind)
    if word is None:
        return _unknown_word(parameter, name, version)
    if not word.known_in(version):
        text = f"“{name}” {_when(word.since, word.until)}; this cluster runs {version}"
        return Complaint(text, "Take it out.", not parameter.is_open)
    return _word_value(word, item, given)


@lru_cache(maxsize=2048)
def _find_word(words: tuple[Word, ...], name: str, kind: Kind) -> Word | None:
    """Words are the same in any case, names of plugins (`select/linear`) only as written."""
    for word in words:
        if word.name == name or ("/" not in word.name and word.name.lower() == name.lower()):
            return word
    return None


def _unknown_word(parameter: Parameter, name: str, version: str) -> Complaint | None:
    known = [word.shown for word in parameter.words_in(version)]
    if not known:
        return None
    what = "an option" if parameter.kind is Kind.OPTIONS else "a value"
    guess = near(name, known)
    hint = f"Did you mean {guess}?" if guess else f"Known: {listed(known)}."
    return Complaint(f"“{name}” is not {what} that Slurm {version} knows", hint, not parameter.is_open)


def _when(since: str | None, until: str | None) -> str:
    if since and until:
        return f"exists only from Slurm {since} to {until}"
    return f"exists only from Slurm {since} on" if since else f"was last known to Slurm {until}"


def _word_value(word: Word, item: str, given: str) -> Complaint | None:
    has_value = "=" in item
    if not word.form:
        return Complaint(f"{word.name} takes no value", f"Write {word.name}.") if has_value else None
    if not has_value:
        return (
            None
            if word.optional
            else Complaint(f"{word.name} needs a value", f"Write {word.name}={_sample(word)}.")
        )
    if word.form == "*":
        return None if given else Complaint(f"{word.name}= has no value after it")
    if word.form != "#":
        choices = word.form.split("|")
        fits = given.lower() in [choice.lower() for choice in choices]
        return (
            None if fits else Complaint(f"“{given}” is no value of {word.name}", f"Write {listed(choices)}.")
        )
    return _word_number(word, given)


def _word_number(word: Word, given: str) -> Complaint | None:
    low = 0 if word.low is None else word.low
    bounds = f"from {low} to {word.high}" if word.high is not None else f"of at least {low}"
    hint = f"Write a whole number {bounds}."
    if not re.fullmatch(r"-?[0-9]{1,18}", given):
        return Complaint(f"{word.name}: “{given}” is not a whole number", hint)
    if int(given) < low or (word.high is not None and int(given) > word.high):
        return Complaint(f"{word.name}={given} is out of range", hint)
    return None


def _sample(word: Word) -> str:
    if word.form == "#":
        return str(max(word.low or 1, 1))
    return "..." if word.form == "*" else word.form.split("|")[0]


def _text(parameter: Parameter, value: str, version: str) -> Complaint | None:
    if not parameter.pattern or not value or re.fullmatch(parameter.pattern, value, re.IGNORECASE):
        return None
    return Complaint(f"“{value}” is not {SHAPES[parameter.pattern]}", parameter.help)


_BY_KIND: dict[Kind, Callable[[Parameter, str, str], Complaint | None]] = {
    Kind.INT: _number,
    Kind.SIZE: _size,
    Kind.BOOL: _boolean,
    Kind.DURATION: _duration,
    Kind.CHOICE: _word,
    Kind.TEXT: _text,
    Kind.PATH: _text,
    Kind.HOSTS: _text,
    Kind.LIST: _text,
}
