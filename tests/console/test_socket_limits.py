"""Too much from one person's sockets is closed with a code and a sentence; what others have is left alone."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from console import socket_limits
from console.socket_limits import TOO_MUCH, Bucket, OpeningLimit, TrafficLimit


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class Reader:
    """A consumer that takes whatever comes, and talks on after it was cut."""

    def __init__(self) -> None:
        self.opened = 0
        self.taken: list[Any] = []
        self.ended: list[Any] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.opened += 1
        while (message := await receive())["type"] != "websocket.disconnect":
            self.taken.append(message)
        self.ended.append(message)
        await send({"type": "websocket.send", "text": "too late"})


def scope_of(user: int = 1, session: bytes = b"one", address: str = "192.0.2.1") -> dict[str, Any]:
    headers = [(b"cookie", b"sessionid=" + session)]
    person = SimpleNamespace(pk=user, is_authenticated=True)
    return {"type": "websocket", "headers": headers, "client": (address, 1), "user": person}


async def meet(app: Any, messages: list[Any], **who: Any) -> list[Any]:
    """What a page that sends these messages and leaves is told."""
    said: list[Any] = []
    coming = iter([{"type": "websocket.connect"}, *messages, {"type": "websocket.disconnect", "code": 1001}])

    async def receive() -> Any:
        return next(coming)

    async def send(message: Any) -> None:
        said.append(message)

    await app(scope_of(**who), receive, send)
    return said


def texts(count: int, text: str = "{}") -> list[Any]:
    return [{"type": "websocket.receive", "text": text}] * count


@pytest.fixture
def few_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket_limits, "MESSAGES_AT_ONCE", 5)
    monkeypatch.setattr(socket_limits, "MESSAGES_A_SECOND", 2)


def test_bucket_gives_what_it_has_and_fills_by_time() -> None:
    bucket = Bucket(2, 10, 0.0)
    assert bucket.take(10, 0.0) == 0
    assert bucket.take(3, 0.0) == 1.5
    assert not bucket.is_full(6.4) and bucket.is_full(6.5)
    assert bucket.left(1000.0) == 10


def test_more_messages_than_allowed_close_the_socket_with_a_sentence(few_messages: None) -> None:
    reader, clock = Reader(), Clock()
    said = async_to_sync(meet)(TrafficLimit(reader, clock), texts(8))
    assert [message["code"] for message in said] == [TOO_MUCH]
    assert "2 messages a second" in said[0]["reason"] and len(said[0]["reason"].encode()) <= 123
    assert len(reader.taken) == 1 + 5 and reader.ended[0]["code"] == TOO_MUCH


def test_a_new_socket_is_no_way_around_and_time_is(few_messages: None) -> None:
    reader, clock = Reader(), Clock()
    app = TrafficLimit(reader, clock)

    async def tries() -> None:
        assert await meet(app, texts(8))
        assert await meet(app, texts(1), session=b"two", address="192.0.2.9")
        # Another person at the same address is none of it.
        assert [one["type"] for one in await meet(app, texts(5), user=2)] == ["websocket.send"]
        clock.now += 5
        assert [one["type"] for one in await meet(app, texts(3))] == ["websocket.send"]

    async_to_sync(tries)()


def test_who_sends_no_more_is_forgotten(few_messages: None) -> None:
    clock = Clock()
    app = TrafficLimit(Reader(), clock)

    async def tries() -> None:
        for user in range(20):
            await meet(app, texts(3), user=user)
        clock.now += 60
        await meet(app, [], user=99)

    async_to_sync(tries)()
    assert list(app.uses) == [99]


def test_bytes_wait_and_are_refused_when_the_wait_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket_limits, "BYTES_AT_ONCE", 1000)
    monkeypatch.setattr(socket_limits, "BYTES_A_SECOND", 1000)
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    reader = Reader()
    data = [{"type": "websocket.receive", "bytes": b"x" * 1000}]
    said = async_to_sync(meet)(TrafficLimit(reader, Clock()), data * 20)
    assert waits == list(range(1, 11))
    assert said[0]["code"] == TOO_MUCH and "MiB a second" in said[0]["reason"]


def test_sockets_at_once_are_bounded_and_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket_limits, "MOST_SOCKETS", 3)
    leave = asyncio.Event

    async def tries() -> None:
        go = leave()

        async def stays(scope: Any, receive: Any, send: Any) -> None:
            await go.wait()

        app = TrafficLimit(stays)
        open_ones = [asyncio.create_task(meet(app, [])) for _ in range(3)]
        await asyncio.sleep(0)
        said = await meet(app, [])
        assert [one["type"] for one in said] == ["websocket.accept", "websocket.close"]
        assert said[1]["code"] == TOO_MUCH and "3 pages" in said[1]["reason"]
        go.set()
        await asyncio.gather(*open_ones)
        assert await meet(app, []) == []

    async_to_sync(tries)()


@pytest.mark.parametrize(
    ("limit", "who"),
    [("OPENINGS_AT_ONCE", {}), ("ADDRESS_OPENINGS_AT_ONCE", {"made_up": True})],
)
def test_openings_are_turned_away_before_the_session_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, limit: str, who: dict[str, bool]
) -> None:
    monkeypatch.setattr(socket_limits, limit, 4)
    reader, clock = Reader(), Clock()
    app = OpeningLimit(reader, clock)

    async def tries() -> None:
        for number in range(10):
            said = await meet(app, [], session=b"%d" % number if who else b"one")
        assert said[-1]["code"] == TOO_MUCH and said[-1]["reason"]
        assert reader.opened == 4 and len(app.buckets) <= 1 + 4
        assert [one["type"] for one in await meet(app, [], session=b"another", address="192.0.2.2")] == [
            "websocket.send"
        ]
        clock.now += 60
        await meet(app, [], session=b"one")
        assert reader.opened == 6 and len(app.buckets) == 2

    async_to_sync(tries)()
