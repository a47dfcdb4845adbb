"""One program of a rig: started, watched, stopped; gone when we are gone."""

import os
import signal
import subprocess
import threading
import time
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

    def kill(self) -> None:
        """As if it had ended by itself."""
        assert self._popen is not None, f"{self.name} is not running"
        self._popen.kill()

    def is_over(self) -> bool:
        return self._popen is not None and self._popen.poll() is not None

    def last_words(self, lines: int = 3) -> str:
        return " / ".join(self._log.read_text(errors="replace").splitlines()[-lines:])


class Kept(Process):
    """One that ends by itself now and then and is started again, as a kubelet does: kube-scheduler gives up when what
    it remembers of a pod cannot be (`FlushAndExit` in its cache), as after an API server that was killed in the midst.
    """

    def start(self) -> None:
        self._is_wanted, started = True, threading.Event()
        self._keeper = threading.Thread(target=self._keep, args=(started,), daemon=True)
        self._keeper.start()
        started.wait()

    def _keep(self, started: threading.Event) -> None:
        """Its programs die with this thread, and it with the process."""
        while self._is_wanted:
            super().start()
            started.set()
            while self._is_wanted and not self.is_over():
                time.sleep(0.1)
            time.sleep(0.5)

    def check(self) -> None:
        """It never ends for good."""

    def stop(self, *, at_once: bool = False, within_s: float = 10.0) -> None:
        if self._popen is None:
            return
        self._is_wanted = False
        self._keeper.join()
        super().stop(at_once=at_once, within_s=within_s)
