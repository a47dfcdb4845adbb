"""A worker that is killed (SIGKILL) as it carries one change through on a real region.

Run as `python -m tests.kube.trouble.mortal <change> <point>`. A point is the moment before or after any request that
writes to the API server; at point 0 it lives, and prints how many it passed.
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

WRITES = ("apply", "create", "patch", "delete")


def main(change_id: int, die_at: int) -> None:
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
    run(change_id)
    print(point() - 1)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
