"""A console over seeded rows in this process, real sockets and Redis included, and Chromium looking at it."""

import re
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from time import monotonic, sleep

import pytest
import uvicorn
from django.db import connections
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Browser, BrowserContext, Page

from clusters.models import Cluster
from console import live
from tests.seed import Seed, seed

# What the browser itself says of a refused form (422, 409), of a network that a test has cut, and of an answer that
# nobody waits for any more: the page has gone on, or more was typed.
EXPECTED = re.compile(
    r"status of 4(22|09|04)|Status Error Code 4(22|09)|ERR_|WebSocket|htmx:(sendAbort|afterRequest), "
)
WIDE, PHONE = (1280, 800), (390, 844)


@dataclass
class Watcher:
    """Says each tick what the watcher says, until it is stopped."""

    key: str
    problem: str = ""
    stopped: threading.Event = field(default_factory=threading.Event)
    paused: bool = False

    def run(self) -> None:
        while not self.stopped.wait(0.5):
            if not self.paused:
                self.tick()

    def tick(self) -> None:
        live.publish(live.cluster_topic(self.key), at=timezone.now().isoformat(), problem=self.problem)


@dataclass
class Console:
    url: str
    made: Seed
    watcher: Watcher

    def push(self, fragments: Sequence[live.Fragment] = (), *, refresh: Sequence[str] = ()) -> None:
        """Send to the cluster's pages, from a thread without an event loop as the watcher's is."""
        topic = live.cluster_topic(self.made.cluster.key)
        self.elsewhere(lambda: live.publish(topic, fragments, refresh=refresh))

    def elsewhere(self, act: Callable[[], None]) -> None:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(act).result(10)


@pytest.fixture
def console(transactional_db, monkeypatch: pytest.MonkeyPatch, settings) -> Iterator[Console]:
    """Threads of the server must not hold on to a database that the next test empties."""
    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", 0)
    settings.WATCH_TICK_S = 0.5
    made = seed()
    Cluster.objects.update(observed_at=timezone.now())
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(
        uvicorn.Config("console.asgi:application", log_level="error", ws="websockets-sansio")
    )
    serving = threading.Thread(target=server.run, args=([listener],), daemon=True)
    serving.start()
    watcher = Watcher(made.cluster.key)
    watching = threading.Thread(target=watcher.run, daemon=True)
    watching.start()
    yield Console(f"http://127.0.0.1:{listener.getsockname()[1]}", made, watcher)
    watcher.stopped.set()
    server.should_exit = server.force_exit = True
    watching.join(10)
    serving.join(10)


@pytest.fixture
def look(browser: Browser, console: Console) -> Iterator[Callable[..., Page]]:
    """Open a page as somebody, at a size, in a theme. At the end nothing may have gone wrong in the browser."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def open_page(
        path: str, *, name: str = "ada", size: tuple[int, int] = WIDE, theme: str = "light"
    ) -> Page:
        context = browser.new_context(
            viewport={"width": size[0], "height": size[1]}, color_scheme=theme, bypass_csp=False
        )
        contexts.append(context)
        context.add_cookies([{"name": "sessionid", "value": session_of(console, name), "url": console.url}])
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        page.goto(console.url + path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not [text for text in complaints if not EXPECTED.search(text)]


def session_of(console: Console, name: str) -> str:
    client = Client()
    client.force_login(console.made.users[name])
    return client.cookies["sessionid"].value


def until(claim: Callable[[], object], what: str, *, seconds: float = 10) -> None:
    """Poll until it holds."""
    end = monotonic() + seconds
    while not claim():
        assert monotonic() < end, f"not within {seconds} s: {what}"
        sleep(0.05)
