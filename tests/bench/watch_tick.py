"""The watcher's own CPU for a tick at 50,000 jobs and 5,000 nodes, and the bytes that a changed row costs a viewer."""

import json
import time
from collections.abc import Iterator
from unittest.mock import patch

from django.db import transaction

from tests.bench.setting import NODES, Stage

JOBS = 50_000
TICKS = 5
CHANGED = 100
MOST_CPU_S = 0.5


def lines() -> Iterator[str]:
    with transaction.atomic():
        stage = Stage(JOBS)
        yield f"watch tick  {JOBS} jobs {NODES} nodes  first look        {cpu_of(stage):6.2f} s CPU"
        unchanged = min(cpu_of(stage) for _ in range(TICKS))
        verdict = "" if unchanged < MOST_CPU_S else "   ABOVE THE TARGET"
        yield f"watch tick  {JOBS} jobs {NODES} nodes  nothing changed   {unchanged:6.2f} s CPU{verdict}"
        stage.edit(CHANGED)
        sent: list[dict[str, object]] = []
        with (
            patch("console.live._send", lambda topic, message: sent.append(message)),
            patch("django.db.transaction.on_commit", lambda run, **options: run()),
        ):
            cost = cpu_of(stage)
        size = sum(len(json.dumps(message)) for message in sent)
        yield f"watch tick  {JOBS} jobs {NODES} nodes  {CHANGED} rows changed  {cost:6.2f} s CPU"
        yield f"live push   {CHANGED} changed rows  {size / CHANGED:8.0f} bytes a row, in {len(sent)} message"
        transaction.set_rollback(True)


def cpu_of(stage: Stage) -> float:
    """Less what making the generated answer costs, which is Slurm's work and not the watcher's."""
    answer = stage.slurm.executor.answers["squeue"]
    stage.slurm.executor.answers["squeue"] = _Ready(answer)
    try:
        began = time.process_time()
        stage.look()
        return time.process_time() - began - stage.slurm.executor.answers["squeue"].spent
    finally:
        stage.slurm.executor.answers["squeue"] = answer


class _Ready:
    """Measures the answer that it passes on."""

    def __init__(self, answer) -> None:  # type: ignore[no-untyped-def]
        self.answer = answer
        self.spent = 0.0

    def __call__(self, argv):  # type: ignore[no-untyped-def]
        began = time.process_time()
        found = self.answer(argv)
        self.spent += time.process_time() - began
        return found
