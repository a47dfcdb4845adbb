"""One person's flood waits for itself: others are served meanwhile, and what is too much is refused."""

import asyncio
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from console import fair_share
from console.fair_share import ADDRESS_AT_ONCE, AT_ONCE, FairShare


class Slow:
    """An application that works until it is told to go on, and counts how many it has at once."""

    def __init__(self, *, begins: bool = False) -> None:
        self.go_on = asyncio.Event()
        self.now = self.most = 0
        self.begins = begins

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        self.now += 1
        self.most = max(self.most, self.now)
        if self.begins:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        await self.go_on.wait()
        if not self.begins:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        self.now -= 1


async def ask(app: FairShare, cookie: bytes = b"", token: bytes = b"", address: str = "192.0.2.1") -> int:
    headers = [(b"cookie", cookie)] if cookie else []
    headers += [(b"authorization", token)] if token else []
    statuses: list[int] = []

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    await app({"type": "http", "headers": headers, "client": (address, 1)}, None, send)  # type: ignore[arg-type]
    return statuses[0]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"cookie": b"a=b; sessionid=one"}, {"cookie": b"sessionid=two"}),
        ({"token": b"Bearer one"}, {"token": b"Bearer two"}),
        ({"address": "192.0.2.1"}, {"address": "192.0.2.2"}),
    ],
)
def test_flood_of_one_waits_and_another_is_served(one: dict[str, Any], other: dict[str, Any]) -> None:
    async def meet() -> None:
        slow = Slow()
        app = FairShare(slow)
        flood = [asyncio.create_task(ask(app, **one)) for _ in range(50)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert slow.now == AT_ONCE
        guest = asyncio.create_task(ask(app, **other))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert slow.now == AT_ONCE + 1
        slow.go_on.set()
        assert {await one for one in [*flood, guest]} == {200}
        assert slow.most == AT_ONCE + 1 and not app.shares

    async_to_sync(meet)()


def test_too_many_that_wait_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fair_share, "MOST_WAITING", 3)

    async def meet() -> None:
        slow = Slow()
        app = FairShare(slow)
        flood = [asyncio.create_task(ask(app)) for _ in range(AT_ONCE + 3)]
        await asyncio.sleep(0)
        assert await ask(app) == 429
        slow.go_on.set()
        assert {await one for one in flood} == {200}

    async_to_sync(meet)()


def test_answer_that_has_begun_gives_its_place_to_the_next() -> None:
    async def meet() -> None:
        slow = Slow(begins=True)
        app = FairShare(slow)
        downloads = [asyncio.create_task(ask(app)) for _ in range(20)]
        for _ in range(60):
            await asyncio.sleep(0)
        assert slow.now == 20
        slow.go_on.set()
        assert {await one for one in downloads} == {200}

    async_to_sync(meet)()


def test_made_up_sessions_share_what_their_address_has() -> None:
    async def meet() -> None:
        slow = Slow()
        app = FairShare(slow)
        flood = [asyncio.create_task(ask(app, b"sessionid=%d" % number)) for number in range(90)]
        for _ in range(9):
            await asyncio.sleep(0)
        assert slow.now == ADDRESS_AT_ONCE
        guest = asyncio.create_task(ask(app, b"sessionid=guest", address="192.0.2.2"))
        for _ in range(9):
            await asyncio.sleep(0)
        assert slow.now == ADDRESS_AT_ONCE + 1
        slow.go_on.set()
        assert {await one for one in [*flood, guest]} == {200}
        assert not app.shares

    async_to_sync(meet)()
