"""One supervised process: starting it, knowing how it is, ending it with everything it started.

Each child leads a session of its own, so that Ctrl-C reaches the supervisor alone and the order of stopping is
ours. Each is told to end when the supervisor dies, even by `kill -9`. Output goes straight to `var/log/NAME.log`: a
supervisor that dies takes no pipe with it.
"""

import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from console.run.death import die_with_parent
from console.run.identity import Identity, identity_of, send, session_members
from console.run.steps import CannotRun
from console.run.table import Process

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0
SETTLED_AFTER_S = 60.0


class Child:
    """A row of the table and the process that runs for it now, if any."""

    def __init__(self, row: Process, log: Path) -> None:
        self.row = row
        self.log = log
        self.popen: subprocess.Popen[bytes] | None = None
        self.identity: Identity | None = None
        self.started_at = 0.0
        self.pause_s = FIRST_PAUSE_S
        self.start_again_at: float | None = None

    @property
    def is_running(self) -> bool:
        return self.popen is not None and self.popen.poll() is None

    @property
    def ended_well(self) -> bool:
        return self.popen is not None and self.popen.returncode == 0

    @property
    def verdict(self) -> str:
        """How it ended, in words."""
        code = self.popen.returncode if self.popen is not None else None
        if code is None:
            return "is running"
        return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"

    def start(self, env: Mapping[str, str], cwd: Path) -> None:
        """Prepare and start. Does not wait. Raises `CannotRun`, when there is no such program for example."""
        self.started_at, self.start_again_at = time.monotonic(), None
        if self.row.prepare is not None:
            self.row.prepare()
        try:
            self._spawn(env, cwd)
        except OSError as error:
            what = f"{self.row.name} cannot be started ({error.strerror}: {error.filename})"
            raise CannotRun(what, "is it installed?") from error

    def _spawn(self, env: Mapping[str, str], cwd: Path) -> None:
        with self.log.open("ab") as out:
            self.popen = subprocess.Popen(
                self.row.argv(),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                cwd=cwd,
                env={**env, **self.row.env},
                start_new_session=True,
                preexec_fn=die_with_parent(self.row.stop_signal),
            )
        self.identity = identity_of(self.popen.pid)

    def plan_restart(self) -> float:
        """Set when to start again, and return in how many seconds: longer each time, unless it had settled."""
        if time.monotonic() - self.started_at > SETTLED_AFTER_S:
            self.pause_s = FIRST_PAUSE_S
        pause, self.pause_s = self.pause_s, min(self.pause_s * 2, LONGEST_PAUSE_S)
        self.start_again_at = time.monotonic() + pause
        return pause

    def ask_to_end(self) -> None:
        if self.is_running and self.identity is not None:
            send(self.identity, self.row.stop_signal)

    def sweep(self) -> None:
        """Kill what is left of the child's session. Only while its number is its own: running, or just reaped by
        us.
        """
        if self.popen is None:
            return
        for member in session_members(self.popen.pid):
            send(member, signal.SIGKILL)
        self.popen.wait()
