"""ttyd, to compare with: Debian's package, from unstable (stable has none), unpacked beside the sandbox's trees.

Nothing is installed: it runs in a root of its own, with OpenSSH's client and a shell of the same suite. Its protocol
(ttyd 1.7.7, src/protocol.c): WebSocket with the subprotocol `tty`, a JSON greeting, then messages whose first byte is
`0` for output one way and for input the other.
"""

import base64
import fcntl
import json
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from slurm.provisioners.sandbox.apt import apt_for
from slurm.provisioners.sandbox.dress import prepare_root
from slurm.provisioners.sandbox.images import IMAGES
from slurm.provisioners.sandbox.tree import cache_home
from tests.slurm.terminal.sshd import free_port, wait_for_port

PACKAGES = ["ttyd", "bash", "coreutils", "openssh-client"]
PIECE = 256 * 1024
PING, PONG = 9, 10
GREETING = {"AuthToken": "", "columns": 80, "rows": 24}
ENTER = (
    'set -e; root=$1; scratch=$2; shift 2; mount --bind "$scratch" "$root/mnt"; mount --rbind /dev "$root/dev"; '
    'mount --rbind /proc "$root/proc"; exec chroot "$root" "$@"'
)


def ttyd_root() -> Path:
    """Blocks while packages are fetched, the first time. Raises Unavailable where they cannot be had."""
    home = cache_home() / "ttyd"
    home.mkdir(parents=True, exist_ok=True)
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "root").is_dir():
            _unpack(home)
    return home / "root"


def _unpack(home: Path) -> None:
    apt = apt_for(IMAGES["26.05"], cache_home(), lambda line: None)
    apt.update()
    files = apt.download(PACKAGES, apt.closure(PACKAGES))
    building = home / "building"
    shutil.rmtree(building, ignore_errors=True)
    prepare_root(building)
    for file in files:
        unpack = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(file)], stdout=subprocess.PIPE)
        command = ["tar", "-x", "-f", "-", "-C", str(building), "--keep-directory-symlink"]
        subprocess.run(command, stdin=unpack.stdout, check=True)
        unpack.wait()
    for name in ("dev", "proc", "mnt", "root", "tmp", "etc"):
        (building / name).mkdir(exist_ok=True)
    (building / "etc/passwd").write_text(f"bench:x:{os.getuid()}:{os.getgid()}::/root:/bin/bash\n")
    (building / "etc/group").write_text(f"bench:x:{os.getgid()}:\n")
    building.rename(home / "root")


@contextmanager
def ttyd(scratch: Path, command: Sequence[str]) -> Iterator[int]:
    """The port at which it serves `command`, which runs in ttyd's root with `scratch` at /mnt."""
    port = free_port()
    mapped = [] if os.getuid() == 0 else ["-U", "--map-current-user", "--keep-caps"]
    space = ["unshare", *mapped, "-m", "-p", "-f", "--kill-child", "/bin/sh", "-c", ENTER, "enter"]
    served = ["/usr/bin/ttyd", "-W", "-i", "127.0.0.1", "-p", str(port), *command]
    log = scratch / "ttyd.log"
    with log.open("ab") as out:
        process = subprocess.Popen(
            [*space, str(ttyd_root()), str(scratch), *served],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
        )
    try:
        wait_for_port(port, process, log)
        yield port
    finally:
        process.kill()
        process.wait(10)


class ByTtyd:
    """A page's socket, its frames read by hand: no library's cost is counted as ttyd's."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._buffer = b""
        key = base64.b64encode(os.urandom(16)).decode()
        self._socket.sendall(
            f"GET /ws HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: tty\r\n\r\n".encode()
        )
        while b"\r\n\r\n" not in self._buffer:
            self._read()
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        if b" 101 " not in head.partition(b"\r\n")[0]:
            raise RuntimeError(f"ttyd answered {head.decode(errors='replace')}")
        self._message(json.dumps(GREETING).encode())

    def send(self, data: bytes) -> None:
        self._message(b"0" + data)

    def receive(self) -> bytes:
        while True:
            printed = self._frames()
            if printed:
                return printed
            self._read()

    def close(self) -> None:
        self._socket.close()

    def _read(self) -> None:
        data = self._socket.recv(PIECE)
        if not data:
            raise RuntimeError("ttyd closed the terminal.")
        self._buffer += data

    def _message(self, payload: bytes, code: int = 2) -> None:
        """Masked with noughts, as RFC 6455 5.3 lets anybody who trusts the way."""
        size = (
            bytes([0x80 | len(payload)]) if len(payload) < 126 else b"\xfe" + len(payload).to_bytes(2, "big")
        )
        self._socket.sendall(bytes([0x80 | code]) + size + bytes(4) + payload)

    def _frames(self) -> bytes:
        """The output in the whole frames that have come (RFC 6455, 5.2)."""
        found, at, buffer = [], 0, self._buffer
        while len(buffer) - at >= 2:
            length, start = buffer[at + 1] & 0x7F, at + 2
            if length >= 126:
                width = 2 if length == 126 else 8
                length, start = int.from_bytes(buffer[start : start + width], "big"), start + width
            if len(buffer) < start + length:
                break
            code, payload = buffer[at] & 0x0F, buffer[start : start + length]
            if code == PING:
                self._message(payload, code=PONG)
            elif code == 0 or payload[:1] == b"0":
                found.append(payload if code == 0 else payload[1:])
            at = start + length
        self._buffer = buffer[at:]
        return b"".join(found)
