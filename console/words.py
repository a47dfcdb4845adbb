"""Words for numbers and statuses, as the pages say them. Pure; used by template tags and by sentences in Python."""

import re

# What each status word means for its colour and shape. Clusters, changes, nodes, parts and jobs share one table:
# the same word never means two things on screen.
_TONES = {
    "ok": "running ready up ok committed completed applied done",
    "busy": (
        "creating proposed checking applying observing starting allocated mixed completing busy active "
        "configuring"
    ),
    "warn": (
        "terminating deleting rolling-back rejected refused draining drained drain failing maint reboot suspended "
        "timeout preempted warn stale held deadline asking"
    ),
    "bad": "failed notready stuck rolled-back down fail inval error bad node_fail out_of_memory boot_fail never",
    "idle": (
        "idle terminated deleted unknown absent pending waiting cancelled stopped reserved planned future scheduled"
    ),
}
TONES = {word: tone for tone, words in _TONES.items() for word in words.split()}
MOVING = frozenset(
    {"Creating", "Terminating", "Deleting", "checking", "applying", "observing", "rolling back"}
)


def tone(word: str) -> str:
    """The tone of a status word; Slurm's suffixes (`idle*`) and case do not matter. Unknown words are idle."""
    plain = word.strip().lower().replace(" ", "-")
    if plain.endswith("*"):
        return "bad"
    return TONES.get(plain.rstrip("~#%!^@$+-"), "idle")


def duration(seconds: float | None) -> str:
    """`41 s`, `3 h 12 m`, `6 d 2 h`: two units at most."""
    if seconds is None:
        return ""
    left = max(0, int(seconds))
    if left < 60:
        return f"{left} s"
    if left < 3600:
        return f"{left // 60} min"
    if left < 86_400:
        return f"{left // 3600} h" + (f" {left % 3600 // 60} m" if left % 3600 >= 60 else "")
    return f"{left // 86_400} d" + (f" {left % 86_400 // 3600} h" if left % 86_400 >= 3600 else "")


def ago(seconds: float) -> str:
    """`just now`, `4 min ago`, `in 12 min`."""
    if abs(seconds) < 2:
        return "just now"
    return f"{duration(seconds)} ago" if seconds > 0 else f"in {duration(-seconds)}"


def memory(mib: int | None) -> str:
    """`512 MiB`, `256 GiB`, `2.0 TiB`."""
    if mib is None:
        return ""
    divisor, unit = _unit(mib)
    return f"{_number(mib / divisor)} {unit}"


def size(count: int) -> str:
    """Bytes: `812 B`, `3.4 KiB`, `50 MiB`."""
    if count < 1024:
        return f"{count} B"
    power = min((count.bit_length() - 1) // 10, 5)
    return f"{_number(count / 1024**power)} {'KMGTP'[power - 1]}iB"


def memory_of(used: int, total: int) -> str:
    """`0.4 / 2.0 TiB`: both in the unit of the total."""
    divisor, unit = _unit(total)
    return f"{_number(used / divisor)} / {_number(total / divisor)} {unit}"


def _unit(mib: int) -> tuple[int, str]:
    if mib >= 1024 * 1024:
        return 1024 * 1024, "TiB"
    return (1024, "GiB") if mib >= 1024 else (1, "MiB")


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"


_SIGNED = re.compile(r"(.*\S) \(by ([\w.@+-]+)\)")


def signed_reason(reason: str, by: str) -> tuple[str, str]:
    """A reason's text and who gave it. Slurm names the account that the console acts as; the person is in the text."""
    found = _SIGNED.fullmatch(reason)
    return (found[1], found[2]) if found else (reason, by)


def count(number: int, one: str, many: str = "") -> str:
    """`1 job`, `3 jobs`."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def listed(items: list[str], most: int = 5) -> str:
    """`a, b and c`; past `most`, `a, b and 7 more`."""
    return _joined(items, "and", most)


def either(items: list[str], most: int = 5) -> str:
    """`a, b or c`; past `most`, `a, b or 7 more`."""
    return _joined(items, "or", most)


def _joined(items: list[str], word: str, most: int) -> str:
    if len(items) > most:
        items = [*items[: most - 1], f"{len(items) - most + 1} more"]
    return f" {word} ".join([", ".join(items[:-1]), items[-1]]) if len(items) > 1 else "".join(items)
