"""Run commands once in a throwaway copy of a cluster's root, without network, and say how each ended.

Used for configurations nobody trusts yet: the namespaces are new and private, so a shadow controller has the real
ports, users and paths and still can touch nothing of the cluster, running or not. Standard library only; runs in the
keeper's program (`keeper try DIR`), reads DIR/trials.json and prints the results as JSON.
"""

import json
import os
import select
import signal
import sys
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from slurm.provisioners.sandbox import linux
from slurm.provisioners.sandbox.apart import unshare
from slurm.provisioners.sandbox.daemon import Spec, fork_command, tail
from slurm.provisioners.sandbox.room import enter_room, room_from

POLL_S = 0.01


@dataclass(frozen=True)
class Trial:
    """A command. It succeeds by exit status 0 or by being ready: somebody listens on its port or socket, and
    `ready_argv`, if given, exits with 0. It fails by another status, by printing `doom_mark`, or at the limit. Then it
    is ended, unless it succeeded and `stays` for those after it. Its output goes to `log`.
    """

    argv: tuple[str, ...]
    log: str
    env: dict[str, str] = field(default_factory=dict)
    user: tuple[int, int] | None = None
    ready_port: int | None = None
    ready_path: str | None = None
    ready_argv: tuple[str, ...] = ()
    doom_mark: str = ""
    stays: bool = False
    limit_s: float = 5.0


@dataclass(frozen=True)
class Ending:
    """`code` is the exit status, or None when the command was still running: it was then ready, or too late."""

    code: int | None
    ready: bool
    lines: tuple[str, ...]

    @property
    def is_success(self) -> bool:
        return self.ready or self.code == 0


def run_trials(home: Path) -> None:
    """Enter a room for `home` and print a JSON list of endings on standard output. Ends with who asked for it."""
    linux.die_with_parent()
    flags = linux.CLONE_NEWNS | linux.CLONE_NEWPID | linux.CLONE_NEWUTS | linux.CLONE_NEWNET
    unshare(flags)
    receive, send = os.pipe()
    pid = os.fork()
    if pid == 0:
        linux.die_with_parent()
        os.close(receive)
        try:
            answer = _try_inside(home)
        except OSError as error:
            answer = json.dumps({"error": str(error)})
        os.write(send, answer.encode())
        os._exit(0)
    os.close(send)
    with os.fdopen(receive) as answers:
        sys.stdout.write(answers.read())
    os.waitpid(pid, 0)


def _try_inside(home: Path) -> str:
    room = room_from((home / "keeper/room.json").read_text())
    trials = [_trial(entry) for entry in json.loads((home / "trials.json").read_text())]
    enter_room(room, home)
    linux.set_hostname(room.hostname)
    linux.raise_loopback()
    return json.dumps([asdict(ending) for ending in run_in_turn(trials)])


def _trial(entry: dict[str, Any]) -> Trial:
    user = entry.pop("user")
    return Trial(
        **{
            **entry,
            "argv": tuple(entry["argv"]),
            "ready_argv": tuple(entry["ready_argv"]),
            "user": user and tuple(user),
        }
    )


def run_in_turn(trials: list[Trial]) -> list[Ending]:
    """One after the other, up to the first that fails; those that stay are ended last."""
    staying: list[int] = []
    endings: list[Ending] = []
    try:
        for trial in trials:
            endings.append(_run(trial, staying))
            if not endings[-1].is_success:
                break
        return endings
    finally:
        for watch in staying:
            _end(watch)


def _run(trial: Trial, staying: list[int]) -> Ending:
    """Start it, wait for its end, its readiness or the limit. Never longer than `limit_s` and a second."""
    spec = Spec(
        "trial",
        trial.argv,
        trial.log,
        0,
        env=trial.env,
        user=trial.user,
        ready_port=trial.ready_port,
        ready_path=trial.ready_path,
    )
    pid = fork_command(trial.argv, spec)
    watch = os.pidfd_open(pid)
    code, ready = _await(trial, spec, pid, watch)
    if ready and trial.stays:
        staying.append(watch)
    elif code is None:
        _end(watch)
    else:
        os.close(watch)
    return Ending(code, ready, tuple(tail(trial.log, 200)))


def _await(trial: Trial, spec: Spec, pid: int, watch: int) -> tuple[int | None, bool]:
    """(exit status or None, whether it became ready)."""
    deadline = time.monotonic() + trial.limit_s
    asking = _Asking(trial, spec)
    try:
        while time.monotonic() < deadline:
            if select.select([watch], [], [], POLL_S)[0]:
                return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), False
            if trial.doom_mark and trial.doom_mark in "\n".join(tail(trial.log, 200)):
                return None, False
            if spec.waits_for_readiness and asking.is_ready():
                return None, True
        return None, False
    finally:
        asking.stop()


class _Asking:
    """Whether a daemon is ready, asked again and again: by its port or socket, then by a client of its own.

    A controller listens before it has read everything and may still die of it; it answers its clients only afterwards.
    """

    def __init__(self, trial: Trial, spec: Spec) -> None:
        self.argv, self.spec = trial.ready_argv, spec
        self.client: int | None = None

    def is_ready(self) -> bool:
        if self.client is None and self.spec.is_ready():
            if not self.argv:
                return True
            self.client = os.pidfd_open(
                fork_command(self.argv, replace(self.spec, log=os.devnull, user=None))
            )
        if self.client is not None and select.select([self.client], [], [], 0)[0]:
            result = os.waitid(os.P_PIDFD, self.client, os.WEXITED)
            os.close(self.client)
            self.client = None
            return result is not None and result.si_code == os.CLD_EXITED and result.si_status == 0
        return False

    def stop(self) -> None:
        if self.client is not None:
            _end(self.client)


def _end(watch: int) -> None:
    signal.pidfd_send_signal(watch, signal.SIGTERM)
    if not select.select([watch], [], [], 0.5)[0]:
        signal.pidfd_send_signal(watch, signal.SIGKILL)
    os.waitid(os.P_PIDFD, watch, os.WEXITED)
    os.close(watch)
