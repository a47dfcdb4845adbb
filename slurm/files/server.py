"""The worker's side: answers what the web asks about files. Runs in `manage.py terminals`, beside the terminals.

Access is as to the terminals; who gets through has asked for the person's right before.
"""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from console.errors import ConsoleError
from slurm.files.entries import read, written
from slurm.files.pool import Pool
from slurm.files.sftp import Sftp
from slurm.files.wire import PIECE, Part, frame, message, next_frame
from slurm.terminal import reach
from slurm.terminal.session import Owner
from slurm.terminal.ssh import Target
from slurm.terminal.wire import Garbled, fields

log = logging.getLogger(__name__)
Asked = Mapping[str, object]
# What a side that neither reads nor sends may hold up.
SILENCE_S = 60.0


class FileServer:
    """`start`, then `close`. `address` is as `slurm.terminal.reach` has it."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._pool = Pool()
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        self._server = await reach.listen(self.address, self._protocol)

    async def close(self) -> None:
        """Whoever waits for an answer is cut off."""
        if self._server:
            reach.leave(self._server, self.address)
        for task in self._serving:
            task.cancel()
        self._pool.close()

    def _protocol(self) -> asyncio.Protocol:
        return asyncio.StreamReaderProtocol(asyncio.StreamReader(limit=2 * PIECE), self._serve)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        writer.transport.set_write_buffer_limits(high=PIECE)
        try:
            await self._answered(reader, writer)
        except (Garbled, KeyError, TypeError, ValueError) as error:
            log.warning("a question about files was cut off: %s", error)
            writer.transport.abort()
        except (ConnectionError, TimeoutError):
            writer.transport.abort()
        finally:
            self._serving.discard(task)
            writer.close()

    async def _answered(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        found = await asyncio.wait_for(next_frame(reader), SILENCE_S)
        if found is None:
            return
        part, payload = found
        if part is not Part.ASK:
            raise Garbled("A question was expected.")
        asked = fields(payload)
        owner = Owner(**asked["owner"])  # type: ignore[arg-type]
        target = Target(**asked["target"])  # type: ignore[arg-type]
        sent = Sent(reader, is_over=asked["what"] != "write")
        try:
            async with self._pool.sftp(owner.user, owner.cluster, target) as sftp:
                await _answer(sftp, asked, sent, writer)
        except ConsoleError as error:
            if isinstance(error, Garbled):
                raise
            await sent.skip()
            writer.write(message(Part.REFUSED, code=error.code, sentence=error.message, hint=error.hint))
            await _drained(writer)


class Sent:
    """What the web sends after a `write`. One that breaks off leaves what has arrived."""

    def __init__(self, reader: asyncio.StreamReader, *, is_over: bool) -> None:
        self._reader = reader
        self._is_over = is_over

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        while not self._is_over:
            found = await asyncio.wait_for(next_frame(self._reader), SILENCE_S)
            self._is_over = found is None or found[0] is Part.END
            if found and not self._is_over:
                yield found[1]

    async def skip(self) -> None:
        """Take the rest, so that the sender comes to read why it was refused."""
        async for _ in self.pieces():
            pass


async def _answer(sftp: Sftp, asked: Asked, sent: Sent, writer: asyncio.StreamWriter) -> None:
    path = read(asked.get("path", ""))
    said: dict[str, object] = {}
    match asked["what"]:
        case "home":
            said = {"path": written(await sftp.home())}
        case "folder":
            document = json.dumps((await sftp.folder(path)).to_wire()).encode()
            for at in range(0, len(document), PIECE):
                await _send(writer, document[at : at + PIECE])
        case "entry":
            said = {"entry": (await sftp.entry(path)).to_wire()}
        case "read":
            length = None if asked["length"] is None else number(asked["length"])
            async with aclosing(sftp.pieces(path, number(asked["offset"]), length)) as pieces:
                async for data in pieces:
                    await _send(writer, data)
        case "begin":
            size, replace = number(asked["size"]), bool(asked["replace"])
            said = {"offset": await sftp.begin(path, str(asked["upload"]), size, replace=replace)}
        case "write":
            offset = number(asked["offset"])
            said = {"offset": await sftp.write(path, str(asked["upload"]), offset, sent.pieces())}
        case "finish":
            size, sha256, replace = number(asked["size"]), str(asked["sha256"]), bool(asked["replace"])
            entry = await sftp.finish(path, str(asked["upload"]), size, sha256, replace=replace)
            said = {"entry": entry.to_wire()}
        case "abandon":
            await sftp.abandon(path, str(asked["upload"]))
        case "rename":
            said = {"entry": (await sftp.rename(path, read(asked["to"]))).to_wire()}
        case "make-folder":
            said = {"entry": (await sftp.make_folder(path)).to_wire()}
        case "remove":
            said = {"count": await sftp.remove(path, recursive=bool(asked["recursive"]))}
        case unknown:
            raise Garbled(f"{unknown!r} is no question about files.")
    writer.write(message(Part.ANSWER, **said))
    await _drained(writer)


async def _send(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(frame(Part.BYTES, data))
    await _drained(writer)


async def _drained(writer: asyncio.StreamWriter) -> None:
    """A reader that is slow is waited for, one that has stopped is not: its place belongs to others."""
    await asyncio.wait_for(writer.drain(), SILENCE_S)


def number(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise Garbled("A number was expected.")
    return value
