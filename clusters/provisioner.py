"""The port between clusters and the platforms that run them.

`clusters` knows this protocol only; adapters live in `slurm.provisioners` and are found by dotted path in
`settings.PROVISIONERS`, so that nothing here imports upward. Every adapter, the tests' fake included, passes
`tests/contracts/test_provisioner.py`. All methods block and run in a worker, the watcher or a command, never in a
web request except where their docstring says that they are quick. Adapters raise `ConsoleError`s only.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from django.conf import settings
from django.utils.module_loading import import_string

from clusters.acts import Act, Touch
from clusters.observation import Judgement, Observation
from clusters.ref import ClusterRef as ClusterRef
from clusters.spec import ClusterSpec
from console.errors import Problem

Say = Callable[[str], None]


@dataclass(frozen=True)
class Completed:
    """A command's end. `stdout` is bytes as printed: decoding hostile text is the reader's work."""

    code: int
    stdout: bytes
    stderr: str


class Executor(Protocol):
    """Runs commands beside the controller. No shell ever parses them."""

    def run(self, argv: Sequence[str], *, timeout_s: float = 4.0, stdin: bytes = b"") -> Completed:
        """Block until `argv` ends. Raises Unavailable when it cannot be run or does not answer in time."""
        ...

    def run_each(self, commands: Sequence[Sequence[str]], *, timeout_s: float = 4.0) -> tuple[Completed, ...]:
        """The same for several, in their order, as cheaply as the platform can; `timeout_s` is for each. Raises
        Unavailable for the first that cannot be run or is late; one that merely fails does not stop the others."""
        ...


@dataclass(frozen=True)
class LoginEndpoint:
    """Where the login node's sshd listens, and the one host key it may show (OpenSSH public key line).

    `tunnel` is set where no address of it can be reached from the console: what the opener in `settings.TUNNELS` needs
    to make the connection through the platform. `host` and `port` are then only names.
    """

    host: str
    port: int
    user: str
    host_key: str
    tunnel: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Home:
    """What somebody keeps on the login node itself, on no volume. `bytes` is what it takes on the disk."""

    user: str
    bytes: int

    @property
    def mib(self) -> int:
        return max(1, self.bytes // 2**20)


class Provisioner(Protocol):
    def render(self, spec: ClusterSpec) -> Mapping[str, str]:
        """The files or objects that would be applied, by name. Pure: same spec, same answer."""
        ...

    def check(self, spec: ClusterSpec, *, shadow: bool = True) -> tuple[Problem, ...]:
        """Ask the platform without touching the cluster (a shadow controller reads the candidate). At most 12 s."""
        ...

    def foresee(self, act: Act) -> tuple[Touch, ...]:
        """What the act restarts, takes away or makes read its files again, in the order in which that happens, with
        what becomes of jobs there and of files. Nothing for a drain or its end, which every platform does alike. Pure:
        it asks nobody, so it may be called in a web request.
        """
        ...

    def apply(self, spec: ClusterSpec, say: Say, *, force: bool = False) -> None:
        """Make it so. Idempotent: may be run again after a kill at any point. `say` takes one sentence a step.

        Nodes that go are drained first, and `judge` waits patiently for the jobs on them (`force` ends those instead);
        what can only be written afterwards is written by the apply that follows `APPLY_AGAIN`.
        Raises Rejected when the cluster refuses (the adapter has then put its own last good files back where it
        could), Unavailable when it cannot tell.
        """
        ...

    def observe(self) -> Observation:
        """Look once. Never raises for an absent or sick cluster: it says so in the answer."""
        ...

    def judge(self, spec: ClusterSpec) -> Judgement:
        """Whether the cluster now is what `spec` says, by reading the running configuration back."""
        ...

    def revive(self) -> tuple[str, ...]:
        """Bring back parts that should run and do not; sentences of what was done. Quick when there is nothing."""
        ...

    def restart(self, part: str, say: Say, *, when_idle: bool = False) -> None:
        """Restart `controller`, `login`, `workers`, or one node by its Slurm name (its reboot).

        `when_idle`, of nodes only: drain them with a reason of ours and return; `revive` restarts each once its jobs
        have ended and lets it take new ones. Nodes that are drained already keep their reason, and of all workers they
        are left out.
        """
        ...

    def drain(self, nodes: Sequence[str], reason: str) -> None:
        """Have these nodes take no new jobs; those on them go on. Raises Rejected or Unavailable."""
        ...

    def resume(self, nodes: Sequence[str]) -> None:
        """Let drained nodes take jobs again; nothing happens to those that do. Raises Rejected or Unavailable."""
        ...

    def login(self) -> LoginEndpoint:
        """Quick. Raises Unavailable while the login node is not up."""
        ...

    def homes(self) -> tuple[Home, ...]:
        """Whose files are in homes on the login node that are on no volume, the largest first; nobody's if there are
        none. For a page that asks for it by itself: some seconds at most. Raises Unavailable when it cannot be told
        in time, or while the login node is not up.
        """
        ...

    def executor(self, login: str = "") -> Executor:
        """Quick. With the name of a login user, where the platform has such: commands run as them, in their home."""
        ...

    def login_executor(self) -> Executor:
        """Runs commands where people sign in. Quick. Raises Unavailable while the login node is not up."""
        ...

    def node_executor(self, node: str) -> Executor:
        """Runs commands on a worker itself, with the rights that its slurmd has. Quick. Raises Unavailable while the
        node is not up."""
        ...

    def terminate(self, say: Say) -> None:
        """Stop everything and keep what must be kept (accounting, volumes). Idempotent."""
        ...

    def destroy(self, say: Say) -> None:
        """Remove what is left. Idempotent."""
        ...


def provisioner_named(kind: str, ref: ClusterRef) -> Provisioner:
    """The adapter of `kind` for one cluster. Quick: adapters connect late."""
    provisioner: Provisioner = import_string(settings.PROVISIONERS[kind])(ref)
    return provisioner
