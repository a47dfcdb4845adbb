"""The web's side: one question to a terminal worker, and its answer."""

import asyncio
import hashlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager

from django.conf import settings

from console.errors import Unavailable
from slurm.files.errors import Interrupted, as_said
from slurm.files.wire import PIECE, Part, frame, message, next_frame
from slurm.terminal import reach
from slurm.terminal.registry import Registry
from slurm.terminal.wire import fields

CONNECT_S = 3.0
# Longer than a worker's own patience with the login node; a checksum of a large file takes its time.
ANSWER_S = 300.0
Order = Mapping[str, Mapping[str, object]]


async def ask(order: Order, what: str, data: bytes = b"", **more: object) -> dict[str, object]:
    """The answer whole. `order` is `slurm.terminal.opening.order`'s; `data` follows the question of a `write`.

    Raises what the worker met, Interrupted when it went away, Unavailable when there is none.
    """
    async with _asked(order, what, more) as (reader, writer):
        for at in range(0, len(data), PIECE):
            writer.write(frame(Part.PIECE, data[at : at + PIECE]))
            await writer.drain()
        if what == "write":
            writer.write(frame(Part.END))
        document = b""
        async for part, payload in _frames(reader):
            if part is Part.ANSWER:
                return {**fields(payload), **(json.loads(document) if document else {})}
            document += payload
    raise _gone()


async def stream(order: Order, path: str, offset: int, length: int | None) -> AsyncGenerator[bytes, None]:
    """The bytes of a file, as fast as they are taken. Raises as `ask` does, in the midst too."""
    more = {"path": path, "offset": offset, "length": length}
    async with _asked(order, "read", more) as (reader, _):
        async for part, payload in _frames(reader):
            if part is Part.ANSWER:
                return
            yield payload
    raise _gone()


@asynccontextmanager
async def _asked(
    order: Order, what: str, more: Mapping[str, object]
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await _worker(str(order["owner"]["user"]))
    try:
        writer.write(message(Part.ASK, what=what, **order, **more))
        yield reader, writer
    except (ConnectionError, TimeoutError) as error:
        raise _gone() from error
    finally:
        writer.close()


async def _frames(reader: asyncio.StreamReader) -> AsyncIterator[tuple[Part, bytes]]:
    while found := await asyncio.wait_for(next_frame(reader), ANSWER_S):
        if found[0] is Part.REFUSED:
            said = fields(found[1])
            raise as_said(str(said["code"]), str(said["sentence"]), str(said["hint"]))
        yield found


async def _worker(user: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """The same worker for the same person as long as the same ones live: it has their connections."""
    async with Registry(settings.REDIS_URL) as registry:
        workers = await registry.workers()
    for address in sorted(workers, key=lambda one: hashlib.sha256(f"{one} {user}".encode()).digest()):
        try:
            return await reach.connect(reach.beside(address), limit=2 * PIECE, within_s=CONNECT_S)
        except (OSError, TimeoutError):
            continue
    raise Unavailable(
        "The terminal service, which moves files too, is not running.",
        "An operator of this console starts it: `make run` does, or `python manage.py terminals`.",
    )


def _gone() -> Interrupted:
    return Interrupted("The terminal service went away in the midst.", "Try again.")
