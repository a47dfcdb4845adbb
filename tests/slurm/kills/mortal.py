"""A process that works on real clusters in forked children, each told when it is to be killed (SIGKILL).

Run as `python -m tests.slurm.kills.mortal`. Reads an order a line, `{"change": id}` or `{"restart": part, "cluster":
id, "by": id}`, with `"die": [kind, n]`; answers `{"signal": n, "status": n, "sql": n, "disk": n, "seconds": s}`. The
kinds: `sql`, before the n-th statement; `disk`, before the n-th thing that a cluster's directory or processes would
notice (a write, a rename, a signal, a program started); `moment`, n seconds after it began. Counting is done by
Python's own audit events, so no line of what is tested knows of it.
"""

import json
import os
import signal
import sys
import time
from contextlib import suppress
from typing import Any

import django

django.setup()

from django.conf import settings  # noqa: E402  (the applications must be loaded first)
from django.db import connection  # noqa: E402
from django.template.loader import get_template  # noqa: E402

from clusters.access import Door  # noqa: E402
from clusters.acts import PartKind  # noqa: E402
from clusters.leases import Clock  # noqa: E402
from clusters.machine import Kind  # noqa: E402
from clusters.models import Change, Cluster  # noqa: E402
from clusters.run import run  # noqa: E402
from clusters.watch import NotOurs, watch_once  # noqa: E402
from console import live  # noqa: E402
from console.models import Membership  # noqa: E402
from slurm import operations, restarts  # noqa: E402

DEEDS = {
    f"os.{deed}"
    for deed in ("rename", "remove", "mkdir", "rmdir", "chmod", "chown", "symlink", "link", "kill")
}
DEEDS |= {"subprocess.Popen"}
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class Points:
    """Counts what the process does, and kills it at the point that it was told."""

    def __init__(self, kind: str, number: float) -> None:
        self.die_at = (kind, int(number))
        self.passed = {"sql": 0, "disk": 0}

    def reach(self, kind: str) -> None:
        self.passed[kind] += 1
        if self.die_at == (kind, self.passed[kind]):
            os.kill(os.getpid(), signal.SIGKILL)

    def audit(self, event: str, args: tuple[Any, ...]) -> None:
        is_write = event == "open" and isinstance(args[0], str | bytes) and bool((args[2] or 0) & WRITES)
        if event in DEEDS or (is_write and args[0] != os.devnull):
            self.reach("disk")

    def around_sql(self, execute: Any, *args: Any) -> Any:
        self.reach("sql")
        return execute(*args)


def main() -> None:
    for name in ("_change_status", "_change_lines", "_change_wait", "_overview"):
        get_template(f"clusters/{name}.html")
    live._send("nobody", {"type": "live.push"})
    for line in sys.stdin:
        print(json.dumps(_carry_out(json.loads(line))), flush=True)


def _carry_out(order: dict[str, Any]) -> dict[str, float]:
    kind, number = order["die"]
    began, limit_s = time.monotonic(), number if kind == "moment" else float("inf")
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _act(order, Points(kind, number), writing)
        os._exit(0)
    os.close(writing)
    while (ended := os.waitpid(pid, os.WNOHANG))[0] == 0:
        if time.monotonic() - began > limit_s:
            os.kill(pid, signal.SIGKILL)
            limit_s = float("inf")
        time.sleep(0.002)
    with os.fdopen(reading) as report:
        passed = json.loads(report.read() or "{}")
    return {
        "signal": os.WTERMSIG(ended[1]) if os.WIFSIGNALED(ended[1]) else 0,
        "status": os.waitstatus_to_exitcode(ended[1]),
        "seconds": time.monotonic() - began,
        **passed,
    }


def _act(order: dict[str, Any], points: Points, report: int) -> None:
    settings.SHADOW_CHECK = order.get("shadow", True)
    try:
        with connection.execute_wrapper(points.around_sql):
            sys.addaudithook(points.audit)
            if "change" in order:
                run(order["change"], clock=Clock(sleep=lambda seconds: _watch(order["change"], seconds)))
            else:
                _restart(order)
    finally:
        os.write(report, json.dumps(points.passed).encode())


def _watch(change: int, seconds: float) -> None:
    """The watcher is at work as well: by it nodes restart that nothing runs on, and come back."""
    found = Change.objects.select_related("cluster").get(pk=change)
    if found.kind == Kind.RESTART:
        with suppress(NotOurs):
            watch_once(found.cluster)
    time.sleep(seconds)


def _restart(order: dict[str, Any]) -> None:
    cluster = Cluster.objects.select_related("team", "region", "revision").get(pk=order["cluster"])
    door, part = Door(cluster, Membership.objects.get(pk=order["by"])), order["restart"]
    if part in tuple(PartKind):
        restarts.restart(door, part)
    else:
        operations.reboot(door, [part])


if __name__ == "__main__":
    main()
