"""What a Slurm daemon printed about a configuration, as problems at the lines that caused them.

Pure. Slurm names a line only sometimes (`Parse error in file X line 45`); otherwise the line is found by the words of
the message. The wording is that of Slurm 22.05, 24.11 and 26.05.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol

from console.errors import Problem

# Lines about this machine or the shadow's isolation, not about what was written.
_NOISE = re.compile(
    r"munge|MailProg|PMIx|slurm_set_addr|Unable to (open|read) (state|recover)|Zero Bytes|Could not open .*state|"
    r"No memory enforcing|slurmscriptd|Unable to resolve|slurm_receive|agent|hwloc|NULL|cluster id|state save|"
    r"xcpuinfo|Connection refused|accounting_storage|No Assoc|We are not running with a database|state file|"
    r"You cannot define AccountingStorage|hash_plugin|Job accounting information gathered|collecting accounting|"
    r"slurmdbd is required to run with TRES|slurm_bufs_sendto|load will be required after read failures",
    re.IGNORECASE,
)
_GENERAL = re.compile(r"Unable to process configuration file|error opening/reading", re.IGNORECASE)
# Complaints with which a daemon goes on.
_RUNS = "Slurm runs with this, but not as written."
_ADVICE = re.compile(r"specified more than once|Resetting CPUs|Invalid SchedulerParameters", re.IGNORECASE)
_PREFIX = re.compile(r"^(?:\[[^\]]*\]\s*)?(?:slurm\w*(?:-[\w.-]+)?:\s*)?")
_LEVEL = re.compile(r"^(fatal|error|warning):\s*")
_FUNCTION = re.compile(r"^(?:_[a-z]\w*|[a-z]\w*_[a-z]\w*|cons_tres|select/\w+|accounting_storage/\w+):\s*")
_LINE = re.compile(r'Parse error in file \S*?([\w.]+) line (\d+):?\s*"?\s*([^"]*)"?')
_PLUGIN = re.compile(r"failed to initialize (\w+) plugin")
# A file of another name that a line made Slurm look for, such as topology.conf.
_ABSENT = re.compile(r"cannot stat file \S*?(\w+)\.conf")
_WORD = re.compile(r"[A-Za-z0-9_/][A-Za-z0-9_./\[\],-]*")
_FILLERS = """
a all an and at bad be by can can't config configuration couldn't error file files find for found from has have in
initialize invalid looking name ignored is it key latest line match more names needs no node not number of once or parse
parsing partition plugin process reset resetting specified than the to unable unrecognized used user valid value with
"""
_COMMON = frozenset(_FILLERS.split())


class Ending(Protocol):
    """How a daemon ended that read a configuration: with `code`, or None when it was still running."""

    @property
    def code(self) -> int | None: ...

    @property
    def is_success(self) -> bool: ...

    @property
    def lines(self) -> tuple[str, ...]: ...


def problems_in(ending: Ending, text: str, *, path: str, daemon: str) -> Iterator[Problem]:
    """The problems of one daemon that read `text`; with an ending that is a success they do not block."""
    failed = not ending.is_success
    complaints = [words for words in map(_complaint, ending.lines) if words and not _NOISE.search(words)]
    advice = [words for words in complaints if not failed or _ADVICE.search(words)]
    faults = [words for words in complaints if words not in advice and not _GENERAL.search(words)]
    if failed and not faults:
        faults = [_last_word(ending, daemon)]
    yield from _at_their_lines(faults, text, f"{daemon}: ", Problem(path, "", "", None, True))
    yield from _at_their_lines(advice, text, f"{daemon}: ", Problem(path, "", _RUNS, None, False))


def _at_their_lines(messages: list[str], text: str, prefix: str, kind: Problem) -> Iterator[Problem]:
    """One problem for each line of the file, with what was said about it and just before it."""
    found: dict[int, list[str]] = {}
    before: list[str] = []
    for message in _without_echo(messages):
        line = line_of(message, text)
        before.append(_readable(message))
        if line is not None:
            found.setdefault(line, []).extend(before)
            before = []
    for number, words in found.items():
        yield replace(kind, message=prefix + _first_and_last(words), line=number)
    if before and not found:
        yield replace(kind, message=prefix + _first_and_last(before))


def _first_and_last(words: list[str]) -> str:
    distinct = list(dict.fromkeys(words))
    return "; ".join(distinct if len(distinct) < 3 else [distinct[0], distinct[-1]])


def line_of(message: str, text: str) -> int | None:
    """The 1-based line that a daemon's message is about, or None when no line fits."""
    if match := _LINE.search(message):
        number = int(match[2])
        return number if number <= len(text.splitlines()) else None
    if match := _PLUGIN.search(message):
        return _line_matching(text, re.compile(rf"^\s*{match[1]}\w*Type\s*=", re.IGNORECASE))
    if match := _ABSENT.search(message):
        asking = re.compile(rf"^\s*{match[1].replace('_', '')}\w*\s*=", re.IGNORECASE)
        if (asked := _line_matching(text, asking)) is not None:
            return asked
    words = {word.rstrip(".,") for word in _WORD.findall(message)} - _COMMON
    words = {word for word in words if word.lower() not in _COMMON and len(word) > 1}
    best, best_score = None, 0
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#"):
            continue
        score = _score(words, line)
        if score and score >= best_score:
            best, best_score = number, score
    return best


def _score(words: set[str], line: str) -> int:
    """Two for a key, three for a value; the later of equal lines wins, which is the one Slurm complained about."""
    fields = re.findall(r"([A-Za-z]\w*)\s*=\s*(\S*)", line)
    keys = {key.lower() for key, _ in fields}
    values = {part for _, value in fields for part in re.split(r"[,;|]", value) if part} | {
        v for _, v in fields
    }
    bare = set() if fields else set(line.split())
    # A numbered file is written as a range: /dev/nvidia3 in /dev/nvidia[0-7].
    values |= {word for word in words if word.startswith("/") and f"{word.rstrip('0123456789')}[" in line}
    return sum(2 * (word.lower() in keys) + 3 * (word in values or word in bare) for word in words)


def _line_matching(text: str, pattern: re.Pattern[str]) -> int | None:
    found = [number for number, line in enumerate(text.splitlines(), 1) if pattern.match(line)]
    return found[-1] if found else None


def _complaint(line: str) -> str:
    """`Bad value ...` of a log line, or nothing when it is only information."""
    words = _PREFIX.sub("", line.strip())
    level = _LEVEL.match(words)
    return _FUNCTION.sub("", words[level.end() :]) if level else ""


def _without_echo(messages: list[str]) -> list[str]:
    """Slurm says the same twice: by key, and again as the whole line. The first with its line number is kept."""
    kept: list[str] = []
    for message in messages:
        if match := _LINE.search(message):
            rest = match[3].strip()
            if kept and rest and any(word in kept[-1] for word in _WORD.findall(rest)):
                kept[-1] = f"{kept[-1]}; {message}"
                continue
        if message not in kept:
            kept.append(message)
    return kept


def _readable(message: str) -> str:
    """Without the path of the shadow's own copy, which means nothing to anybody."""
    message = re.sub(r";? ?Parse error in file \S+ line \d+:?\s*(?:\"[^\"]*\")?$", "", message) or message
    message = re.sub(r"/\S*/((?:slurm|gres|cgroup)\.conf)", r"\1", message)
    message = re.sub(r"/etc/slurm[\w-]*/(\w+\.conf)", r"\1", message)
    message = re.sub(r", retrying in \S+ up to \S+$", "", message)
    return re.sub(r"\s+", " ", message).strip()


def _last_word(ending: Ending, daemon: str) -> str:
    last = next((_PREFIX.sub("", line) for line in reversed(ending.lines) if line.strip()), "it said nothing")
    if ending.code is None:
        return f"did not become ready in time; its last words: {last}"
    return f"ended with status {ending.code}: {last}"
