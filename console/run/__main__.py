"""`python -m console.run`: the whole console in the foreground until Ctrl-C. Composition only."""

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from console.run.checks import check_disk, check_port, chosen_port
from console.run.death import follow_parent
from console.run.demo_state import DemoState
from console.run.interrupt import Interrupt, StopAsked
from console.run.keys import make_keys
from console.run.layout import Layout
from console.run.records import MARK, RunLock, end_leftovers
from console.run.services import PostgresServer, RedisServer
from console.run.steps import CannotRun, Steps
from console.run.supervisor import Supervisor
from console.run.table import Process, console_rows, server_row

ROOT = Path(__file__).resolve().parent.parent.parent


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0 after a stop that was asked for, 1 with one line when it cannot run."""
    options = _options(arguments)
    # Whatever the shell's: a cluster's daemons run as users of their own and have to find their programs and files.
    os.umask(0o022)
    if options.with_parent:
        follow_parent(signal.SIGTERM)
    try:
        port = chosen_port()
        run(Layout.of(ROOT), port=port)
    except CannotRun as problem:
        print(problem.line(), file=sys.stderr)
        return 1
    except KeyboardInterrupt:  # before anything was started
        return 130
    return 0


def run(layout: Layout, *, port: int) -> None:
    """Everything from the first check to the last process gone. Raises `CannotRun`."""
    steps = Steps()
    layout.make()
    servers, env = choose_servers(layout)
    rows = [*servers, *console_rows(layout, port)]
    supervise(layout, rows, env, steps, port=port)


def supervise(
    layout: Layout, rows: Sequence[Process], env: dict[str, str], steps: Steps, *, port: int
) -> None:
    """Take the checkout, clear what an earlier run left, run the rows until a stop is asked for, take them down."""
    began = time.monotonic()
    url = f"http://127.0.0.1:{port}"
    interrupt = Interrupt()
    interrupt.listen()
    lock = RunLock(layout)
    try:
        lock.take(steps, interrupt.pause)
    except StopAsked:
        return
    demo = DemoState(layout.run_json, steps)
    supervisor = Supervisor(layout, {**os.environ, **env}, steps, interrupt)
    try:
        lock.write("starting", url)
        left = end_leftovers(layout)
        if left:
            steps.say(f"  an earlier run was killed; ended what it left: {', '.join(left)}")
        check_disk(layout.var)
        check_port(port)
        supervisor.bring_up(rows)
        lock.write("running", url)
        welcome(layout, steps, url, time.monotonic() - began)
        supervisor.keep_up(demo.look)
    except StopAsked:
        steps.say("\n  stopping")
    finally:
        lock.write("stopping", url)
        supervisor.take_down()
        layout.remove_sockets()
        lock.release()
    steps.say("  stopped; nothing is left running")


def choose_servers(layout: Layout) -> tuple[list[Process], dict[str, str]]:
    """The rows of the embedded servers and the environment of the console. Servers named outside are used instead."""
    make_keys(layout.secrets)
    postgres = PostgresServer(
        layout.var / "postgres", layout.sockets / "postgres", layout.secrets / "postgres_password"
    )
    redis = RedisServer(layout.var / "redis", layout.sockets)
    env = {
        MARK: str(layout.var),
        "QUARTERDECK_SECRETS_DIR": str(layout.secrets),
        "DJANGO_SETTINGS_MODULE": "console.settings",
        "PYTHONUNBUFFERED": "1",
    }
    rows = []
    if "DATABASE_URL" not in os.environ:
        rows.append(server_row("postgres", postgres))
        env["DATABASE_URL"] = postgres.url
    if "REDIS_URL" not in os.environ:
        rows.append(server_row("redis", redis))
        env["REDIS_URL"] = redis.url
    return rows, env


def welcome(layout: Layout, steps: Steps, url: str, seconds: float) -> None:
    """The address, and who may sign in with what: read from the file that the demo left for scripts."""
    steps.say(f"\n  Quarterdeck is at {url}  (up in {seconds:.1f} s)\n")
    try:
        users = json.loads(layout.run_json.read_text())["users"]
    except (OSError, ValueError, KeyError):
        users = {}
    if users:
        steps.say(f"  {'user':<14} {'role':<10} password")
    for name, user in users.items():
        steps.say(f"  {name:<14} {user.get('role') or '-':<10} {user.get('password') or '(as you set it)'}")
    steps.say(f"\n  Logs: {layout.log}/NAME.log   Ctrl-C stops everything; the next run keeps the data.\n")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m console.run", description="Run the whole console until Ctrl-C."
    )
    parser.add_argument(
        "--with-parent", action="store_true", help="stop as well when the starting process dies"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
