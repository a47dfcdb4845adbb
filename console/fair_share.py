"""How much of the console one person may have at once: a flood from one waits for itself, not others for it.

Of one session, token or, without either, address so many requests are worked on at a time in each process; more wait
without a thread or a database connection, and too many of those are refused. An answer that has begun no longer counts,
so a long download holds up nothing. Sessions and tokens are not looked up here: an address that makes them up has to do
with a share of its own, which is wide enough for an office.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from console.body_limit import App, Message, Receive, Scope, Send

AT_ONCE = 4
MOST_WAITING = 200
ADDRESS_AT_ONCE = 32
ADDRESS_MOST_WAITING = 1000


@dataclass
class _Share:
    """One place. `claims` are those that hold or wait for a slot."""

    slots: asyncio.Semaphore
    claims: int = field(default=0)


class Full(Exception):
    """Too many wait for this place already."""


class FairShare:
    """ASGI middleware of the pages and the API, around what reads the database. Answers 429 itself."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.shares: dict[bytes, _Share] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        held = AsyncExitStack()

        async def begun(message: Message) -> None:
            if message["type"] == "http.response.start":
                await held.aclose()
            await send(message)

        async with held:
            try:
                # The person's first: one who floods has no more than their own slots to offer to the address's.
                await held.enter_async_context(self._slot(whose(scope), AT_ONCE, MOST_WAITING))
                await held.enter_async_context(
                    self._slot(b"from " + address_of(scope), ADDRESS_AT_ONCE, ADDRESS_MOST_WAITING)
                )
            except Full:
                await _refuse(send)
                return
            await self.app(scope, receive, begun)

    @asynccontextmanager
    async def _slot(self, whose: bytes, at_once: int, most_waiting: int) -> AsyncIterator[None]:
        """Raises Full."""
        share = self.shares.setdefault(whose, _Share(asyncio.Semaphore(at_once)))
        if share.claims >= at_once + most_waiting:
            raise Full
        share.claims += 1
        try:
            async with share.slots:
                yield
        finally:
            share.claims -= 1
            if not share.claims:
                self.shares.pop(whose, None)


def _session_of(scope: Scope) -> bytes:
    """The session's cookie as it came, empty without one."""
    parts = (part.strip() for part in dict(scope["headers"]).get(b"cookie", b"").split(b";"))
    return next((part for part in parts if part.startswith(b"sessionid=")), b"")


def whose(scope: Scope) -> bytes:
    """One for each session, token or, without either, address. A digest: what is kept is no session and no token."""
    known = dict(scope["headers"]).get(b"authorization") or _session_of(scope)
    return hashlib.sha256(known or b"nobody from " + address_of(scope)).digest()


def address_of(scope: Scope) -> bytes:
    """Where it came from, as the server says it: with trusted proxies, what they say."""
    return str((scope.get("client") or ("",))[0]).encode()


async def _refuse(send: Send) -> None:
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"retry-after", b"2"),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": 429, "headers": headers})
    await send(
        {"type": "http.response.body", "body": b"Too many of your requests are waiting. Try again soon.\n"}
    )
