"""What is to last no longer than the process that made it: whole directories, and files before they get their names.

A killed process leaves them behind. The names of directories say whose they were; files that `replace_file` has not put
in their place within seconds never will be.
"""

import os
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from slurm.provisioners.sandbox import linux

# Writing one takes milliseconds.
UNPLACED_S = 10.0
_OWNER = re.compile(r"-(\d+)\.(\d+)-")


def make_passing(parent: Path, kind: str) -> Path:
    """A new directory `.kind-...` below `parent`, this process's."""
    pid = os.getpid()
    return Path(tempfile.mkdtemp(prefix=f".{kind}-{pid}.{linux.start_ticks(pid)}-", dir=parent))


def left_behind(parent: Path, kind: str) -> Iterator[Path]:
    """Those below `parent` whose process has ended."""
    for path in parent.glob(f".{kind}-*"):
        owner = _OWNER.search(path.name)
        if owner is None or linux.start_ticks(int(owner[1])) != int(owner[2]):
            yield path


def unplaced(home: Path) -> Iterator[Path]:
    """Files of a cluster that were written and not put in their place. What the keeper writes is its own business."""
    for pattern in (".*.new", "conf/*/.*.new", "ssh/.*.new", "db/.*.new"):
        for path in home.glob(pattern):
            with suppress(FileNotFoundError):  # put in its place just now
                if path.is_file() and time.time() - path.stat().st_mtime > UNPLACED_S:
                    yield path
