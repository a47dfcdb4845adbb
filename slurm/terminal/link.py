"""The consumer's end: a connection to the worker that has the session, or to one that will open it.

Reading is the back-pressure: who does not call `read` fills the socket, and the worker stops reading the shell.
"""

import asyncio
from collections.abc import Sequence

from console.errors import ConsoleError, Unavailable
from slurm.terminal import reach
from slurm.terminal.audience import NOT_SHARED
from slurm.terminal.registry import Registry
from slurm.terminal.wire import Decoder, Kind

PIECE = 64 * 1024
CONNECT_S = 3.0


class Link:
    """An open connection. `read` answers with frames in order, OUTPUT frames that arrived together made one."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._decoder = Decoder()

    def send(self, data: bytes) -> None:
        """Never blocks. What is under way is bounded by the credit for input (`wire.WINDOW`)."""
        if not self._writer.is_closing():
            self._writer.write(data)

    async def read(self) -> list[tuple[Kind, bytes]]:
        """At least one frame, or none when the worker has closed. Raises Garbled."""
        while True:
            try:
                data = await self._reader.read(PIECE)
            except ConnectionError:
                return []
            if not data:
                return []
            frames = self._decoder.feed(data)
            if frames:
                return joined(frames)

    def close(self) -> None:
        """What was sent still arrives."""
        self._writer.close()


class Gone(ConsoleError):
    """The terminal that the page remembers is no more."""

    code = "gone"
    status = 410


async def worker_of(registry: Registry, session: str, user: int, cluster: str) -> Link:
    """A link to the worker that holds `session`. Raises Gone when there is none such of this person and cluster."""
    place = await registry.place(session)
    if place is not None and (place.user, place.cluster) == (user, cluster):
        link = await _connect(place.address)
        if link:
            return link
    why = await registry.ending(session, user, cluster)
    raise Gone(f"The earlier terminal has ended. {why or 'Its service was stopped or cut off.'}")


async def worker_sharing(registry: Registry, token: str, cluster: str) -> Link:
    """A link to the worker whose terminal is shared by this token. Raises Gone when there is none on this cluster."""
    place = await registry.shared(token)
    link = await _connect(place.address) if place is not None and place.cluster == cluster else None
    if link is None:
        raise Gone(NOT_SHARED)
    return link


async def any_worker(registry: Registry) -> Link:
    """A link to a worker that lives. Raises Unavailable when none does."""
    for address in await registry.workers():
        link = await _connect(address)
        if link:
            return link
    raise Unavailable(
        "The terminal service is not running.",
        "An operator of this console starts it: `make run` does, or `python manage.py terminals`.",
    )


async def _connect(address: str) -> Link | None:
    try:
        return Link(*await reach.connect(address, limit=2 * PIECE, within_s=CONNECT_S))
    except (OSError, TimeoutError):
        return None


def joined(frames: Sequence[tuple[Kind, bytes]]) -> list[tuple[Kind, bytes]]:
    """Neighbouring OUTPUT frames as one, so that the browser gets one message for many small ones."""
    found: list[tuple[Kind, list[bytes]]] = []
    for kind, payload in frames:
        if found and kind == Kind.OUTPUT == found[-1][0]:
            found[-1][1].append(payload)
        else:
            found.append((kind, [payload]))
    return [(kind, b"".join(payloads)) for kind, payloads in found]
