"""A worker that carries changes through in forked processes, each told at which point to be killed (SIGKILL).

Run as `python -m tests.clusters.mortal`; reads `{"change": id, "die_at": n, "waits": n}` a line, answers
`{"signal": n, "points": n}`. A point is the moment before or after any SQL statement and any write of the platform's
disk, so counting them up kills a worker everywhere that it can leave something behind. Forking is what Celery's worker
does too; here it saves starting Python anew for each of hundreds of deaths.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from itertools import count
from typing import Any

import django

django.setup()

from django.db import connection  # noqa: E402  (the applications must be loaded first)
from django.template.loader import get_template  # noqa: E402
from django.utils import timezone  # noqa: E402

from clusters.leases import Clock  # noqa: E402
from clusters.models import Change  # noqa: E402
from clusters.observation import Judgement, Verdict  # noqa: E402
from clusters.run import run  # noqa: E402
from console import live  # noqa: E402
from tests.fakes import FakeProvisioner, script_of  # noqa: E402


def warm_up() -> None:
    """Load once what every child would load anew. Opens no database connection: it must not be shared by forking."""
    for name in ("_change_status", "_change_lines", "_change_wait", "_overview"):
        get_template(f"clusters/{name}.html")
    live._send("nobody", {"type": "live.push"})


def main() -> None:
    warm_up()
    for line in sys.stdin:
        order = json.loads(line)
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            _carry(order["change"], order["die_at"], order["waits"], writing)
            os._exit(0)
        os.close(writing)
        _, status = os.waitpid(pid, 0)
        points = os.read(reading, 64)
        os.close(reading)
        answer = {"signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0, "points": int(points or 0)}
        print(json.dumps(answer), flush=True)


def _carry(change_id: int, die_at: int, waits: int, report: int) -> None:
    numbers = count(1)

    def point() -> int:
        number = next(numbers)
        if number == die_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    def around_sql(execute: Callable[..., Any], *args: Any) -> Any:
        point()
        answer = execute(*args)
        point()
        return answer

    save = FakeProvisioner.save

    def around_disk(self: FakeProvisioner, world: Any) -> None:
        point()
        save(self, world)
        point()

    key = Change.objects.values_list("cluster__key", flat=True).get(pk=change_id)
    script_of(key).judge = [Judgement(Verdict.WAITING, "Waiting for slinky-1.")] * waits
    FakeProvisioner.save = around_disk  # type: ignore[method-assign]
    with connection.execute_wrapper(around_sql):
        run(change_id, clock=Clock(now=timezone.now, sleep=lambda s: None))
    os.write(report, str(next(numbers) - 1).encode())


if __name__ == "__main__":
    main()
