"""The logs of the supervised processes: kept small, and their errors shown on the console's own terminal.

The processes append to their files themselves. Here the files are only looked at: what is new since the last look,
and whether one has grown too large.
"""

import re
import shutil
import time
from pathlib import Path

LARGEST_BYTES = 8 * 1024 * 1024
SHOWN_PER_LOOK = 5
QUIET_S = 5.0
LINE_CHARS = 200
IMPORTANT = re.compile(r"\b(ERROR|CRITICAL|FATAL|PANIC)\b")
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class LogView:
    """Follows one log from its present end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.offset = path.stat().st_size if path.exists() else 0
        self.quiet_until = 0.0

    def important_lines(self) -> list[str]:
        """The errors written since the last answer, at most five in five seconds, cut to a terminal's width and
        free of control characters.
        """
        size = self.path.stat().st_size if self.path.exists() else 0
        if size == self.offset or time.monotonic() < self.quiet_until:
            return []
        with self.path.open("rb") as file:
            file.seek(self.offset if size > self.offset else 0)
            text = file.read(1024 * 1024).decode(errors="replace")
        self.offset = size
        found = [CONTROL.sub(" ", line)[:LINE_CHARS] for line in text.splitlines() if IMPORTANT.search(line)]
        self.quiet_until = time.monotonic() + (QUIET_S if found else 0)
        more = len(found) - SHOWN_PER_LOOK
        return [*found[:SHOWN_PER_LOOK], f"and {more} more in {self.path}"] if more > 0 else found

    def rotate(self) -> None:
        """Move the text of a large log to NAME.log.1. The writer appends, so it goes on at the start of the emptied
        file.
        """
        if self.path.exists() and self.path.stat().st_size > LARGEST_BYTES:
            shutil.copyfile(self.path, self.path.with_suffix(".log.1"))
            with self.path.open("r+b") as file:
                file.truncate(0)
            self.offset = 0
