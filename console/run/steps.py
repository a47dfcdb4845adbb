"""The lines a person reads while the console comes up: each step with what came of it and how long it took.

Only words and time; what the steps do is elsewhere. Used by `deploy/` before any dependency exists, so it needs the
standard library alone. On a terminal the running step is shown and then overwritten; elsewhere one line a step is
printed when it ends, so that a log stays readable.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from console.errors import ConsoleError

NAME_WIDTH = 26
NOTE_WIDTH = 52


class CannotRun(ConsoleError):
    """The console cannot be prepared or started here. `hint` is the one thing to do about it."""

    code = "cannot-run"

    def line(self) -> str:
        """The message and the hint as one line, for the terminal."""
        return f"quarterdeck: {self.message}" + (f": {self.hint}" if self.hint else "")


class Step:
    """One running step; `note` is what its finished line says."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.note = ""


class Steps:
    """Writes the table. Not for threads: one step at a time."""

    def __init__(self, out: TextIO | None = None) -> None:
        self.out = out if out is not None else sys.stdout
        self.is_terminal = self.out.isatty()

    @contextmanager
    def step(self, name: str, began: float | None = None) -> Iterator[Step]:
        """Run the block as a step. The line is written whether it ends well or raises; exceptions pass through.

        `began` (monotonic) is when the work began, where that was before the block.
        """
        step, began = Step(name), began if began is not None else time.monotonic()
        if self.is_terminal:
            self._write(f"  {name:<{NAME_WIDTH}} ...")
        try:
            yield step
        except BaseException:
            self._finish(step, "failed", began)
            raise
        self._finish(step, step.note or "done", began)

    def say(self, text: str = "") -> None:
        """One line of its own."""
        self._write(text + "\n")

    def event(self, text: str) -> None:
        """One line about something that happened while the console runs, with the local time."""
        self.say(f"{time.strftime('%H:%M:%S')}  {text}")

    def _finish(self, step: Step, note: str, began: float) -> None:
        lead = "\r\x1b[2K" if self.is_terminal else ""
        seconds = time.monotonic() - began
        self._write(f"{lead}  {step.name:<{NAME_WIDTH}} {note:<{NOTE_WIDTH}} {seconds:6.1f} s\n")

    def _write(self, text: str) -> None:
        self.out.write(text)
        self.out.flush()
