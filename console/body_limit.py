"""A limit on what one request may send, before anything looks at it: Django would keep any body on the disk first."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

Scope = dict[str, Any]
Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

# slurm.conf in its longest form, every character escaped, and room.
MOST_BYTES = 8 * 2**20


class _TooLarge(Exception):
    """More came than is taken."""


class BodyLimit:
    """ASGI middleware of the pages and the API. Answers 413 itself, to what says its length and to what does not."""

    def __init__(self, app: App, most: int = MOST_BYTES) -> None:
        self.app = app
        self.most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if _declared(scope) > self.most:
            await self._refuse(send)
            return
        got = 0

        async def counted() -> Message:
            nonlocal got
            message = await receive()
            got += len(message.get("body", b""))
            if got > self.most:
                raise _TooLarge
            return message

        try:
            await self.app(scope, counted, send)
        except _TooLarge:
            # Django reads the whole body before it answers, so nothing has been sent yet.
            await self._refuse(send)

    async def _refuse(self, send: Send) -> None:
        text = f"A request may hold at most {self.most >> 20} MiB.\n".encode()
        headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": 413, "headers": headers})
        await send({"type": "http.response.body", "body": text})


def _declared(scope: Scope) -> int:
    """The Content-Length, 0 when there is none. The server has refused what is no number."""
    return next((int(value) for name, value in scope["headers"] if name == b"content-length"), 0)
