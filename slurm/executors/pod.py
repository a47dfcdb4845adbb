"""Slurm's commands in a container of a pod, through the API server.

A kubelet does not end a command when the connection that asked for it is closed, so each runs under `timeout` and
leaves no pile behind a frozen controller. `env -i` gives it the scrubbed environment instead of the container's, and
`head -c` ends its input: API servers before 1.30 cannot say that there is no more of it, and kwok does not listen.
All are coreutils, which every image with Slurm's commands has, and none of it passes through a shell's parsing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from clusters.provisioner import Completed
from slurm.executors.endings import ended
from slurm.executors.environment import environment
from slurm.executors.local import MOST_BYTES
from slurm.executors.series import apart, as_one
from slurm.kube.client import Kube
from slurm.outputs.text import fresh_marks

# The arguments are those of `sh -c`: a length, then the command.
_FED = 'length=$1; shift; head -c "$length" | "$@"'
# The command is killed this much after the caller has stopped waiting for it.
_GRACE_S = 1.0


@dataclass(frozen=True)
class PodExecutor:
    """Runs `argv` with the scrubbed environment plus `env`. `directory` is where commands start."""

    kube: Kube
    namespace: str
    pod: str
    container: str
    env: Mapping[str, str] = field(default_factory=dict)
    directory: str = ""
    most_bytes: int = MOST_BYTES

    def run(self, argv: Sequence[str], *, timeout_s: float = 4.0, stdin: bytes = b"") -> Completed:
        """Raises Unavailable: the pod, the container or the command is not there, no end in time, or more output than
        `most_bytes`; Unpermitted when the region's account may not run commands in pods."""
        done = self.kube.run(
            *(self.namespace, self.pod, self.container, argv),
            prefix=[*self._prefix(timeout_s), *_fed(stdin)],
            timeout_s=timeout_s,
            stdin=stdin,
            most_bytes=self.most_bytes,
        )
        return ended(argv, done)

    def run_each(self, commands: Sequence[Sequence[str]], *, timeout_s: float = 4.0) -> tuple[Completed, ...]:
        """All of them through one connection, `timeout_s` for each. Raises Unavailable as `run` does, for the first."""
        mark = fresh_marks().record
        one = as_one(commands, mark, timeout_s)
        done = self.run(one, timeout_s=timeout_s * len(commands))
        return apart(done, commands, mark, timeout_s)

    def _prefix(self, timeout_s: float) -> list[str]:
        bounded = ["timeout", "--signal=KILL", f"{timeout_s + _GRACE_S:g}"]
        start = ["-C", self.directory] if self.directory else []
        return [*bounded, "env", "-i", *start, *(f"{k}={v}" for k, v in environment(self.env).items())]


def _fed(stdin: bytes) -> list[str]:
    return ["sh", "-c", _FED, "sh", str(len(stdin))] if stdin else []
