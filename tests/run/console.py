"""Starting a console (the tiny one, or any) from a test, and seeing what runs for it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from console.run.identity import Identity, identity_of, is_alive

ROOT = Path(__file__).resolve().parent.parent.parent


class TinyConsole:
    """One `tests.run.tiny` on a directory; start it as often as you like."""

    def __init__(self, var: Path, port: int, *more: str) -> None:
        self.var = var
        self.port = port
        self.more = more
        self.out = var.parent / f"{var.name}.out"
        self.popen: subprocess.Popen[bytes] | None = None

    def start(self) -> "TinyConsole":
        argv = [sys.executable, "-m", "tests.run.tiny", str(self.var), str(self.port), *self.more]
        self.out.write_bytes(b"")
        # The servers of the tests themselves are not those of this console.
        env = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
        with self.out.open("ab") as out:
            self.popen = subprocess.Popen(
                argv, cwd=ROOT, stdout=out, stderr=out, env=env, start_new_session=True
            )
        return self

    def up(self) -> "TinyConsole":
        """Start, and wait until it says its address."""
        self.start()
        until(lambda: "Quarterdeck is at" in self.text() or not self.is_running)
        assert self.is_running, self.text()
        return self

    @property
    def is_running(self) -> bool:
        return self.popen is not None and self.popen.poll() is None

    def send(self, signum: int) -> None:
        assert self.popen is not None
        os.kill(self.popen.pid, signum)

    def wait(self, within_s: float = 20) -> int:
        assert self.popen is not None
        return self.popen.wait(within_s)

    def kill(self) -> None:
        if self.is_running:
            self.send(signal.SIGKILL)
        self.wait()

    def text(self) -> str:
        return self.out.read_text()

    def recorded(self) -> dict[str, Identity]:
        """The children as the run wrote them down."""
        values = json.loads((self.var / "run" / "pids.json").read_text())
        return {name: Identity(**value) for name, value in values.items()}

    def processes(self) -> list[Identity]:
        """Everything alive that bears this console's mark, whoever started it."""
        mark = f"QUARTERDECK_VAR_DIR={self.var}".encode()
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and mark in _environment(entry):
                identity = identity_of(int(entry.name))
                found += [identity] if identity is not None else []
        return found


def until(claim: Callable[[], object], within_s: float = 20) -> None:
    """Wait until the claim holds; fail when it does not within the time."""
    deadline = time.monotonic() + within_s
    while not claim():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.02)


def all_gone(identities: list[Identity]) -> bool:
    return not any(is_alive(one) for one in identities)


def _environment(process: Path) -> list[bytes]:
    try:
        return (process / "environ").read_bytes().split(b"\0")
    except OSError:
        return []
