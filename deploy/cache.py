"""Downloads kept by content in `${XDG_CACHE_HOME:-~/.cache}/quarterdeck`, so that a second checkout needs none.

An entry is a directory named by the hash of what determines it; it is made aside and moved into place, so it is
whole or not there, and several checkouts may make it at once. Nothing is ever changed in place; all of it may be
deleted.
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from console.run.steps import CannotRun


@dataclass(frozen=True)
class Cache:
    """The cache of one user."""

    root: Path

    @classmethod
    def of_user(cls) -> "Cache":
        """Raises `CannotRun` when the directory cannot be made."""
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        root = Path(base) / "quarterdeck"
        try:
            root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CannotRun(
                f"{root} cannot be made ({error.strerror})", "set XDG_CACHE_HOME to a directory"
            ) from error
        return cls(root)

    def entry(self, kind: str, key: str) -> Path:
        """Where the entry is, or would be."""
        return self.root / kind / key

    def fetch(self, kind: str, key: str, make: Callable[[Path], None]) -> tuple[Path, bool]:
        """The entry, and whether it was there. `make` fills an empty directory when it was not; what it raises
        passes.
        """
        entry = self.entry(kind, key)
        if entry.is_dir():
            return entry, True
        entry.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=".new-", dir=entry.parent))
        try:
            made.chmod(0o755)
            make(made)
            self._publish(made, entry)
        finally:
            shutil.rmtree(made, ignore_errors=True)
        return entry, False

    def _publish(self, made: Path, entry: Path) -> None:
        try:
            made.rename(entry)
        except OSError:
            if not entry.is_dir():  # else somebody else was faster, with the same content
                raise


def digest(*parts: bytes) -> str:
    """A short name for a content."""
    total = hashlib.sha256()
    for part in parts:
        total.update(hashlib.sha256(part).digest())
    return total.hexdigest()[:24]
