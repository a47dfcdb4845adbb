"""Where a volume may be mounted: the one place that says so. Pure.

A path is the same on the login node and on every worker, whose root belongs to the platform: what Slurm, ssh and the
system need is not covered up. Whether the volume may be mounted at all is for `clusters.mountable`; whether a link
stands at the path on the machines themselves, for the provisioner's `check`.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from clusters.spec import Mount
from console.errors import Problem

VOLUME_KEY = re.compile(r"v[0-9a-f]{12}")
# Letters that need no quoting in a shell, in fstab or in a pod's mountPath, where a colon is forbidden.
PATH = re.compile(r"(/[A-Za-z0-9_][A-Za-z0-9_.-]*)+")
LONGEST_PATH = 200
MOST_MOUNTS = 16
# The system's, and what is local to each node on purpose: everything below belongs to them too.
SYSTEM = (
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/lost+found", "/proc", "/root", "/run",
    "/sbin", "/sys", "/tmp", "/usr", "/var",
)  # fmt: skip


def mount_problems(mounts: Sequence[Mount]) -> Iterator[Problem]:
    """Everything wrong with the places, at `mounts[i].path` or `mounts[i].volume`."""
    if len(mounts) > MOST_MOUNTS:
        yield Problem("mounts", f"A cluster mounts at most {MOST_MOUNTS} volumes, not {len(mounts)}.")
    for index, mount in enumerate(mounts):
        where, earlier = f"mounts[{index}]", mounts[:index]
        if not VOLUME_KEY.fullmatch(mount.volume):
            yield Problem(f"{where}.volume", "This names no volume.", "Choose one of the list.")
        elif twin := next((other for other in earlier if other.volume == mount.volume), None):
            yield Problem(
                f"{where}.volume",
                f"{mount.name} is mounted already, at {twin.path}.",
                "A volume has one path.",
            )
        if why := path_problem(mount.path):
            yield Problem(f"{where}.path", *why)
        elif other := next((other for other in earlier if _overlap(mount.path, other.path)), None):
            yield Problem(f"{where}.path", *_overlap_words(mount.path, other))


def path_problem(path: str) -> tuple[str, str] | None:
    """What is wrong with one path by itself, and what to do; None when it may be used."""
    if not path.startswith("/"):
        return "A path begins with a slash.", "For example /shared."
    if ".." in path.split("/") or "." in path.split("/"):
        return "A path has no . and no .. in it.", "Write it as it will be, for example /shared."
    if not PATH.fullmatch(path):
        return (
            "Use letters, digits, dots, hyphens and underscores between single slashes.",
            "For example /shared or /data/imagenet, without a slash at its end.",
        )
    if len(path) > LONGEST_PATH:
        return f"A path has at most {LONGEST_PATH} characters.", "Choose a shorter one."
    if owner := next((top for top in SYSTEM if path == top or path.startswith(f"{top}/")), None):
        return f"{owner} belongs to the system on every node.", "Use /shared, /data or /home, for example."
    return None


def _overlap(one: str, other: str) -> bool:
    return one == other or _is_below(one, other) or _is_below(other, one)


def _is_below(path: str, other: str) -> bool:
    return PurePosixPath(other) in PurePosixPath(path).parents


def _overlap_words(path: str, other: Mount) -> tuple[str, str]:
    if path == other.path:
        return f"{other.name} is mounted at {path} already.", "Choose another path."
    if _is_below(path, other.path):
        return f"{path} is inside {other.path}, where {other.name} is mounted.", "Choose a path beside it."
    return f"{path} would cover {other.path}, where {other.name} is mounted.", "Choose a path beside it."
