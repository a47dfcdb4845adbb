"""Who plays the ordinary user where the tests run as root: `nobody`, with a cache of packages and trees of its own."""

import os
import shutil
import stat
import sys
from pathlib import Path

from slurm.provisioners.sandbox.tree import cache_home

NOBODY = 65534
# Kept between runs.
CACHE = Path("/var/tmp/quarterdeck-tests") / str(NOBODY if os.getuid() == 0 else os.getuid())
# Python's own files, shown at their place with nothing else in the directory that is closed to others.
SHOW = """
mount --bind "$1" "$2" && mount -t tmpfs -o mode=755 tmpfs "$3" && mkdir -p "$1" && mount --bind "$2" "$1" &&
shift 3 && exec "$@"
"""


def become_nobody() -> list[str]:
    """The words before a command; none where the tests are an ordinary user's."""
    if os.getuid():
        return []
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]


def show_python(home: Path) -> list[str]:
    """The words before a command of another user that needs Python from root's own home, in a mount namespace of the
    command; none where everybody reaches it."""
    above = reversed(Path(sys.base_prefix).parents)
    closed = next((str(path) for path in above if not path.stat().st_mode & stat.S_IXOTH), "")
    if os.getuid() or not closed:
        return []
    place = home / "python"
    place.mkdir(exist_ok=True)
    apart = ["unshare", "--mount", "--propagation", "private"]
    return [*apart, "sh", "-c", SHOW, "sh", sys.base_prefix, str(place), closed]


def own_cache(cache: Path) -> None:
    """Begun with the packages that are already on this machine."""
    debs = cache / "quarterdeck/debs"
    if not debs.exists():
        debs.mkdir(parents=True)
        for package in (cache_home() / "debs").glob("*.deb"):
            shutil.copy(package, debs)
    if os.getuid() == 0:
        for path in (cache, cache / "quarterdeck", debs, *debs.iterdir()):
            os.chown(path, NOBODY, NOBODY)
