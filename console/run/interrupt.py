"""Being asked to stop, noticed only where the supervisor waits.

A signal never interrupts in the middle of an act (between starting a child and writing it down, say): it sets a
mark, and the next `pause` raises. One process has one of these.
"""

import contextlib
import os
import select
import signal
from types import FrameType


class StopAsked(Exception):
    """Somebody pressed Ctrl-C, or sent TERM or HUP."""


class Interrupt:
    """`asked` once somebody wants a stop; `hurry` when asked again. `stopping` turns `pause` into a plain wait."""

    def __init__(self) -> None:
        self.asked = False
        self.hurry = False
        self.stopping = False
        self._reader, self._writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def listen(self) -> None:
        """Take over the signals of this process. A child that ends wakes `pause` too."""
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(signum, self._ask)
        signal.signal(signal.SIGCHLD, lambda signum, frame: None)

    def pause(self, seconds: float) -> None:
        """Wait, less when a child ends or a signal comes. Raises `StopAsked` when a stop was asked for."""
        self._check()
        select.select([self._reader], [], [], seconds)
        with contextlib.suppress(BlockingIOError):
            os.read(self._reader, 4096)
        self._check()

    def _check(self) -> None:
        if self.asked and not self.stopping:
            raise StopAsked

    def _ask(self, signum: int, frame: FrameType | None) -> None:
        self.hurry = self.asked
        self.asked = True
