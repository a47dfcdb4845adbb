"""The process table: what runs, in which order, and how one sees that it is up. Data only.

`demo_table` is the console itself. Tests run the supervisor on tables of their own.
"""

import signal
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from console.run.layout import Layout
from console.run.services import Server

# Of the web server, wherever it is started (deploy/kubernetes/base/web.yaml says the same): a terminal's page sends at
# most its credit in one message, and a request's head has its time.
WEB_LIMITS = ["--http=console.request_head:BoundedHead", "--ws-max-size=524288"]


@dataclass(frozen=True)
class Process:
    """One row. Rows start in order; those with the same `tier` do not wait for each other and stop together.

    `once`: runs to its end before the next row starts, and a failure ends the run. `prepare` runs before every start.
    `is_ready` None means that being started is enough. `ends_with` is for one that runs beside the others and may end
    well by itself: what is said then.
    """

    name: str
    argv: Callable[[], list[str]]
    tier: int
    env: Mapping[str, str] = field(default_factory=dict)
    prepare: Callable[[], None] | None = None
    is_ready: Callable[[], bool] | None = None
    ready_within_s: float = 60.0
    stop_signal: signal.Signals = signal.SIGTERM
    stop_within_s: float = 10.0
    once: bool = False
    ends_with: str = ""


def server_row(name: str, server: Server) -> Process:
    """The row of a database server. It stops last, when nobody talks to it any more."""
    return Process(
        name=name,
        argv=lambda: server.argv,
        tier=0,
        prepare=server.prepare,
        is_ready=server.is_ready,
        stop_signal=server.stop_signal,
        stop_within_s=15.0,
    )


def console_rows(layout: Layout, port: int) -> list[Process]:
    """Migrations, demo data, then the processes of the console, each its own program.

    One web process and a pool of threads for the worker: the whole demo should fit a laptop. Beat runs beside the
    worker (`-B`), as there is exactly one worker here. A change that waits for its cluster keeps a thread, and does
    nothing with it: many threads are cheap, and what comes after a few slow creations does not queue behind them.
    """
    url = f"http://127.0.0.1:{port}"
    demo = ["manage.py", "demo", "--run-json", str(layout.run_json), "--url", url]
    uvicorn = ["-m", "uvicorn", "console.asgi:application", "--host=127.0.0.1", f"--port={port}"]
    uvicorn += ["--workers=1", "--timeout-graceful-shutdown=3", "--no-access-log", "--no-proxy-headers"]
    uvicorn += WEB_LIMITS
    celery = ["-m", "celery", "--app=console.celery", "worker", "--pool=threads", "--concurrency=16"]
    celery += ["--loglevel=info", "--without-gossip", "--without-mingle"]
    celery += ["--beat", f"--schedule={layout.run / 'beat-schedule'}"]
    return [
        Process(
            "migrate",
            _python("manage.py", "migrate", "--no-input", "--skip-checks"),
            tier=1,
            once=True,
            ready_within_s=120,
        ),
        Process("demo", _python(*demo), tier=2, once=True, ready_within_s=120),
        Process("web", _python(*uvicorn), tier=3, is_ready=lambda: answers(url)),
        Process("worker", _python(*celery), tier=3),
        Process("watch", _python("manage.py", "watch"), tier=3),
        # Each terminal's page is told, and its end written down (slurm.terminal.worker, slurm.terminal.journal).
        Process("terminals", _python("manage.py", "terminals"), tier=3, stop_within_s=20.0),
        Process(
            "queue",
            _python("manage.py", "demo", "--jobs"),
            tier=3,
            ends_with="the demo's jobs are in its queue",
        ),
    ]


def answers(url: str) -> bool:
    """Whether a web server answers there, with anything but an error of its own. Waits at most 2 s."""
    try:
        with urllib.request.urlopen(url, timeout=2):  # noqa: S310 - our own address
            return True
    except urllib.error.HTTPError as error:
        return error.code < 500
    except OSError:
        return False


def _python(*arguments: str) -> Callable[[], list[str]]:
    argv = [sys.executable, *arguments]
    return lambda: argv
