"""Parsing and checking a slurm.conf of 10,000 lines, as the editor asks for while one types."""

import time
from collections.abc import Iterator

from slurm.checks.conf import check_conf
from slurm.conf import parse, render

LINES = 10_000
ROUNDS = 5
MOST_MS = 100.0


def lines() -> Iterator[str]:
    keys = (
        "SlurmdTimeout=60",
        "KillWait=30",
        "# a comment of usual length, as people write them",
        "MinJobAge=300",
        "",
    )
    text = "".join(f"{keys[n % len(keys)]}\n" for n in range(LINES))
    read = best(lambda: render(parse(text)))
    checked = best(lambda: check_conf(text, version="24.11", node_names=("slinky-0",)))
    verdict = "" if checked < MOST_MS else "   ABOVE THE TARGET"
    yield f"slurm.conf  {LINES} lines  parse and render  {read:6.1f} ms"
    yield f"slurm.conf  {LINES} lines  parse and check   {checked:6.1f} ms{verdict}"


def best(work) -> float:  # type: ignore[no-untyped-def]
    """The least of some rounds in milliseconds: what it costs when nobody else wants the core."""
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        work()
        times.append(1000 * (time.perf_counter() - began))
    return min(times)
