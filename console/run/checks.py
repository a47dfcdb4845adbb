"""What must be true before anything is started: each failure is one line that says what to do.

Also used by `deploy/` before the environment exists, so that a port in use is told at once and not after minutes of
downloads.
"""

import errno
import os
import shutil
import socket
from pathlib import Path

from console.numbers import typed_number
from console.run.steps import CannotRun

FREE_DISK_BYTES = 2 * 1024**3
DEFAULT_PORT = 8000
LISTENING = "0A"  # the state in /proc/net/tcp


def chosen_port() -> int:
    """The port from `PORT=`, or 8000. Raises `CannotRun` for what is no port."""
    text = os.environ.get("PORT") or str(DEFAULT_PORT)
    port = typed_number(text, most=65535)
    if not port:
        raise CannotRun(
            f"PORT={text[:20]} is not a port", "choose one from 1024 to 65535, for example PORT=8001"
        )
    if port < 1024 and os.geteuid() != 0:
        raise CannotRun(f"port {text} is for root only", "choose one above 1023, for example PORT=8001")
    return port


def check_port(port: int) -> None:
    """Raise `CannotRun` when another program listens on the port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                why = error.strerror
                raise CannotRun(
                    f"port {port} cannot be opened ({why})", "choose another: PORT=8001"
                ) from error
            hint = f"stop that, or choose another port: make run PORT={_next_free(port)}"
            raise CannotRun(f"port {port} is in use{_user_of(port)}", hint) from None


def check_disk(directory: Path) -> None:
    """Raise `CannotRun` when less than 2 GB are free where the console keeps its data."""
    existing = next(path for path in (directory, *directory.parents) if path.exists())
    free = shutil.disk_usage(existing).free
    if free < FREE_DISK_BYTES:
        raise CannotRun(
            f"only {free / 1024**3:.1f} GB are free on the disk of {existing}",
            f"free at least {FREE_DISK_BYTES // 1024**3} GB there",
        )


def check_writable(directory: Path) -> None:
    """Raise `CannotRun` when a directory, or the first of its parents that exists, cannot be written."""
    existing = next(path for path in (directory, *directory.parents) if path.exists())
    if not os.access(existing, os.W_OK | os.X_OK):
        owner = f"uid {existing.stat().st_uid}"
        raise CannotRun(
            f"{existing} cannot be written (it belongs to {owner})",
            "run as its owner, or give it to this user",
        )


def _next_free(port: int) -> int:
    for candidate in range(port + 1, min(port + 100, 65536)):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", candidate)) != 0:
                return candidate
    return port + 1


def _user_of(port: int) -> str:
    """` by NAME (pid N)` when /proc lets us see who listens; else nothing."""
    inode = _listening_inode(port)
    if inode is None:
        return ""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and _has_socket(entry, inode):
            name = (entry / "comm").read_text(errors="replace").strip()
            return f" by {name} (pid {entry.name})"
    return ""


def _listening_inode(port: int) -> str | None:
    """The inode of the socket that listens on the port (proc_pid_net(5): address, state and inode by column)."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:] if os.path.exists(table) else []:
            fields = line.split()
            if fields[3] == LISTENING and int(fields[1].rsplit(":", 1)[1], 16) == port:
                return fields[9]
    return None


def _has_socket(process: Path, inode: str) -> bool:
    try:
        return any(os.readlink(link) == f"socket:[{inode}]" for link in (process / "fd").iterdir())
    except OSError:
        return False
