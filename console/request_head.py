"""The web server's connections, each with a time and a size for the head of a request (`uvicorn --http`).

uvicorn has neither: whoever sends a head's bytes slowly, or without end, holds a connection or the memory for as long
as they like. Its `--limit-concurrency` is no cure, as it counts such connections, too, and then refuses everybody.
Where many addresses do it at once the proxy in front has to help.
"""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_S = 10.0
HEAD_BYTES = 64 * 1024
# Of one address: beyond so many unfinished heads those that had this long already are given up.
MOST_UNFINISHED = 100
SHORT_S = 2.0

# Unfinished heads by address, the oldest first. One process has one event loop.
_unfinished: dict[str, dict["BoundedHead", float]] = {}


class BoundedHead(HttpToolsProtocol):
    """Closes what does not say within `HEAD_S` and `HEAD_BYTES` what it wants, a connection's first request and later
    ones alike. uvicorn itself closes connections that say nothing between two requests."""

    _timer: asyncio.TimerHandle | None = None
    _got = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._begin()

    def connection_lost(self, exc: Exception | None) -> None:
        self._finish()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._timer is None and (self.cycle is None or self.cycle.response_complete):
            self._begin()
        self._got += len(data)
        super().data_received(data)
        if self._timer and self._got > HEAD_BYTES and not self.transport.is_closing():
            self._give_up(b"431 Request Header Fields Too Large")

    def on_message_begin(self) -> None:
        self._begin()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._finish()
        super().on_headers_complete()

    def _begin(self) -> None:
        if self._timer is None:
            self._got = 0
            self._timer = self.loop.call_later(HEAD_S, self._give_up, b"408 Request Timeout")
            theirs = _unfinished.setdefault(self._address, {})
            theirs[self] = self.loop.time()
            if len(theirs) > MOST_UNFINISHED:
                self._make_room(theirs)

    def _make_room(self, theirs: "dict[BoundedHead, float]") -> None:
        for oldest, since in list(theirs.items())[:-MOST_UNFINISHED]:
            if self.loop.time() - since >= SHORT_S:
                oldest._give_up(b"408 Request Timeout")

    def _finish(self) -> None:
        if self._timer is None:
            return
        self._timer.cancel()
        self._timer = None
        theirs = _unfinished.get(self._address, {})
        theirs.pop(self, None)
        if not theirs:
            _unfinished.pop(self._address, None)

    def _give_up(self, status: bytes) -> None:
        """To a connection that said nothing yet nothing is answered: a browser keeps such ones in store."""
        self._finish()
        if self._got:
            self.transport.write(b"HTTP/1.1 %b\r\nconnection: close\r\ncontent-length: 0\r\n\r\n" % status)
        self.transport.close()

    @property
    def _address(self) -> str:
        return self.client[0] if self.client else ""


def unfinished() -> dict[str, int]:
    """How many heads of each address are unfinished now."""
    return {address: len(theirs) for address, theirs in _unfinished.items()}
