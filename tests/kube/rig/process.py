"""One program of a rig: started, watched, stopped; gone when we are gone."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from console.run.death import die_with_parent
from tests.kube.rig.api import wait_until


class Process:
    """Not started at first. It may be started again after `stop`; the log goes on."""

    def __init__(
        self, name: str, argv: Sequence[str], log: Path, env: Mapping[str, str] | None = None
    ) -> None:
        self.name = name
        self._argv = list(argv)
        self._log = log
        self._env = dict(os.environ if env is None else env)
        self._popen: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """It dies with the thread that calls this, by `kill -9` of our process too."""
        with self._log.open("ab") as out:
            self._popen = subprocess.Popen(
                self._argv,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=self._env,
                start_new_session=True,
                preexec_fn=die_with_parent(signal.SIGKILL),
            )

    def check(self) -> None:
        """Raises RuntimeError with its last words when it ended by itself."""
        if self._popen is not None and self._popen.poll() is not None:
            raise RuntimeError(f"{self.name} ended with {self._popen.returncode}: {self.last_words()}")

    def freeze(self) -> None:
        """It does nothing more until `thaw`: none of its threads runs when this returns. It must be running."""
        assert self._popen is not None, f"{self.name} is not running"
        self._popen.send_signal(signal.SIGSTOP)
        wait_until(f"{self.name} to stand still", lambda: self._states() == {"T"})

    def thaw(self) -> None:
        """Nothing where it is not running."""
        if self._popen is not None:
            self._popen.send_signal(signal.SIGCONT)

    def _states(self) -> set[str]:
        """Of all threads, as proc(5) writes them."""
        assert self._popen is not None
        threads = Path(f"/proc/{self._popen.pid}/task").glob("*/stat")
        return {thread.read_text().rpartition(")")[2].split()[0] for thread in threads}

    def stop(self, *, at_once: bool = False, within_s: float = 10.0) -> None:
        """`at_once` kills; otherwise it is asked first. Idempotent."""
        if self._popen is None:
            return
        self.thaw()
        self._popen.send_signal(signal.SIGKILL if at_once else signal.SIGTERM)
        try:
            self._popen.wait(within_s)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()
        self._popen = None

    def last_words(self, lines: int = 3) -> str:
        return " / ".join(self._log.read_text(errors="replace").splitlines()[-lines:])
