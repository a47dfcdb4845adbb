"""Homes of login users: made from outside, put away from inside.

People have shells and jobs beside their homes, some of them as root of the cluster, and the console's process is one of
the machine itself. So it opens each directory on the way by itself and follows no link; what takes a tree apart runs in
the cluster's root, where it reaches nothing else.
"""

import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from clusters.spec import Leaver
from console.errors import Problem, Rejected, Unavailable
from slurm.provisioners.sandbox.apart import Way, way
from slurm.provisioners.sandbox.cluster import SandboxCluster
from slurm.provisioners.sandbox.ranges import outside
from slurm.provisioners.sandbox.space import keeping, run_inside
from slurm.provisioners.sandbox.within import OPEN, give_homes

ARCHIVE = ".archive"
# A large home goes in slices, so that whoever waits hears of it.
SLICE_S = 20.0


def make_homes(cluster: SandboxCluster) -> None:
    """Give every login user a home that is theirs alone. Idempotent; what is there stays as it is.

    Raises Rejected at `logins.homes` for a place that is a link or somebody else's.
    """
    if not cluster.logins.on:
        return
    with _homes_directory(cluster) as homes:
        if cluster.way is Way.RANGES:
            _make_by_ranges(cluster, homes)
            return
        for user in cluster.logins.users:
            owner = user.uid if cluster.way is Way.ROOT else os.getuid()
            with _directory(homes, user.name, owner, 0o700, cluster.logins.home_of(user.name)):
                """There now."""


def _make_by_ranges(cluster: SandboxCluster, homes: int) -> None:
    """The console can make directories and not give them away. Those that are its own yet, from when everybody was the
    console's user or from a making that was cut short, become their users' with all that is in them."""
    fresh = {}
    for user in cluster.logins.users:
        with suppress(FileExistsError):
            os.mkdir(user.name, 0o700, dir_fd=homes)
        found = os.stat(user.name, dir_fd=homes, follow_symlinks=False)
        shown = cluster.logins.home_of(user.name)
        if not stat.S_ISDIR(found.st_mode):
            raise _refused(f"{shown} is no directory of the platform's.")
        if found.st_uid == os.getuid():
            fresh[user.name] = user.uid
        elif found.st_uid != outside(user.uid):
            raise _refused(f"{shown} belongs to number {found.st_uid}, not to {outside(user.uid)}.")
    if fresh:
        give_homes(homes, fresh)


def unsettled(cluster: SandboxCluster) -> list[Leaver]:
    """Those whose home is still to be put away. Asks the login node."""
    wanted = [leaver for leaver in _leavers(cluster) if leaver.home in ("archive", "delete")]
    return [leaver for leaver in wanted if _is_there(cluster, leaver) or _is_going(cluster, leaver)]


def put_away(cluster: SandboxCluster, leaver: Leaver) -> None:
    """Move the home to where only root reads, and there delete it if that was asked for. May end before all is gone:
    asked again, it goes on. Raises Unavailable."""
    homes = cluster.logins.homes_directory
    going = _going(cluster, leaver)
    _inside(cluster, "mkdir", "-p", "-m", "700", f"{homes}/{ARCHIVE}")
    if _is_there(cluster, leaver):
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        kept = f"{homes}/{ARCHIVE}/{leaver.name}-{leaver.uid}-{stamp}"
        target = kept if leaver.home == "archive" else going
        _inside(cluster, "mv", "-T", "--", f"{homes}/{leaver.name}", target)
        _inside(cluster, "chmod", "700", "--", target)
    if leaver.home == "delete":
        _inside(cluster, "timeout", str(SLICE_S), "rm", "-rf", "--one-file-system", "--", going)


@contextmanager
def _homes_directory(cluster: SandboxCluster) -> Iterator[int]:
    """The directory that holds the homes, open."""
    path = cluster.logins.homes_directory
    mount = next((mount for mount in cluster.mounts if mount.path == cluster.logins.homes), None)
    if mount is None or cluster.volumes is None:
        (cluster.home / "home").mkdir(parents=True, exist_ok=True)
        base = os.open(cluster.home, OPEN)
        names = ["home"]
    else:
        base = os.open(cluster.volumes / mount.volume, OPEN)
        names = [] if path == mount.path else ["home"]
    try:
        if not names:
            yield base
            return
        with _directory(base, names[0], os.getuid(), 0o755, path) as homes:
            yield homes
    finally:
        os.close(base)


@contextmanager
def _directory(parent: int, name: str, owner: int, mode: int, shown: str) -> Iterator[int]:
    """`name` in the open directory, made with this owner if it is not there."""
    is_new = True
    try:
        os.mkdir(name, 0o700, dir_fd=parent)
    except FileExistsError:
        is_new = False
    try:
        opened = os.open(name, OPEN, dir_fd=parent)
    except OSError as error:
        raise _refused(f"{shown} is no directory of the platform's: {error.strerror}.") from error
    try:
        if is_new:
            os.fchown(opened, owner, owner if way() is Way.ROOT else -1)
            os.fchmod(opened, mode)
        elif (found := os.fstat(opened).st_uid) != owner:
            raise _refused(f"{shown} belongs to number {found}, not to {owner}.")
        yield opened
    finally:
        os.close(opened)


def _refused(why: str) -> Rejected:
    hint = "Move it away, or choose another place for the homes."
    return Rejected(f"The homes cannot be made. {why}", (Problem("logins.homes", why, hint),), hint)


def _leavers(cluster: SandboxCluster) -> tuple[Leaver, ...]:
    stays = {user.name for user in cluster.logins.users}
    return tuple(leaver for leaver in cluster.logins.leavers if leaver.name not in stays)


def _is_there(cluster: SandboxCluster, leaver: Leaver) -> bool:
    return _exists(cluster, cluster.logins.home_of(leaver.name))


def _is_going(cluster: SandboxCluster, leaver: Leaver) -> bool:
    return leaver.home == "delete" and _exists(cluster, _going(cluster, leaver))


def _going(cluster: SandboxCluster, leaver: Leaver) -> str:
    return f"{cluster.logins.homes_directory}/{ARCHIVE}/.{leaver.name}-{leaver.uid}-goes"


def _exists(cluster: SandboxCluster, path: str) -> bool:
    return _inside(cluster, "test", "-e", path) == 0


def _inside(cluster: SandboxCluster, *argv: str) -> int:
    """On the login node, which has the volumes at their paths."""
    return run_inside(cluster.home, [*on_login(cluster), *argv], SLICE_S + 10.0).returncode


def on_login(cluster: SandboxCluster) -> list[str]:
    """The words before a command that has run inside already, and is to see what the login node sees. Raises
    Unavailable while that is not up."""
    state = keeping(cluster.home)
    sshd = state.daemon("sshd") if state else None
    if sshd is None or sshd.pid is None:
        raise Unavailable(f"The login node of {cluster.name} is not up.", "See the cluster's parts.")
    return ["nsenter", f"--target={sshd.pid}", "--mount", "--uts", "--"]
