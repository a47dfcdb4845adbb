"""How much of the sockets one person may have: what is too much is closed with `TOO_MUCH` and a sentence.

`OpeningLimit` stands before the session is looked up, so that a storm of openings asks the database nothing; it counts
by session and by address. `TrafficLimit` knows the person, whatever browsers they use, and counts sockets, messages and
bytes: bytes that come too fast wait, which the sender feels, and are refused once the wait would be long. Both count
in each process by itself.
"""

import asyncio
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from console.body_limit import App, Message, Receive, Scope, Send
from console.fair_share import address_of, whose

TOO_MUCH = 4429
MOST_SOCKETS = 64
# After a restart every page comes back at once: an address may be a whole office's.
OPENINGS_A_SECOND, OPENINGS_AT_ONCE = 5, 80
ADDRESS_OPENINGS_A_SECOND, ADDRESS_OPENINGS_AT_ONCE = 100, 1000
# A busy terminal acknowledges its output some hundred times a second; keys are nothing beside that.
MESSAGES_A_SECOND, MESSAGES_AT_ONCE = 1000, 4000
BYTES_A_SECOND, BYTES_AT_ONCE = 4 << 20, 8 << 20
LONGEST_WAIT_S = 10.0
SWEEP_S = 30.0

Clock = Callable[[], float]


class Bucket:
    """So much at once and, when that is used up, so much a second. Times are seconds of one clock."""

    def __init__(self, a_second: float, at_once: float, now: float) -> None:
        self.a_second = a_second
        self.at_once = at_once
        self._left = at_once
        self._now = now

    def take(self, amount: float, now: float) -> float:
        """Take it, on credit too. How many seconds until the credit is paid back; 0 when nothing is owed."""
        self._left = self.left(now) - amount
        self._now = now
        return max(0.0, -self._left / self.a_second)

    def left(self, now: float) -> float:
        return min(self.at_once, self._left + (now - self._now) * self.a_second)

    def is_full(self, now: float) -> bool:
        return self.left(now) >= self.at_once


class OpeningLimit:
    """ASGI middleware of the sockets, before whatever reads the session."""

    def __init__(self, app: App, clock: Clock = time.monotonic) -> None:
        self.app = app
        self.clock = clock
        self.buckets: dict[bytes, Bucket] = {}
        self._swept = clock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Who makes up sessions makes up no addresses: an address that is over its own keeps no bucket of another.
        address = address_of(scope)
        if self._count(address, ADDRESS_OPENINGS_A_SECOND, ADDRESS_OPENINGS_AT_ONCE) and self._count(
            whose(scope), OPENINGS_A_SECOND, OPENINGS_AT_ONCE
        ):
            await self.app(scope, receive, send)
        else:
            await _turn_away(receive, send, "Too many pages connect at once from here. This one tries again.")

    def _count(self, name: bytes, a_second: float, at_once: float) -> bool:
        """Whether there was one left. One that is refused takes nothing, or who tries for ever would never get in."""
        now = self.clock()
        self._sweep(now)
        bucket = self.buckets.setdefault(name, Bucket(a_second, at_once, now))
        if bucket.left(now) < 1:
            return False
        bucket.take(1, now)
        return True

    def _sweep(self, now: float) -> None:
        if now - self._swept > SWEEP_S:
            self._swept = now
            self.buckets = {key: one for key, one in self.buckets.items() if not one.is_full(now)}


@dataclass
class _Use:
    """One person's. Kept until its buckets are full again, so that opening a new socket is no way around them."""

    messages: Bucket
    bytes: Bucket
    sockets: int = field(default=0)

    def is_idle(self, now: float) -> bool:
        return not self.sockets and self.messages.is_full(now) and self.bytes.is_full(now)


class TrafficLimit:
    """ASGI middleware of the sockets, inside what puts the person into the scope."""

    def __init__(self, app: App, clock: Clock = time.monotonic) -> None:
        self.app = app
        self.clock = clock
        self.uses: dict[Hashable, _Use] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        use = self._use_of(scope)
        if use.sockets >= MOST_SOCKETS:
            await _turn_away(
                receive, send, f"You have {MOST_SOCKETS} pages connected, which is the most. Close some."
            )
            return
        use.sockets += 1
        try:
            socket = _Socket(use, receive, send, self.clock)
            await self.app(scope, socket.receive, socket.send)
        finally:
            use.sockets -= 1

    def _use_of(self, scope: Scope) -> _Use:
        now = self.clock()
        user = scope.get("user")
        person: Hashable = user.pk if user is not None and user.is_authenticated else address_of(scope)
        if person not in self.uses:
            self.uses = {key: use for key, use in self.uses.items() if not use.is_idle(now)}
        return self.uses.setdefault(
            person,
            _Use(
                Bucket(MESSAGES_A_SECOND, MESSAGES_AT_ONCE, now), Bucket(BYTES_A_SECOND, BYTES_AT_ONCE, now)
            ),
        )


class _Socket:
    """What one consumer takes and gives, counted against its person's use."""

    def __init__(self, use: _Use, receive: Receive, send: Send, clock: Clock) -> None:
        self._use = use
        self._receive = receive
        self._send = send
        self._clock = clock
        self._closed = False

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] != "websocket.receive":
            return message
        size = len(message.get("bytes") or b"") or len((message.get("text") or "").encode())
        if self._use.messages.take(1, self._clock()) > 0:
            return await self._refuse(
                f"Your pages sent more than {MESSAGES_A_SECOND} messages a second. Wait a moment."
            )
        wait_s = self._use.bytes.take(size, self._clock())
        if wait_s > LONGEST_WAIT_S:
            return await self._refuse(
                f"Your pages sent more than {BYTES_A_SECOND >> 20} MiB a second. Wait a moment."
            )
        if wait_s:
            await asyncio.sleep(wait_s)
        return message

    async def send(self, message: Message) -> None:
        """What the consumer still says after the refusal goes nowhere."""
        if not self._closed:
            await self._send(message)

    async def _refuse(self, sentence: str) -> Message:
        self._closed = True
        await self._send({"type": "websocket.close", "code": TOO_MUCH, "reason": sentence})
        return {"type": "websocket.disconnect", "code": TOO_MUCH}


async def _turn_away(receive: Receive, send: Send, sentence: str) -> None:
    """Accepted first: a page is told the code and the sentence of an open socket alone."""
    await receive()
    await send({"type": "websocket.accept"})
    await send({"type": "websocket.close", "code": TOO_MUCH, "reason": sentence})
