"""A limit on what one request may send, before anything looks at it: Django would keep any body on the disk first."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

Scope = dict[str, Any]
Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

# slurm.conf in its longest form, every character escaped, and room.
MOST_BYTES = 8 * 2**20
# Nothing for so long: who still waits for it holds a share of the console (console.fair_share).
SILENCE_S = 30.0


class _TooLarge(Exception):
    """More came than is taken."""


class _TooSlow(Exception):
    """The rest did not come."""


class BodyLimit:
    """ASGI middleware of the pages and the API. Answers 413 itself, to what says its length and to what does not, and
    408 to a body that stops in its midst."""

    def __init__(self, app: App, most: int = MOST_BYTES, silence_s: float = SILENCE_S) -> None:
        self.app = app
        self.most = most
        self.silence_s = silence_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if _declared(scope) > self.most:
            await self._refuse_large(send)
            return
        got = 0
        is_whole = False

        async def counted() -> Message:
            nonlocal got, is_whole
            try:
                # After the body whoever asks waits for the person to leave, which may take long.
                async with asyncio.timeout(None if is_whole else self.silence_s):
                    message = await receive()
            except TimeoutError:
                raise _TooSlow from None
            is_whole = not message.get("more_body", False)
            got += len(message.get("body", b""))
            if got > self.most:
                raise _TooLarge
            return message

        try:
            await self.app(scope, counted, send)
        except _TooLarge:
            # Django reads the whole body before it answers, so nothing has been sent yet.
            await self._refuse_large(send)
        except _TooSlow:
            await _refuse(send, 408, "The rest of the request did not come.\n")

    async def _refuse_large(self, send: Send) -> None:
        await _refuse(send, 413, f"A request may hold at most {self.most >> 20} MiB.\n")


async def _refuse(send: Send, status: int, text: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode()})


def _declared(scope: Scope) -> int:
    """The Content-Length, 0 when there is none. The server has refused what is no number."""
    return next((int(value) for name, value in scope["headers"] if name == b"content-length"), 0)
