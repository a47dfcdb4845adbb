"""One person's flood and slow connections, and what they do to another's page: a real web process, asked over TCP.

The flood is forty connections of one session that ask for the largest list as fast as they are answered, or that make
up a session for each; the slow ones are four hundred that send a byte of their head each half second and never end it.
"""

import os
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from secrets import token_hex

from django.conf import settings
from django.db import connection
from django.test import Client

from clusters.models import Cluster
from console.models import Membership, Team, User
from console.roles import Role
from console.run.table import WEB_LIMITS
from tests.bench.setting import Stage

FLOOD, SLOW, ROUNDS = 40, 400, 20
# A page beside a flood shares the processor with four of its requests at most (console.fair_share).
FACTOR = 10


def lines() -> Iterator[str]:
    stage = Stage(2000)
    stage.look()
    team = stage.cluster.team
    one, other = (_member(team, name) for name in ("flood", "guest"))
    page = f"/t/{team.slug}/c/{stage.cluster.slug}/jobs/"
    with _web() as port:
        quiet = _times(port, page, other)
        yield _line("alone", quiet, quiet)
        with _flooding(port, page, one):
            yield _line(f"beside {FLOOD} that flood", _times(port, page, other), quiet)
        with _flooding(port, page, ""):
            yield _line("beside made-up sessions", _times(port, page, other), quiet)
        with _dawdling(port):
            yield _line(f"beside {SLOW} slow ones", _times(port, page, other), quiet)
    # Committed, for the web process to see them; what comes next shall not.
    Cluster.objects.filter(pk=stage.cluster.pk).update(revision=None)
    Cluster.objects.get(pk=stage.cluster.pk).delete()
    User.objects.filter(username__in=("flood", "guest")).delete()


def _line(what: str, times: list[float], quiet: list[float]) -> str:
    p50, p95 = statistics.median(times), sorted(times)[int(len(times) * 0.95)]
    limit = FACTOR * statistics.median(quiet)
    mark = "  ABOVE THE TARGET" if p50 > limit else ""
    return (
        f"page of another  {what:<24} p50 {p50:6.0f} ms  p95 {p95:6.0f} ms  target p50 < {limit:.0f} ms{mark}"
    )


def _member(team: Team, name: str) -> str:
    user = User.objects.create(username=name)
    Membership.objects.create(team=team, user=user, role=Role.OPERATOR)
    client = Client()
    client.force_login(user)
    return client.cookies["sessionid"].value


@contextmanager
def _web() -> Iterator[int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    database = connection.settings_dict
    host = f"?host={database['HOST']}" if str(database["HOST"]).startswith("/") else ""
    where = "" if host else f"{database['HOST']}:{database['PORT']}"
    url = f"postgresql://{database['USER']}:{database['PASSWORD']}@{where}/{database['NAME']}{host}"
    argv = [
        sys.executable,
        "-m",
        "uvicorn",
        "console.asgi:application",
        f"--port={port}",
        "--log-level=error",
        *WEB_LIMITS,
    ]
    web = subprocess.Popen(argv, env={**os.environ, "DATABASE_URL": url}, cwd=settings.BASE_DIR)
    try:
        for _ in range(300):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        yield port
    finally:
        web.terminate()
        web.wait(20)


def _get(port: int, page: str, session: str) -> int:
    asking = HTTPConnection("127.0.0.1", port, timeout=60)
    asking.request("GET", page, headers={"Cookie": f"sessionid={session}", "Host": "localhost"})
    answer = asking.getresponse()
    answer.read()
    asking.close()
    return answer.status


def _times(port: int, page: str, session: str) -> list[float]:
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        assert _get(port, page, session) == 200
        times.append(1000 * (time.perf_counter() - start))
    return times


@contextmanager
def _flooding(port: int, page: str, session: str) -> Iterator[None]:
    """Of one session; empty makes up another for each request."""
    stop = threading.Event()

    def flood() -> None:
        while not stop.is_set():
            with suppress(OSError, HTTPException):
                _get(port, page, session or token_hex(16))

    threads = [threading.Thread(target=flood, daemon=True) for _ in range(FLOOD)]
    for thread in threads:
        thread.start()
    time.sleep(2)
    yield
    stop.set()
    for thread in threads:
        thread.join(60)


@contextmanager
def _dawdling(port: int) -> Iterator[None]:
    stop = threading.Event()
    slow = [socket.create_connection(("127.0.0.1", port), 5) for _ in range(SLOW)]
    for one in slow:
        one.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ")

    def dawdle() -> None:
        while not stop.wait(0.5):
            for one in slow:
                with suppress(OSError):
                    one.sendall(b"x")

    thread = threading.Thread(target=dawdle, daemon=True)
    thread.start()
    time.sleep(1)
    yield
    stop.set()
    thread.join(10)
    for one in slow:
        one.close()
