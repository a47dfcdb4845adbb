#!/usr/bin/env python3
"""Deletes what was made in this checkout: the environment, the front-end files, and `var/` with all data.

Refuses while a console or `make kube` runs here. The downloads in the user's cache stay.
"""

import contextlib
import fcntl
import os
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MADE = [
    ".venv",
    "node_modules",
    "var",
    "static/vendor",
    ".mypy_cache",
    ".ruff_cache",
    ".pytest_cache",
    ".hypothesis",
]
sys.path.insert(0, str(ROOT))

from console.run.layout import Layout  # noqa: E402 - found only after the line above
from console.run.records import clear_leftovers  # noqa: E402
from console.run.steps import CannotRun, Steps  # noqa: E402
from slurm.provisioners.sandbox.within import remove_tree  # noqa: E402


def main() -> int:
    """Exit status 1 with one line while something runs."""
    layout = Layout(ROOT, ROOT / "var")
    try:
        layout.make()
        clear_leftovers(layout, Steps())
        _check_no_rig(layout.var / "kube" / "lock")
    except CannotRun as problem:
        print(problem.line(), file=sys.stderr)
        return 1
    layout.remove_sockets()
    for name in MADE:
        _delete(ROOT / name)
    left = [name for name in MADE if (ROOT / name).exists()]
    if left:
        print(f"quarterdeck: {', '.join(left)} could not be deleted in full: use root", file=sys.stderr)
    return 1 if left else 0


def _check_no_rig(lock: Path) -> None:
    """Raise `CannotRun` while a Kubernetes API server of `make kube` holds its lock."""
    if not lock.exists():
        return
    with lock.open() as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CannotRun(
                "a Kubernetes API server runs in this checkout", "stop `make kube` first"
            ) from None


def _delete(path: Path) -> None:
    if path.is_symlink():
        path.unlink()
        return
    # A cluster's own directories may be closed even to their owner.
    for directory, names, _ in os.walk(path):
        for name in names:
            below = os.path.join(directory, name)
            if not os.path.islink(below) and not os.access(below, os.R_OK | os.W_OK | os.X_OK):
                with contextlib.suppress(OSError):
                    os.chmod(below, 0o700)
    shutil.rmtree(path, ignore_errors=True)
    # Login users' own files may belong to numbers of this user's ranges.
    remove_tree(path)


if __name__ == "__main__":
    sys.exit(main())
