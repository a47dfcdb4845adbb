"""Connections that never say what they want, met over TCP by a real web server with the limits it is started with."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any

import pytest
import uvicorn

from console import request_head


async def application(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body"})


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(
            application, log_level="critical", http="console.request_head:BoundedHead", lifespan="off"
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        yield int(listener.getsockname()[1])
        server.should_exit = True
        thread.join(30)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_head, "HEAD_S", 0.3)


def dial(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), 20)


def answer(connection: socket.socket) -> bytes:
    """Until the server closes."""
    said = b""
    with suppress(ConnectionResetError):
        while piece := connection.recv(65536):
            said += piece
    return said


WHOLE = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


def test_head_that_does_not_end_is_given_up(port: int, short: None) -> None:
    with closing(dial(port)) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\nHost: loc")
        assert answer(slow).startswith(b"HTTP/1.1 408 ")


def test_bytes_that_keep_coming_win_no_time(port: int, short: None) -> None:
    with closing(dial(port)) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\nX: ")
        began = time.monotonic()
        with suppress(OSError):
            while time.monotonic() - began < 20:
                slow.sendall(b"x")
                time.sleep(0.05)
        assert time.monotonic() - began < 19


def test_silent_connection_is_closed_without_a_word(port: int, short: None) -> None:
    with closing(dial(port)) as silent:
        assert answer(silent) == b""


def test_second_request_of_a_connection_has_the_same_time(port: int, short: None) -> None:
    with closing(dial(port)) as kept:
        kept.sendall(WHOLE)
        assert kept.recv(65536).startswith(b"HTTP/1.1 204 ")
        kept.sendall(b"GET / HT")
        assert answer(kept).startswith(b"HTTP/1.1 408 ")


def test_endless_head_is_refused_by_its_size(port: int) -> None:
    with closing(dial(port)) as endless:
        with suppress(OSError):
            endless.sendall(b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 20_000)
        assert b" 431 " in answer(endless).split(b"\r\n")[0]


def test_many_of_one_address_give_way_to_newer_ones(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_head, "MOST_UNFINISHED", 5)
    monkeypatch.setattr(request_head, "SHORT_S", 0.0)
    slow = [dial(port) for _ in range(30)]
    try:
        with closing(dial(port)) as guest:
            guest.sendall(WHOLE)
            assert guest.recv(65536).startswith(b"HTTP/1.1 204 ")
        assert request_head.unfinished()["127.0.0.1"] <= 5
        assert answer(slow[0]) == b""
    finally:
        for one in slow:
            one.close()


def test_nothing_is_remembered_of_connections_that_left(port: int) -> None:
    for _ in range(5):
        with closing(dial(port)) as one:
            one.sendall(WHOLE)
            one.recv(65536)
    deadline = time.monotonic() + 20
    while request_head.unfinished() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert request_head.unfinished() == {}
