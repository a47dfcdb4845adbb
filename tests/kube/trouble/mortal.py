"""A worker that carries changes through on a real region in forked processes, each told when to be killed (SIGKILL).

Run as `python -m tests.kube.trouble.mortal`; reads `<change> <point>` a line, answers with the points that were passed,
0 after a death. A point is the moment before or after any request that writes to the API server; 0 lets it live.
"""

import os
import signal
import sys
from collections.abc import Callable
from itertools import count
from typing import Any

import django

django.setup()

from clusters.run import run  # noqa: E402  (the applications must be loaded first)
from slurm.kube.client import Kube  # noqa: E402
from tests.clusters.mortal import warm_up  # noqa: E402

WRITES = ("apply", "create", "patch", "delete")


def main() -> None:
    warm_up()
    for line in sys.stdin:
        change, die_at = map(int, line.split())
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            _carry(change, die_at, writing)
            os._exit(0)
        os.close(writing)
        _, status = os.waitpid(pid, 0)
        passed = os.read(reading, 64)
        os.close(reading)
        assert passed or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL), status
        print(int(passed or 0), flush=True)


def _carry(change: int, die_at: int, report: int) -> None:
    numbers = count(1)

    def point() -> int:
        number = next(numbers)
        if number == die_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    def around(write: Callable[..., Any]) -> Callable[..., Any]:
        def written(*args: Any, **options: Any) -> Any:
            point()
            answer = write(*args, **options)
            point()
            return answer

        return written

    for name in WRITES:
        setattr(Kube, name, around(getattr(Kube, name)))
    run(change)
    os.write(report, str(next(numbers) - 1).encode())


if __name__ == "__main__":
    main()
