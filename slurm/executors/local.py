"""Slurm's commands on this machine, behind a prefix that enters the cluster's root (chroot, nsenter).

Blocking. Every command has a time limit after which its whole process group is killed, and a limit on what it
may print, so that a frozen controller or a runaway answer costs neither the caller's thread nor its memory.
"""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO

from clusters.provisioner import Completed
from slurm.executors.endings import absent, ended, late, too_much
from slurm.executors.environment import environment

MOST_BYTES = 256 * 2**20
_CHUNK = 2**16


@dataclass(frozen=True)
class LocalExecutor:
    """Runs `prefix + argv` with the scrubbed environment plus `env`.

    `directory` is where commands start, as seen behind the prefix. sbatch takes it, and `HOME` and `USER` of `env`, for
    the job's own.
    """

    prefix: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    directory: str = ""
    most_bytes: int = MOST_BYTES

    def run(self, argv: Sequence[str], *, timeout_s: float = 4.0, stdin: bytes = b"") -> Completed:
        """Raises Unavailable: not there, not in time, or more output than `most_bytes`."""
        process = self._start(argv)
        try:
            output = _Talk(process, stdin, self.most_bytes).until(time.monotonic() + timeout_s)
        except _Excess as excess:
            raise too_much(argv, self.most_bytes) from excess
        finally:
            _kill_group(process)
        if output is None:
            raise late(argv, timeout_s)
        out, err = output
        return ended(argv, Completed(process.returncode, out, err.decode("utf-8", "replace")))

    def run_each(self, commands: Sequence[Sequence[str]], *, timeout_s: float = 4.0) -> tuple[Completed, ...]:
        """One after the other, `timeout_s` for each. Raises Unavailable as `run` does, for the first."""
        return tuple(self.run(command, timeout_s=timeout_s) for command in commands)

    def _start(self, argv: Sequence[str]) -> "subprocess.Popen[bytes]":
        enter = ["env", "-C", self.directory] if self.directory else []
        try:
            return subprocess.Popen(
                [*self.prefix, *enter, *argv],
                env=environment(self.env),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as refused:
            raise absent(argv, str(refused)) from refused


class _Excess(Exception):
    """More output than allowed."""


class _Talk:
    """Feeds stdin and collects both outputs without blocking on any of the three."""

    def __init__(self, process: "subprocess.Popen[bytes]", stdin: bytes, most_bytes: int) -> None:
        assert process.stdin and process.stdout and process.stderr
        self.process = process
        self.left = memoryview(stdin)
        self.room = most_bytes
        self.pieces: dict[IO[bytes], list[bytes]] = {process.stdout: [], process.stderr: []}
        self.selector = selectors.DefaultSelector()
        for stream in (process.stdin, *self.pieces):
            os.set_blocking(stream.fileno(), False)
        for stream in self.pieces:
            self.selector.register(stream, selectors.EVENT_READ)
        if stdin:
            self.selector.register(process.stdin, selectors.EVENT_WRITE)
        else:
            process.stdin.close()

    def until(self, deadline: float) -> tuple[bytes, bytes] | None:
        """Both outputs once the command has ended and closed them; None when the deadline comes first."""
        with self.selector:
            while self.selector.get_map():
                ready = self.selector.select(max(0.0, deadline - time.monotonic()))
                if not ready and time.monotonic() >= deadline:
                    return None
                for key, _ in ready:
                    self._move(key.fileobj)  # type: ignore[arg-type]
        try:
            self.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            return None
        out, err = (b"".join(pieces) for pieces in self.pieces.values())
        return out, err

    def _move(self, stream: IO[bytes]) -> None:
        if stream is self.process.stdin:
            return self._feed(stream)
        chunk = os.read(stream.fileno(), _CHUNK)
        if not chunk:
            return self._done(stream)
        self.room -= len(chunk)
        if self.room < 0:
            raise _Excess
        self.pieces[stream].append(chunk)
        return None

    def _feed(self, stream: IO[bytes]) -> None:
        try:
            self.left = self.left[os.write(stream.fileno(), self.left[:_CHUNK]) :]
        except BrokenPipeError:
            self.left = self.left[:0]
        if not self.left:
            self._done(stream)

    def _done(self, stream: IO[bytes]) -> None:
        self.selector.unregister(stream)
        stream.close()


def _kill_group(process: "subprocess.Popen[bytes]") -> None:
    """End what is left of the command and reap it; nothing happens to one that ended by itself.

    A leader that has ended is not reaped before its group is killed, so its number can not have been given
    away.
    """
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream and not stream.closed:
            stream.close()
