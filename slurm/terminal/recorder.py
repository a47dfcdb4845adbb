"""Writing recordings to their folder: sealed, bounded in memory, in each file and in all, and never in the event loop's
way. What is lost when the worker is killed is the last quarter of a second.

A terminal that must be recorded and cannot be is not opened, or ended: nobody is let go on unrecorded by a full disk.
"""

import asyncio
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from console.errors import Unavailable
from console.sealed_stream import MAGIC, Sealer, make_key
from slurm.terminal.cast import Cast

ENDING = ".cast.sealed"
FLUSH_S = 0.25
# More than this waiting for the disk stops the reading of the shell.
MOST_WAITING = 1 << 20
CUT = "The recording ends here: it reached its size. The terminal went on."


class NoRecording(Unavailable):
    code = "no-recording"


@dataclass(frozen=True)
class Begun:
    """A recording that is being written; without its key nobody reads what is in the file."""

    name: str
    key: bytes = field(repr=False)


@dataclass(frozen=True)
class Recorded:
    """What became of a recording: its size is of what it holds, a little less than its file's. `cut` means that it
    reached its size before the terminal ended."""

    name: str
    seconds: int
    bytes: int
    cut: bool


class Store:
    """The folder of recordings. One thread writes, so that pieces keep their order."""

    def __init__(self, folder: Path, most_each: int, most_all: int) -> None:
        self.folder = folder
        self.most_each = most_each
        self.most_all = most_all
        self.thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="recordings")

    async def begin(self, name: str, columns: int, rows: int) -> "Recorder":
        """A new file of this name. Raises NoRecording when the folder is full or cannot be written."""
        loop = asyncio.get_running_loop()
        cast = Cast(loop.time())
        try:
            file = await loop.run_in_executor(self.thread, self._create, name)
        except OSError as error:
            raise NoRecording(
                f"This team records terminals, and the recording cannot be begun: {error.strerror or error}.",
                "An operator of this console makes room in its folder of recordings, or mends it.",
            ) from error
        recorder = Recorder(self, Begun(name, make_key()), file, cast)
        recorder.write(cast.header(columns, rows, int(time.time())))
        return recorder

    def _create(self, name: str) -> int:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        taken = sum(entry.stat().st_size for entry in os.scandir(self.folder))
        if taken + self.most_each > self.most_all:
            raise OSError(28, "the folder of recordings is full")
        file = os.open(self.folder / f"{name}{ENDING}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.write(file, MAGIC)
        return file


class Recorder:
    """One recording that is being written. `drained` is told when `full` has passed, `broken` when writing failed."""

    def __init__(self, store: Store, begun: Begun, file: int, cast: Cast) -> None:
        self.begun = begun
        self.bytes = 0
        self.cut = False
        self.drained: Callable[[], None] = lambda: None
        self.broken: Callable[[], None] = lambda: None
        self._store = store
        self._file = file
        self._sealer = Sealer(begun.key)
        self._cast = cast
        self._waiting = bytearray()
        self._writing: asyncio.Future[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._failed = False

    @property
    def full(self) -> bool:
        return len(self._waiting) > MOST_WAITING

    def printed(self, data: bytes) -> None:
        self.write(self._cast.output(data, self._loop.time()))

    def resized(self, columns: int, rows: int) -> None:
        self.write(self._cast.resize(columns, rows, self._loop.time()))

    def write(self, line: bytes) -> None:
        if self.cut or self._failed or not line:
            return
        if self.bytes + len(line) > self._store.most_each:
            self.cut = True
            line = self._cast.marker(CUT, self._loop.time())
        self.bytes += len(line)
        self._waiting += line
        if self._writing is None:
            self._writing = self._loop.create_future()
            self._loop.call_later(FLUSH_S, self._flush)

    async def close(self, status: int | None) -> Recorded:
        """What waits is written; then the file is closed."""
        if status is not None:
            self.write(self._cast.exit(status, self._loop.time()))
        while self._writing is not None:
            await self._writing
        seconds = round(self._loop.time() - self._cast.began)
        await self._loop.run_in_executor(self._store.thread, os.close, self._file)
        return Recorded(self.begun.name, seconds, self.bytes, self.cut)

    def _flush(self) -> None:
        piece, self._waiting = bytes(self._waiting), bytearray()
        writing = self._loop.run_in_executor(self._store.thread, self._write, piece)
        writing.add_done_callback(self._flushed)

    def _flushed(self, writing: "asyncio.Future[None]") -> None:
        done, self._writing = self._writing, None
        if writing.exception() is not None and not self._failed:
            self._failed = True
            self._waiting.clear()
            self.broken()
        elif self._waiting:
            self._writing = self._loop.create_future()
            self._flush()
        if done:
            done.set_result(None)
        self.drained()

    def _write(self, piece: bytes) -> None:
        """In the store's thread."""
        view = memoryview(self._sealer.seal(piece))
        while view:
            view = view[os.write(self._file, view) :]
