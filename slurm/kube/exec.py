"""One command in a running container (`pods/exec`): its input, its output as bytes, its exit code.

The end of a command comes on channel 3 as a Status. A kubelet names the exit code in a cause «ExitCode»
(staging/src/k8s.io/apimachinery/pkg/util/remotecommand/constants.go); kwok, and kubelets that could not start the
command, send an InternalError whose message ends in it.
"""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from websocket import WebSocketException

from clusters.provisioner import Completed
from console.errors import ConsoleError, Unavailable
from slurm.executors.endings import absent, late, too_much
from slurm.kube.errors import Asked
from slurm.kube.stream import V4, V5, Stream, open_stream
from slurm.kube.unreachable import no_answer
from slurm.kube.wire import Wire

_STDIN, _STDOUT, _STDERR, _STATUS = 0, 1, 2, 3
_EXIT = re.compile(r"(?:command terminated with exit code|exit status) (\d+)$")
_KILLED = re.compile(r"signal: \w+$")
_NOT_THERE = re.compile(r"executable file not found|no such file or directory|permission denied", re.I)


@dataclass(frozen=True)
class Command:
    """`prefix + argv` is run; complaints name `argv`."""

    container: str
    argv: Sequence[str]
    prefix: Sequence[str]
    stdin: bytes
    timeout_s: float
    most_bytes: int

    @property
    def query(self) -> list[tuple[str, str]]:
        streams = [("stdout", "true"), ("stderr", "true"), *([("stdin", "true")] if self.stdin else [])]
        words = [("command", word) for word in (*self.prefix, *self.argv)]
        return [("container", self.container), *streams, *words]


def run_in_pod(wire: Wire, asked: Asked, path: str, command: Command) -> Completed:
    """Raises Unavailable: no such pod or container, it does not run, the command is not there, no end in time, more
    output than allowed; Unpermitted."""
    deadline = time.monotonic() + command.timeout_s
    stream = open_stream(wire, asked, path, command.query, (V5, V4), command.timeout_s)
    try:
        return _Run(stream, asked, command).until(deadline)
    except (WebSocketException, OSError) as error:
        raise no_answer(asked, wire.access.server, error, command.timeout_s) from error
    finally:
        stream.close()


class _Run:
    """Collects what comes until the command has ended."""

    def __init__(self, stream: Stream, asked: Asked, command: Command) -> None:
        self.stream, self.asked, self.command = stream, asked, command
        self.pieces: dict[int, bytearray] = {_STDOUT: bytearray(), _STDERR: bytearray(), _STATUS: bytearray()}

    def until(self, deadline: float) -> Completed:
        self._feed(self.command.stdin)
        while not self.stream.ended:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise late(self.command.argv, self.command.timeout_s)
            self.stream.wait(left_s)
            self._collect()
            self.stream.send()
        return self._completed()

    def _feed(self, stdin: bytes) -> None:
        """An API server that speaks v4 only (before 1.30) has no word for the end of the input: it stays open."""
        if not stdin:
            return
        self.stream.put(_STDIN, stdin)
        if self.stream.can_close_channels:
            self.stream.close_channel(_STDIN)

    def _collect(self) -> None:
        for channel, data in self.stream.messages():
            if channel in self.pieces:
                self.pieces[channel] += data
            if sum(map(len, self.pieces.values())) > self.command.most_bytes:
                raise too_much(self.command.argv, self.command.most_bytes)

    def _completed(self) -> Completed:
        out, err, status = (bytes(piece) for piece in self.pieces.values())
        code = self._code(_decoded(status))
        return Completed(code, out, err.decode("utf-8", "replace"))

    def _code(self, status: Mapping[str, Any]) -> int:
        if status.get("status") == "Success":
            return 0
        causes = (status.get("details") or {}).get("causes") or ()
        for cause in causes:
            if cause.get("reason") == "ExitCode" and str(cause.get("message")).isdigit():
                return int(cause["message"])
        message = str(status.get("message", ""))
        if found := _EXIT.search(message):
            return int(found[1])
        if _KILLED.search(message):
            return 137
        raise self._not_run(message)

    def _not_run(self, message: str) -> ConsoleError:
        if not message:
            return Unavailable(f"Could not {self.asked.words}: the connection ended before the command did.")
        if _NOT_THERE.search(message):
            return absent(self.command.argv, message)
        return Unavailable(
            f"Could not {self.asked.words}: {message[:300]}",
            "The container may be starting, restarting or gone.",
        )


def _decoded(status: bytes) -> Mapping[str, Any]:
    try:
        decoded = msgspec.json.decode(status)
    except msgspec.DecodeError:
        return {}
    return decoded if isinstance(decoded, dict) else {}
