"""What the worker sends to one consumer: what comes within a turn of the event loop leaves together.

A login node's output comes in many small packets, several at once. A system call for each, and a consumer woken by
each, is what a busy terminal costs most. The first of a turn leaves at once, so that an echoed key waits for nothing.
"""

import asyncio

# Sent at once when more has gathered: the transport, which knows when its reader is slow, hears of it in time.
MOST = 64 * 1024


class Outbox:
    """Belongs to the running event loop."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._gathered: list[bytes] = []
        self._size = 0
        self._gathers = False

    def send(self, data: bytes) -> None:
        if not self._gathers:
            self._gathers = True
            self._transport.write(data)
            asyncio.get_running_loop().call_soon(self._turn_ends)
            return
        self._gathered.append(data)
        self._size += len(data)
        if self._size >= MOST:
            self.flush()

    def flush(self) -> None:
        """Hand everything to the transport, which may be closing."""
        if self._gathered:
            self._transport.write(b"".join(self._gathered))
            self._gathered.clear()
            self._size = 0

    def _turn_ends(self) -> None:
        self._gathers = False
        self.flush()
