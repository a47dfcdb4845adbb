"""How much each person keeps in a home on the login node itself. Blocking, bounded in time.

`du` counts (coreutils 8.32 to 9.7): `-x` leaves out what is mounted below, `-0` keeps names that hold line ends in one
piece. A home is a directory right below `/home`, or root's own.
"""

from clusters.provisioner import Executor, Home

ROOT, HOMES = "/root", "/home"
TIME_LIMIT_S = 4.0
COUNT = ("du", "-k", "-x", "-0", "--max-depth=1", "--", ROOT, HOMES)
# An empty directory takes a block or two itself.
EMPTY_KIB = 16


def homes_by(executor: Executor) -> tuple[Home, ...]:
    """Raises Unavailable, also when it is not counted in time."""
    return homes_in(executor.run(COUNT, timeout_s=TIME_LIMIT_S).stdout)


def homes_in(printed: bytes) -> tuple[Home, ...]:
    """The largest first. What could not be read is not counted; `du` prints the rest all the same."""
    found = [home for line in printed.split(b"\0") if (home := _home(line.decode(errors="replace")))]
    return tuple(sorted(found, key=lambda home: (-home.bytes, home.user)))


def _home(line: str) -> Home | None:
    kib, _, path = line.partition("\t")
    user = "root" if path == ROOT else path.removeprefix(f"{HOMES}/")
    is_home = path == ROOT or (path.startswith(f"{HOMES}/") and "/" not in user)
    if not is_home or not kib.isdigit() or int(kib) <= EMPTY_KIB:
        return None
    return Home(user, int(kib) * 1024)
