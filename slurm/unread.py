"""The note on a file that no shadow controller could read before it is applied: one wording for all adapters. Pure."""

from collections.abc import Iterable

from console.errors import Problem

_NOBODY = "No shadow controller read the file"
_THEN = "The real controller is the first to read it; if it does not live with it, the change is rolled back."


def unread(why: str) -> Problem:
    """`why` is the rest of a sentence, without its full stop. Does not block."""
    return Problem("slurm_conf", f"{_NOBODY}: {why}.", _THEN, blocking=False)


def was_read(problems: Iterable[Problem]) -> bool:
    return not any(problem.message.startswith(_NOBODY) for problem in problems)
