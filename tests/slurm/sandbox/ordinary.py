"""Who plays the ordinary user where the tests run as root: `nobody`, with a cache of packages and trees of its own."""

import os
import shutil
from pathlib import Path

from slurm.provisioners.sandbox.tree import cache_home

NOBODY = 65534
# Kept between runs.
CACHE = Path("/var/tmp/quarterdeck-tests") / str(NOBODY if os.getuid() == 0 else os.getuid())


def become_nobody() -> list[str]:
    """The words before a command; none where the tests are an ordinary user's."""
    if os.getuid():
        return []
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]


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
