"""The rig's build beside the tests that need no rig: a process of its own that yields to them."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from console.run.death import die_with_parent
from tests.kube.rig.build import Build, built

ROOT = Path(__file__).resolve().parents[3]
# About a third of two processors that the tests fill: the rig is there when the first test wants it.
LOW = 3


class BuildBeside:
    """At most one; it ends with this process and is taken up where it was by the next."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Nothing where all is built. Does not block."""
        if self._process is None and built() is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.kube.rig.build"],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
                preexec_fn=_humbly(die_with_parent(signal.SIGTERM)),
            )

    def finish(self, say: Callable[[str], None]) -> None:
        """Blocks until it has ended, however long; `say` gets its lines. Nothing when it was not started."""
        if self._process is None or self._process.stdout is None:
            return
        for line in self._process.stdout:
            say(line.rstrip())
        self._process.wait()

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait()


def result() -> Build | str:
    """The programs, or why there are none: the sentence with which tests are skipped."""
    return built() or "the Kubernetes rig is not built here: `python -m tests.kube.rig.build` says why"


def _humbly(before: Callable[[], None]) -> Callable[[], None]:
    """For `preexec_fn`. Linux shares the processor between sessions first: the session must be humble, too."""

    def arrange() -> None:
        before()
        os.nice(LOW)
        with contextlib.suppress(OSError):
            Path("/proc/self/autogroup").write_text(str(LOW))

    return arrange
