"""Running a service as an unprivileged user when the console is started as root.

PostgreSQL refuses to run as root. The user is `nobody`: it exists on every Debian and Ubuntu, and initdb needs a user
with a name. A checkout that `nobody` cannot reach (under `/root`, say) would need its files moved or its parents
opened to the world; instead the service keeps the one capability that lets it pass closed directories.
"""

import os
import pwd
import signal
from collections.abc import Iterable
from pathlib import Path

UNPRIVILEGED = "nobody"


def is_root() -> bool:
    return os.geteuid() == 0


def give_to_unprivileged(path: Path) -> None:
    """Make the unprivileged user the owner of a file, or of a directory and all in it. Does nothing unless run as
    root. Idempotent.
    """
    if not is_root():
        return
    user = pwd.getpwnam(UNPRIVILEGED)
    if path.stat().st_uid == user.pw_uid:
        return
    for each in (path, *path.rglob("*")):
        os.chown(each, user.pw_uid, user.pw_gid, follow_symlinks=False)


def drop_prefix(reached: Iterable[Path], *, death_signal: signal.Signals | None = None) -> list[str]:
    """What to put before a command so that it runs unprivileged; empty for a user who is not root.

    `reached` are the paths the command must get at. `death_signal` is sent when its parent dies: a change of user
    clears what the parent had arranged (prctl(2)), so it is arranged again behind it.
    """
    if not is_root():
        return []
    user = pwd.getpwnam(UNPRIVILEGED)
    argv = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    if not all(_anyone_reaches(path) for path in reached):
        argv += ["--inh-caps=+dac_override", "--ambient-caps=+dac_override"]
    if death_signal is not None:
        argv += ["--pdeathsig", death_signal.name.removeprefix("SIG")]
    return [*argv, "--"]


def _anyone_reaches(path: Path) -> bool:
    """Whether every directory above the path lets others pass."""
    return all(parent.stat().st_mode & 0o001 for parent in path.resolve().parents)
