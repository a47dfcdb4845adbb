"""Where a running console keeps its things: everything is under `var/` of the checkout, and may be deleted as a
whole.

Paths only, and the making of the directories. Unix sockets are the one exception: their names may not be longer than
107 bytes (unix(7)), so a checkout in a deep directory keeps them in a short one of its own.
"""

import hashlib
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from console.run.steps import CannotRun

LONGEST_SOCKET_NAME = "postgres/.s.PGSQL.5432.lock"
SOCKET_PATH_BYTES = 107


@dataclass(frozen=True)
class Layout:
    """`root` is the checkout; `var` what belongs to this one running console."""

    root: Path
    var: Path

    @classmethod
    def of(cls, root: Path) -> "Layout":
        """The checkout's own `var/`, or the directory that `QUARTERDECK_VAR_DIR` names: a console beside the first."""
        named = os.environ.get("QUARTERDECK_VAR_DIR")
        return cls(root=root, var=Path(named).resolve() if named else root / "var")

    @property
    def log(self) -> Path:
        return self.var / "log"

    @property
    def run(self) -> Path:
        return self.var / "run"

    @property
    def secrets(self) -> Path:
        return self.var / "secrets"

    @property
    def clusters(self) -> Path:
        return self.var / "clusters"

    @property
    def run_json(self) -> Path:
        return self.var / "run.json"

    @property
    def pids(self) -> Path:
        return self.run / "pids.json"

    @property
    def sockets(self) -> Path:
        """The directory of the unix sockets: `var/run`, or a short one named by the checkout when that is too deep."""
        return self.run if _fits(self.run) else _short_directory(self.var)

    def make(self) -> None:
        """Create the directories. Idempotent. Raises `CannotRun` when `var/` cannot be written."""
        try:
            for directory in (self.var, self.log, self.run, self.clusters):
                directory.mkdir(parents=True, exist_ok=True)
            self.secrets.mkdir(mode=0o700, exist_ok=True)
            self.secrets.chmod(0o700)
            _make_sockets(self.sockets)
            (self.run / "writable").write_text("")
        except OSError as error:
            raise CannotRun(
                f"{error.filename or self.var} cannot be written ({error.strerror})",
                f"give {self.var} to this user, or delete it and start afresh",
            ) from error

    def remove_sockets(self) -> None:
        """Delete the short directory, if that is what was used: it lies outside the checkout."""
        if self.sockets != self.run:
            shutil.rmtree(self.sockets, ignore_errors=True)


def _fits(directory: Path) -> bool:
    return len(os.fsencode(directory / LONGEST_SOCKET_NAME)) <= SOCKET_PATH_BYTES


def _short_directory(var: Path) -> Path:
    name = f"quarterdeck-{os.getuid()}-{hashlib.sha256(os.fsencode(var)).hexdigest()[:12]}"
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    for parent in (runtime, tempfile.gettempdir(), "/tmp"):
        if parent and os.path.isdir(parent) and _fits(Path(parent) / name):
            return Path(parent) / name
    raise CannotRun(
        f"no directory has a short enough path for a unix socket (tried {runtime} and /tmp)",
        "set TMPDIR=/tmp",
    )


def _make_sockets(directory: Path) -> None:
    """Others may pass through as root's services run under another user; in /tmp the name could be squatted, so
    check.
    """
    directory.mkdir(mode=0o711, parents=True, exist_ok=True)
    if directory.is_symlink() or directory.stat().st_uid != os.getuid():
        raise CannotRun(
            f"{directory} belongs to someone else",
            "delete it, or set XDG_RUNTIME_DIR to a directory of yours",
        )
