"""The watcher as a child process of the measurement, and what it has cost."""

import json
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.bench import kube_stage as stage


@dataclass(frozen=True)
class Cost:
    """What the watcher has spent up to a moment, or between two."""

    at: float
    cpu_s: float
    peak_mib: float
    looks: int
    requests: Counter[str]

    def since(self, before: "Cost") -> "Cost":
        asked = Counter({verb: n - before.requests[verb] for verb, n in self.requests.items()})
        looks = self.looks - before.looks
        return Cost(self.at - before.at, self.cpu_s - before.cpu_s, self.peak_mib, looks, asked)

    def a_minute(self, count: float) -> float:
        return 60 * count / self.at


class Watching:
    """The watcher's process."""

    def __init__(self, log: Path) -> None:
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.bench.kube_watcher"],
                env=stage.environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=out,
                text=True,
            )

    def cost(self) -> Cost:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        answer["requests"] = Counter(answer["requests"])
        return Cost(at=time.monotonic(), **answer)

    def over(self, seconds: float) -> Cost:
        before = self.cost()
        time.sleep(seconds)
        return self.cost().since(before)

    def stop(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
