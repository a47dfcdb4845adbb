"""The keeper: the one process below which a whole cluster hangs. A program of the standard library only.

It makes the namespaces, becomes PID 1 inside the cluster's root, starts the daemons of `keeper/daemons.json` in
order, starts again whichever dies, rereads the file on SIGHUP and stops everything in reverse order on SIGTERM.
Killing it ends everything: the kernel kills all processes of a pid namespace with its PID 1. Without namespaces
(`--prefix`) it is a subreaper instead, and `space.sweep` ends what a killed keeper left. It writes
`keeper/keeper.json`; others only read that.
"""

import contextlib
import json
import os
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

from slurm.provisioners.sandbox import linux
from slurm.provisioners.sandbox.apart import Way, take, unshare
from slurm.provisioners.sandbox.daemon import Daemon, Spec, specs_from
from slurm.provisioners.sandbox.files import digest, replace_file
from slurm.provisioners.sandbox.machine import CONTROL, show_programs
from slurm.provisioners.sandbox.pidfile import deciding, keeper_pid, may_start
from slurm.provisioners.sandbox.processes import kill_machine, kill_marked, marks_of
from slurm.provisioners.sandbox.room import (
    empty_directory,
    enter_room,
    remove_directory,
    room_from,
    write_inside,
)

INSIDE = Path(CONTROL)
WAY = "--way="
QUICK_S, SLOW_S = 0.05, 5.0
LOG_LIMIT, LOG_KEPT = 8 * 2**20, 2**20


class Keeper:
    """The loop. `control` is the directory of daemons.json and keeper.json as seen from here."""

    def __init__(self, control: Path, form: str) -> None:
        self.control = control
        self.form = form
        self.daemons: dict[str, Daemon] = {}
        self.retiring: list[Daemon] = []
        # UTS namespaces of machines whose daemon was replaced while what hangs on it goes on, held open by name.
        self.former: dict[str, list[int]] = {}
        # What is shown in the place of the room's own /usr, if anything.
        self._usr = ""
        self._wanted: dict[str, Spec] = {}
        # Of which daemons.json that is: what was reported before it was read says nothing of it.
        self._taken = ""
        self._flags: set[int] = set()
        self._wake_read, self._wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._written = ""
        self._next_trim = 0.0

    def run(self) -> None:
        """Until SIGTERM; returns when all daemons have ended."""
        self._listen()
        self._read_daemons()
        while not self._flags & {signal.SIGTERM, signal.SIGINT}:
            if signal.SIGHUP in self._flags:
                self._flags.discard(signal.SIGHUP)
                self._read_daemons()
            self._turn()
            self._sleep()
        self._stop_all()

    def _listen(self) -> None:
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, lambda received, _frame: self._flags.add(received))

    def _read_daemons(self) -> None:
        """Start what is new, stop what is gone, restart what differs. An unreadable file changes nothing."""
        try:
            text = (self.control / "daemons.json").read_text()
            specs = {spec.name: spec for spec in specs_from(text)}
        except (OSError, ValueError, KeyError, TypeError) as error:
            print(f"daemons.json not taken: {error}", flush=True)
            return
        self._wanted, self._taken = specs, digest(text)
        if self.form != "prefix":
            self._write_files()
        now = time.monotonic()
        for name, daemon in list(self.daemons.items()):
            if specs.get(name) != daemon.spec:
                self._hold(daemon)
                daemon.stop(now)
                self.retiring.append(self.daemons.pop(name))
        self._admit()

    def _write_files(self) -> None:
        """/etc/hosts and its neighbours, which change with the nodes, and the programs that commands find."""
        room = room_from((self.control / "room.json").read_text())
        for name, text in room.files.items():
            if not Path(name).is_file() or Path(name).read_text() != text:
                write_inside(Path("/"), name, text)
        if room.usr != self._usr:
            if self._usr:
                linux.unmount("/usr")
            self._usr = ""
            try:
                if room.usr:
                    show_programs(room.usr)
                self._usr = room.usr
            except OSError as error:  # commands go on with the room's own; the next reading tries again
                print(f"{room.usr} not shown: {error}", flush=True)

    def _admit(self) -> None:
        """A changed daemon starts only after its former self has ended."""
        leaving = {daemon.spec.name for daemon in self.retiring}
        for name, spec in self._wanted.items():
            if name not in self.daemons and name not in leaving:
                self.daemons[name] = Daemon(spec)

    def _turn(self) -> None:
        now = time.monotonic()
        self._reap(now)
        for daemon in self.retiring:
            daemon.advance(now, may_start=False)
        for daemon in [d for d in self.retiring if d.state == "down"]:
            self.retiring.remove(daemon)
            self._sweep_after(daemon)
        self._admit()
        for daemon in self.daemons.values():
            daemon.advance(now, may_start=self._may_start(daemon.spec))
        self._write_status()
        if now >= self._next_trim:
            self._next_trim = now + SLOW_S
            self._trim_logs()

    def _sweep_after(self, daemon: Daemon) -> None:
        """A daemon that was removed, or restarted on a person's word, takes along what hangs on it.

        A worker's jobs and a login node's sessions, and the files that are the machine's own; a mere change of its
        arguments or mounts ends neither.
        """
        wanted = self._wanted.get(daemon.spec.name)
        if wanted is not None and wanted.epoch == daemon.spec.epoch:
            return
        if daemon.spec.leaves:
            kill_marked(daemon.spec.leaves)
        if daemon.machine:
            kill_machine(daemon.machine)
        for namespace in self.former.pop(daemon.spec.name, []):
            kill_machine(os.readlink(f"/proc/self/fd/{namespace}"))
            os.close(namespace)
        for place in daemon.spec.machine.own if daemon.spec.machine else ():
            empty_directory(Path(place.source))
        for directory in daemon.spec.takes_along if wanted is None else ():
            remove_directory(Path(directory))

    def _hold(self, daemon: Daemon) -> None:
        """Keep a machine's namespace open: while it is, no other gets its number."""
        if daemon.machine and daemon.pid:
            with contextlib.suppress(OSError):
                opened = os.open(f"/proc/{daemon.pid}/ns/uts", os.O_RDONLY | os.O_CLOEXEC)
                self.former.setdefault(daemon.spec.name, []).append(opened)

    def _reap(self, now: float) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for daemon in [*self.daemons.values(), *self.retiring]:
                if daemon.exited(pid, status, now):
                    break

    def _may_start(self, spec: Spec) -> bool:
        """Lower ones are up, or have failed once: accounting that will not start must not keep the controller down."""
        lower = [daemon for daemon in self.daemons.values() if daemon.spec.order < spec.order]
        may_be_alone = not spec.alone_after or os.path.exists(spec.alone_after)
        return all(daemon.state == "up" or (may_be_alone and daemon.failed_before) for daemon in lower)

    def _sleep(self) -> None:
        everyone = [*self.daemons.values(), *self.retiring]
        moving = any(not d.is_settled() and d.next_due() is None for d in everyone)
        now = time.monotonic()
        dues = [due - now for due in (daemon.next_due() for daemon in everyone) if due is not None]
        wait = QUICK_S if moving else max(QUICK_S, min([SLOW_S, *dues]))
        select.select([self._wake_read], [], [], wait)
        with contextlib.suppress(BlockingIOError):
            os.read(self._wake_read, 4096)

    def _stop_all(self) -> None:
        for order in sorted({daemon.spec.order for daemon in self.daemons.values()}, reverse=True):
            group = [daemon for daemon in self.daemons.values() if daemon.spec.order == order]
            for daemon in group:
                daemon.stop(time.monotonic())
            while not all(daemon.state == "down" for daemon in group):
                self._sleep()
                now = time.monotonic()
                self._reap(now)
                for daemon in group:
                    daemon.advance(now, may_start=False)
            self._write_status()

    def _write_status(self) -> None:
        daemons = [daemon.status() for daemon in [*self.daemons.values(), *self.retiring]]
        facts: dict[str, Any] = {"form": self.form, "pid": os.getpid(), "daemons": daemons}
        facts["start_ticks"], facts["taken"] = linux.start_ticks(os.getpid()), self._taken
        text = json.dumps(facts, indent=1)
        if text != self._written:
            self._written = text
            replace_file(self.control / "keeper.json", text)

    def _trim_logs(self) -> None:
        """All logs are opened for appending, so cutting one under its writer is safe."""
        logs = {Path(daemon.spec.log) for daemon in self.daemons.values()}
        for path in {file for log in logs for file in log.parent.glob("*.log")}:
            if path.stat().st_size > LOG_LIMIT:
                kept = path.read_bytes()[-LOG_KEPT:]
                with path.open("r+b") as file:
                    file.truncate(0)
                    file.write(kept[kept.find(b"\n") + 1 :])


def start(home: Path, *, prefix: bool) -> None:
    """Have a keeper of the cluster directory `home`; returns when it stands inside, raises OSError if it does not."""
    with deciding(home) as lock:
        if keeper_pid(home) is not None:
            return
        if not may_start(home):
            raise OSError("the cluster was ended meanwhile")
        _start(home, lock, prefix=prefix)


def _start(home: Path, lock: int, *, prefix: bool) -> None:
    """Fork the keeper away. Both are in the same new mount namespace, where the keeper exchanges the root under this
    process too: `home` and /proc are others from then on. So the keeper waits until its pid is written."""
    flags = linux.CLONE_NEWNS | linux.CLONE_NEWPID | linux.CLONE_NEWUTS
    if not prefix:
        unshare(flags)
    folder = os.open(home / "keeper", os.O_RDONLY | os.O_DIRECTORY)
    wait, go = os.pipe()
    receive, send = os.pipe()
    pid = os.fork()
    if pid == 0:
        for end in (receive, go, folder, lock):
            os.close(end)
        if not os.read(wait, 1):
            os._exit(1)
        os.close(wait)
        _keep(home, send, prefix=prefix)
    os.close(send)
    (home / "keeper/pid.json").write_text(
        json.dumps({"pid": pid, "start_ticks": linux.start_ticks(pid), "prefix": prefix})
    )
    os.write(go, b".")
    with os.fdopen(receive) as answers:
        answer = answers.read()
    if answer != "inside":
        os.unlink("pid.json", dir_fd=folder)
        raise OSError(answer or "the keeper ended before it had entered the cluster's root")


def probe() -> None:
    """Make the namespaces and one mount of each kind a room needs; raises OSError at the first refusal."""
    unshare(linux.CLONE_NEWNS | linux.CLONE_NEWPID | linux.CLONE_NEWUTS)
    pid = os.fork()
    if pid == 0:
        try:
            linux.mount("none", "/", flags=linux.MS_REC | linux.MS_PRIVATE)
            linux.mount("proc", "/proc", "proc", linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC)
            linux.mount("tmpfs", "/tmp", "tmpfs", linux.MS_NOSUID)
        except OSError as error:
            print(error, file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    if os.waitpid(pid, 0)[1]:
        raise OSError("namespaces are allowed here, but not the mounts inside them")


def _keep(home: Path, send: int, *, prefix: bool) -> NoReturn:
    """The forked child: enter the root, tell the parent, run."""
    try:
        os.setsid()
        log = os.open(home / "keeper/keeper.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        if prefix:
            linux.adopt_orphans()
            keeper = Keeper(home / "keeper", "prefix")
        else:
            room = room_from((home / "keeper/room.json").read_text())
            form = enter_room(room, home)
            linux.set_hostname(room.hostname)
            keeper = Keeper(INSIDE, form)
    except OSError as error:
        os.write(send, str(error).encode())
        os._exit(1)
    os.write(send, b"inside")
    os.close(send)
    keeper.run()
    if prefix:
        kill_marked(*marks_of(home))
    os._exit(0)


def main(arguments: list[str]) -> int:
    """`start DIR [--prefix]`, `probe DIR` or `try DIR`, with `--way=` of the cluster; `try` is described in `trial`."""
    action, home, *options = arguments
    for option in options:
        if option.startswith(WAY):
            take(Way(option.removeprefix(WAY)))
    try:
        if action == "start":
            start(Path(home), prefix="--prefix" in options)
        elif action == "probe":
            probe()
        else:
            from slurm.provisioners.sandbox.trial import run_trials

            run_trials(Path(home))
    except OSError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
