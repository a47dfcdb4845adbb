"""A daemon's log in the form in which a kubelet keeps a container's: what kwok serves as `pods/log`."""

from datetime import UTC, datetime
from pathlib import Path

# Enough for the last lines of a crash; a page never asks for more.
MOST_BYTES = 2**20


class ContainerLog:
    """Copies what was added to `source` since the last call, line by line with a time (CRI's logging format)."""

    def __init__(self, source: Path, copy: Path) -> None:
        self.source = source
        self.copy = copy
        self._read = 0

    def catch_up(self) -> None:
        if not self.source.exists():
            return
        self.copy.touch()
        if self.source.stat().st_size < self._read:
            self._read = 0
        with self.source.open("rb") as file:
            file.seek(self._read)
            whole, _, rest = file.read(MOST_BYTES).rpartition(b"\n")
            self._read = file.tell() - len(rest)
        if not whole:
            return
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f") + "000Z"
        head = f"{now} stdout F ".encode()
        with self.copy.open("ab") as out:
            out.write(b"".join(head + line + b"\n" for line in whole.split(b"\n")))
