"""One daemon under the keeper: what it is (`Spec`), how far it has come (`Daemon`), and how it is forked.

A small state machine moved by two events, an exit and the passing of time; the keeper's loop owns both. Standard
library only. States, as they appear in keeper.json: waiting, starting, up, backing off, stopping, down.
"""

import json
import os
import signal
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from slurm.provisioners.sandbox import linux
from slurm.provisioners.sandbox.apart import way
from slurm.provisioners.sandbox.machine import Machine, enter_machine, machine_from

FIRST_DELAY_S, LONGEST_DELAY_S, STEADY_S = 1.0, 30.0, 30.0
# How long a daemon that forks away (slurmctld at each reconfigure) may leave its pid file pointing at a dead process:
# one that was killed, and one that ended well, which has left a child on a machine that may be busy.
FOLLOW_S, HAND_OVER_S = 0.7, 5.0
TAIL_LINES = 20
# capabilities(7). A root inside may be this machine's root (and by ranges could make a read-only volume writable), so
# daemons, jobs and logins get no more than they need: to own,
# read and end what is the cluster's (CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL), to become another user and its root
# (SETGID, SETUID, SYS_CHROOT), priorities, limits and locked memory (SYS_NICE, SYS_RESOURCE, IPC_LOCK), and to record
# a login (AUDIT_WRITE: without it sshd ends each terminal as it opens).
KEPT_CAPABILITIES = frozenset({0, 1, 3, 4, 5, 6, 7, 14, 18, 23, 24, 29})


@dataclass(frozen=True)
class Spec:
    """An entry of daemons.json; paths as seen where the keeper runs.

    `steps` run to completion before the daemon, each skipped when its `unless` path exists. `order`: lower ones
    are up first, equal ones start together. `alone_after`: only once this path exists does it start without lower ones
    that have failed. `epoch`: raise it to have the daemon restarted with all that hangs
    on it. `pidfile`: the daemon forks away and its pid is read there. `leaves`: a variable in the environment of
    what outlives it, and ends with its removal. `takes_along`: directories that go with it then. `hostname`: it
    gets a UTS namespace of its own. `machine`: its own files in the room; None where there is no room. `user` is
    (uid, gid), used only where there is a root. `ready_port` or `ready_path` (a unix socket) say when it is up.
    """

    name: str
    argv: tuple[str, ...]
    log: str
    order: int
    env: dict[str, str] = field(default_factory=dict)
    user: tuple[int, int] | None = None
    steps: tuple[dict[str, Any], ...] = ()
    ready_port: int | None = None
    ready_path: str | None = None
    pidfile: str | None = None
    hostname: str | None = None
    machine: Machine | None = None
    epoch: int = 0
    start_s: float = 60.0
    stop_s: float = 5.0
    alone_after: str = ""
    leaves: str = ""
    takes_along: tuple[str, ...] = ()

    @property
    def waits_for_readiness(self) -> bool:
        return self.ready_port is not None or self.ready_path is not None

    def is_ready(self) -> bool:
        """Asks now; a daemon that names neither port nor socket is ready once it runs."""
        if self.ready_port is not None:
            return is_listening(self.ready_port)
        return self.ready_path is None or is_answering(self.ready_path)


def specs_from(text: str) -> list[Spec]:
    """The inverse of `specs_text`."""
    return [_spec(entry) for entry in json.loads(text)["daemons"]]


def specs_text(specs: Sequence[Spec]) -> str:
    return json.dumps({"daemons": [asdict(spec) for spec in specs]}, indent=1)


def _spec(entry: dict[str, Any]) -> Spec:
    user = entry.get("user")
    changed = {
        "argv": tuple(entry["argv"]),
        "steps": tuple(entry.get("steps", ())),
        "takes_along": tuple(entry.get("takes_along", ())),
        "user": user and tuple(user),
        "machine": machine_from(entry["machine"]) if entry.get("machine") else None,
    }
    return Spec(**{**entry, **changed})


class Daemon:
    """The life of one spec. Every method returns at once; `now` is time.monotonic()."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.state = "waiting"
        self.since = time.time()
        self.pid: int | None = None
        self.restarts = 0
        self.failed_before = False
        self.last_lines: list[str] = []
        # Which UTS namespace it has to itself, if any.
        self.machine = ""
        self._delay = FIRST_DELAY_S
        self._step = 0
        self._due = 0.0
        self._dead_pid: int | None = None
        self._following = False
        self._forks = False

    # What the keeper's loop calls

    def advance(self, now: float, *, may_start: bool) -> None:
        """Do what time allows: start, notice readiness, follow a pid file, give up waiting."""
        if self.state == "stopping" and self._following:
            self._end_successor(now)
        elif self.state == "waiting" and may_start or self.state == "backing off" and now >= self._due:
            self._begin(now)
        elif self.state == "starting" and self._following or self.state == "up" and self._following:
            self._follow(now)
        elif self.state == "starting" and self._is_ready():
            self._enter("up")
            self._due = now + STEADY_S
            self.machine = machine_of(self.pid) if self.spec.hostname and self.pid else ""
        elif self.state in ("starting", "stopping") and now >= self._due:
            self._kill(signal.SIGKILL)
        elif self.state == "up" and now >= self._due:
            self._delay = FIRST_DELAY_S

    def exited(self, pid: int, status: int, now: float) -> bool:
        """Take the exit of `pid` if it is this daemon's; says whether it was."""
        if pid != self.pid:
            return False
        self.pid, self._dead_pid = None, pid
        if self.state == "stopping" and self._handed_over(status):
            self._following, self._due = True, now + HAND_OVER_S
        elif self.state == "stopping":
            self._enter("down")
        elif self.state == "starting" and self._step < len(self.spec.steps) and status == 0:
            self._step += 1
            self._launch(now)
        elif self.spec.pidfile and (status == 0 or self.state == "up"):
            was_killed = self.state == "up" and status != 0
            self._following, self._due = True, now + (FOLLOW_S if was_killed else HAND_OVER_S)
        else:
            self._fail(now, status)
        return True

    def stop(self, now: float) -> None:
        """Ask it to end; `advance` kills it when `stop_s` have passed."""
        if self.pid is None and not self._following:
            self._enter("down")
        elif self.state != "stopping":
            # What is about to fork away is let do so: ended first, it would leave its child to nobody.
            forks = (
                self.state == "starting" and self._step == len(self.spec.steps) and bool(self.spec.pidfile)
            )
            self._forks = forks and self.pid != self._pid_of_file()
            self.pid = self.pid or self._pid_of_file()
            self._enter("stopping")
            self._following = self.pid is None
            self._due = now + (HAND_OVER_S if self._following else self.spec.stop_s)
            if not self._forks:
                self._kill(signal.SIGTERM)
            if self.pid is None and not self._following:
                self._enter("down")

    def is_settled(self) -> bool:
        """Nothing to look at until a signal comes."""
        return self.state in ("up", "down") and not self._following

    def next_due(self) -> float | None:
        return self._due if self.state == "backing off" else None

    def status(self) -> dict[str, Any]:
        ticks = linux.start_ticks(self.pid) if self.pid else None
        return {
            "name": self.spec.name,
            "state": self.state,
            "pid": self.pid,
            "start_ticks": ticks,
            "since": round(self.since, 3),
            "restarts": self.restarts,
            "epoch": self.spec.epoch,
            "last_lines": self.last_lines,
            "steps": [step["argv"][-1] for step in self.spec.steps],
            "mounts": self.spec.machine.mounted if self.spec.machine else [],
            "usr": self.spec.machine.usr if self.spec.machine else "",
        }

    # Moves

    def _begin(self, now: float) -> None:
        self._step, self._following = 0, False
        self._enter("starting")
        Path(self.spec.log).parent.mkdir(parents=True, exist_ok=True)
        self._launch(now)

    def _launch(self, now: float) -> None:
        steps = self.spec.steps
        while self._step < len(steps) and os.path.exists(steps[self._step].get("unless") or ""):
            self._step += 1
        argv = steps[self._step]["argv"] if self._step < len(steps) else self.spec.argv
        if self._step == len(steps) and self.spec.pidfile:
            Path(self.spec.pidfile).unlink(missing_ok=True)
        self._due = now + self.spec.start_s
        self.pid = fork_command(argv, self.spec)

    def _follow(self, now: float) -> None:
        pid = self._pid_of_file()
        if pid and pid != self._dead_pid:
            self.pid, self._following = pid, False
            self._due = now + (STEADY_S if self.state == "up" else self.spec.start_s)
        elif now >= self._due:
            self._fail(now, None)

    def _handed_over(self, status: int) -> bool:
        """Whether a child may go on in its place, as slurmctld's does after a reconfigure (23.11 and newer): that one
        must end as well, or whatever starts next finds its port taken. One that ends for good removes its pid file."""
        if not self.spec.pidfile:
            return False
        is_named = os.path.exists(self.spec.pidfile)
        return self._pid_of_file() is not None or status == 0 and (self._forks or is_named)

    def _end_successor(self, now: float) -> None:
        pid = self._pid_of_file()
        if pid and pid != self._dead_pid:
            self.pid, self._following, self._forks = pid, False, False
            self._due = now + self.spec.stop_s
            self._kill(signal.SIGTERM)
        elif now >= self._due:
            self._following = False
            self._enter("down")

    def _pid_of_file(self) -> int | None:
        try:
            pid = int(Path(self.spec.pidfile or "").read_text())
        except (OSError, ValueError):
            return None
        return pid if linux.start_ticks(pid) is not None else None

    def _fail(self, now: float, status: int | None) -> None:
        self._following = False
        self.failed_before = True
        self.restarts += 1
        self.last_lines = [*tail(self.spec.log), *([_ending(status)] if status is not None else [])][
            -TAIL_LINES:
        ]
        self._due = now + self._delay
        self._delay = min(LONGEST_DELAY_S, self._delay * 2)
        self._enter("backing off")

    def _is_ready(self) -> bool:
        return self._step == len(self.spec.steps) and self.pid is not None and self.spec.is_ready()

    def _kill(self, number: int) -> None:
        if self.pid is not None:
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                self.pid = None

    def _enter(self, state: str) -> None:
        self.state, self.since = state, time.time()


def fork_command(argv: Sequence[str], spec: Spec) -> int:
    """Start a process with exactly the spec's environment, user, host name and log; returns its pid."""
    pid = os.fork()
    if pid:
        return pid
    try:
        _become(argv, spec)
    except OSError as error:
        print(f"cannot start {argv[0]}: {error}", file=sys.stderr, flush=True)
    finally:
        # Whatever happened: a forked child must never return into the keeper's loop.
        os._exit(127)


def _become(argv: Sequence[str], spec: Spec) -> None:
    os.setsid()
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    log = os.open(spec.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    if spec.user and way().has_root:
        # slurmctld opens the same file again as its own user.
        os.fchown(log, *spec.user)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.closerange(3, 256)
    if spec.hostname:
        linux.unshare(linux.CLONE_NEWUTS)
        socket.sethostname(spec.hostname)
    if spec.machine:
        enter_machine(spec.machine)
    if way().has_root:
        linux.bound_capabilities(KEPT_CAPABILITIES)
    if spec.user and way().has_root:
        os.setgroups([])
        os.setgid(spec.user[1])
        os.setuid(spec.user[0])
    # Without a pid namespace nothing else ends them with a killed keeper.
    linux.die_with_parent()
    os.execve(argv[0], list(argv), spec.env)


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def machine_of(pid: int) -> str:
    """The UTS namespace of a process; empty when it is gone."""
    try:
        return os.readlink(f"/proc/{pid}/ns/uts")
    except OSError:
        return ""


def is_answering(path: str) -> bool:
    """Somebody accepts on this unix socket; a file left by a killed daemon does not count."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(0.5)
        return probe.connect_ex(path) == 0


def tail(path: str, lines: int = TAIL_LINES) -> list[str]:
    """The last lines of a log, at most 16 kB of it; empty when there is none."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 16384))
            return file.read().decode(errors="replace").splitlines()[-lines:]
    except OSError:
        return []


def _ending(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"(ended by signal {os.WTERMSIG(status)})"
    return f"(ended with status {os.WEXITSTATUS(status)})"
