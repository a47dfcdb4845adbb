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
from slurm.provisioners.sandbox.daemon import Daemon, Spec, machine_of, specs_from
from slurm.provisioners.sandbox.room import enter_room, room_from, write_inside

INSIDE = Path("/run/keeper")
QUICK_S, SLOW_S = 0.05, 5.0
LOG_LIMIT, LOG_KEPT = 8 * 2**20, 2**20
MARK = "QUARTERDECK_CLUSTER"


class Keeper:
    """The loop. `control` is the directory of daemons.json and keeper.json as seen from here."""

    def __init__(self, control: Path, form: str) -> None:
        self.control = control
        self.form = form
        self.daemons: dict[str, Daemon] = {}
        self.retiring: list[Daemon] = []
        self._wanted: dict[str, Spec] = {}
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
            specs = {spec.name: spec for spec in specs_from((self.control / "daemons.json").read_text())}
        except (OSError, ValueError, KeyError, TypeError) as error:
            print(f"daemons.json not taken: {error}", flush=True)
            return
        self._wanted = specs
        if self.form != "prefix":
            self._write_files()
        now = time.monotonic()
        for name, daemon in list(self.daemons.items()):
            if specs.get(name) != daemon.spec:
                daemon.stop(now)
                self.retiring.append(self.daemons.pop(name))
        self._admit()

    def _write_files(self) -> None:
        """/etc/hosts and its neighbours, which change with the nodes."""
        for name, text in room_from((self.control / "room.json").read_text()).files.items():
            if not Path(name).is_file() or Path(name).read_text() != text:
                write_inside(Path("/"), name, text)

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
            daemon.advance(now, may_start=self._lower_are_up(daemon.spec.order))
        self._write_status()
        if now >= self._next_trim:
            self._next_trim = now + SLOW_S
            self._trim_logs()

    def _sweep_after(self, daemon: Daemon) -> None:
        """A daemon that was removed, or restarted on a person's word, takes along what hangs on it.

        A worker's jobs and a login node's sessions; a mere change of its arguments ends neither.
        """
        wanted = self._wanted.get(daemon.spec.name)
        if wanted is None or wanted.epoch != daemon.spec.epoch:
            if daemon.spec.leaves:
                kill_marked(daemon.spec.leaves)
            if daemon.machine:
                kill_machine(daemon.machine)

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

    def _lower_are_up(self, order: int) -> bool:
        """Or have failed once: accounting that will not start must not keep the controller down."""
        lower = [daemon for daemon in self.daemons.values() if daemon.spec.order < order]
        return all(daemon.state == "up" or daemon.failed_before for daemon in lower)

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
        facts["start_ticks"] = linux.start_ticks(os.getpid())
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


def kill_marked(*marks: str) -> int:
    """SIGKILL every process that has one of these in its environment, their descendants and their slurmstepd.

    A slurmstepd outlives its slurmd and writes over its own environment, but a job's processes below it keep theirs.
    Returns how many were killed.
    """
    parents = _parents()
    doomed = {pid for pid in parents if not _environment(pid).isdisjoint(marks)}
    doomed |= {parents[pid] for pid in doomed if _name(parents[pid]) == "slurmstepd"}
    while more := {pid for pid, parent in parents.items() if parent in doomed} - doomed:
        doomed |= more
    doomed.discard(os.getpid())
    for pid in doomed:
        try:
            os.kill(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue
    return len(doomed)


def kill_machine(machine: str) -> None:
    """SIGKILL every process of one UTS namespace, as its link in /proc reads: what shares a host name is a machine."""
    for pid in _parents():
        if machine_of(pid) == machine:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue


def _parents() -> dict[int, int]:
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    parents[int(name)] = int(file.read().rsplit(b")", 1)[1].split()[1])
            except (OSError, ValueError, IndexError):
                continue
    return parents


def _environment(pid: int) -> set[str]:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return set(file.read().decode(errors="replace").split("\0"))
    except OSError:
        return set()


def _name(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip()
    except OSError:
        return ""


def marks_of(home: Path) -> tuple[str, str]:
    """What tells a cluster's processes from all others: its daemons by our mark, its jobs by what slurmd gives them."""
    return f"{MARK}={home}", f"SLURM_CONF={home}/conf/workers/slurm.conf"


def replace_file(path: Path, text: str) -> None:
    """Readers see the old text or the new, never a part."""
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_text(text)
    temporary.replace(path)


def start(home: Path, *, prefix: bool) -> None:
    """Fork the keeper of the cluster directory `home` away; returns when it stands inside, raises OSError if not."""
    flags = linux.CLONE_NEWNS | linux.CLONE_NEWPID | linux.CLONE_NEWUTS
    if not prefix:
        _unshare(flags)
    receive, send = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(receive)
        _keep(home, send, prefix=prefix)
    os.close(send)
    (home / "keeper/pid.json").write_text(
        json.dumps({"pid": pid, "start_ticks": linux.start_ticks(pid), "prefix": prefix})
    )
    with os.fdopen(receive) as answers:
        answer = answers.read()
    if answer != "inside":
        (home / "keeper/pid.json").unlink()
        raise OSError(answer or "the keeper ended before it had entered the cluster's root")


def probe() -> None:
    """Make the namespaces and one mount of each kind a room needs; raises OSError at the first refusal."""
    _unshare(linux.CLONE_NEWNS | linux.CLONE_NEWPID | linux.CLONE_NEWUTS)
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


def _unshare(flags: int) -> None:
    if os.getuid():
        linux.unshare_as_user(flags)
    else:
        linux.unshare(flags)


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
    """`start DIR [--prefix]`, `probe DIR` or `try DIR`; the last is described in `trial`."""
    action, home, *options = arguments
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
