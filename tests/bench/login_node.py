"""A login node for measurements, and two ways to its shell: the console's worker, and OpenSSH's own client.

Each is a `Way`: bytes in and bytes out of a pty on the same sshd. `ttyd` has two more.
"""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit, urlunsplit

from django.conf import settings
from django.db import connection

from clusters import authority
from slurm.authority import certificate
from slurm.terminal import wire
from slurm.terminal.wire import Decoder, Kind
from tests.slurm.terminal.sshd import Sshd, free_port, make_sshd

ROOT = Path(__file__).resolve().parents[2]
PIECE = 256 * 1024
START_S = 30.0


class Way(Protocol):
    """A shell, its prompt not yet read. `send` and `receive` block; `receive` returns b"" at the end."""

    def send(self, data: bytes) -> None: ...

    def receive(self) -> bytes: ...

    def close(self) -> None: ...


class Cluster:
    """As much of a cluster as signing needs."""

    key = "bench"


@dataclass
class Node:
    """The login node, signed in to by certificates of an authority made for it."""

    sshd: Sshd
    scratch: Path

    def target(self) -> dict[str, object]:
        signed = certificate(Cluster, self.sshd.user, "bench")  # type: ignore[arg-type]
        return {
            "host": self.sshd.host,
            "port": self.sshd.port,
            "user": self.sshd.user,
            "host_key": self.sshd.host_key,
            "key": signed.key,
            "certificate": signed.certificate,
        }

    def ssh(self, seen_at: str = "") -> list[str]:
        """OpenSSH's client with a pty, and no file of this machine's user. `seen_at` is where it sees `scratch`."""
        signed = certificate(Cluster, self.sshd.user, "bench", minutes=60)  # type: ignore[arg-type]
        key = self.scratch / "key"
        key.touch(mode=0o600)
        key.write_text(signed.key)
        key.with_name("key-cert.pub").write_text(signed.certificate + "\n")
        known = self.scratch / "known"
        known.write_text(f"[{self.sshd.host}]:{self.sshd.port} {self.sshd.host_key}\n")
        seen = seen_at or str(self.scratch)
        options = [
            f"UserKnownHostsFile={seen}/known",
            "IdentitiesOnly=yes",
            "LogLevel=ERROR",
            "SetEnv=LANG=C.UTF-8",
        ]
        given = [part for option in options for part in ("-o", option)]
        address = f"{self.sshd.user}@{self.sshd.host}"
        return ["ssh", "-tt", "-F", "none", "-i", f"{seen}/key", *given, "-p", str(self.sshd.port), address]


@contextmanager
def login_node(scratch: Path) -> Iterator[Node]:
    home = scratch / "node"
    home.mkdir(mode=0o755)
    sshd = make_sshd(home, authority.establish(Cluster.key), free_port())
    config = home / "sshd_config"
    config.write_text(config.read_text().replace("MaxStartups 100", "MaxStartups 500"))
    sshd.start()
    try:
        yield Node(sshd, scratch)
    finally:
        sshd.stop()


@contextmanager
def terminal_worker(scratch: Path) -> Iterator[tuple[str, int]]:
    """`manage.py terminals` on the measurement's own database: its address and its process id."""
    address = urlsplit(settings.DATABASE_URL)._replace(path=f"/{connection.settings_dict['NAME']}")
    environment = {
        **os.environ,
        "DATABASE_URL": urlunsplit(address),
        "QUARTERDECK_VAR_DIR": str(scratch / "var"),
    }
    scratch.mkdir(exist_ok=True)
    log = scratch / "terminals.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "terminals"], cwd=ROOT, env=environment, stdout=out, stderr=out
        )
    path = scratch / f"var/run/terminals-{process.pid}.sock"
    try:
        deadline = time.monotonic() + START_S
        while "terminals are served" not in log.read_text():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"The terminal worker did not start: {log.read_text()[-2000:]}")
            time.sleep(0.05)
        yield str(path), process.pid
    finally:
        # What it would still write down of hundreds of terminals nobody reads.
        process.kill()
        process.wait(30)


class ByWorker:
    """What a consumer does, without web and browser: asks the worker and passes frames. `user` is whose terminal it
    is; blocks until it is open."""

    def __init__(self, address: str, target: dict[str, object], user: int = 1) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(address)
        self._decoder = Decoder()
        self._printed = b""
        owner = {"user": user, "who": "bench", "team": 0, "cluster": "bench", "cluster_slug": "bench"}
        asked = {"owner": {**owner, "address": ""}, "target": target, "columns": 80, "rows": 24}
        self._socket.sendall(wire.message(Kind.OPEN, **asked))
        while not self._take():
            pass

    def send(self, data: bytes) -> None:
        self._socket.sendall(wire.frame(Kind.INPUT, data))

    def receive(self) -> bytes:
        while not self._printed:
            self._take()
        printed, self._printed = self._printed, b""
        return printed

    def close(self) -> None:
        self._socket.sendall(wire.message(Kind.END, code="closed", sentence="Measured."))
        self._socket.close()

    def ending(self) -> str:
        """The code that it ended with, once it has; what was printed before is dropped."""
        while data := self._socket.recv(PIECE):
            for kind, payload in self._decoder.feed(data):
                if kind is Kind.ENDED:
                    return str(wire.fields(payload)["code"])
        return ""

    def _take(self) -> bool:
        """Whether the terminal was opened with it."""
        data = self._socket.recv(PIECE)
        if not data:
            raise RuntimeError("The worker closed the terminal.")
        frames = self._decoder.feed(data)
        for kind, payload in frames:
            if kind in (Kind.REFUSED, Kind.ENDED):
                raise RuntimeError(f"The worker said {kind.name}: {payload.decode()}")
        self._printed += b"".join(payload for kind, payload in frames if kind is Kind.OUTPUT)
        return any(kind is Kind.READY for kind, _ in frames)


class ByClient:
    """OpenSSH's client, its ends in pipes."""

    def __init__(self, argv: list[str]) -> None:
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)

    def send(self, data: bytes) -> None:
        assert self._process.stdin
        os.write(self._process.stdin.fileno(), data)

    def receive(self) -> bytes:
        assert self._process.stdout
        return os.read(self._process.stdout.fileno(), PIECE)

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()
