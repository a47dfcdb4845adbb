"""How a command may fail to end, in the same words wherever it ran."""

from collections.abc import Sequence

from clusters.provisioner import Completed
from console.errors import Unavailable

# What chroot, env, nsenter and setpriv end with when the command is not there (POSIX shells do the same).
_ASK_ACCOUNTING = ("sacctmgr", "sacct")
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126


def ended(argv: Sequence[str], done: Completed) -> Completed:
    """A command that ran behind a prefix. Raises Unavailable when only the prefix ran."""
    if done.code in (_NOT_FOUND, _NOT_EXECUTABLE) and not done.stdout:
        raise absent(argv, done.stderr)
    return done


def absent(argv: Sequence[str], why: str) -> Unavailable:
    return Unavailable(
        f"{argv[0]} could not be started: {why.strip()[-200:]}",
        "Slurm's commands must be installed beside the controller.",
    )


def late(argv: Sequence[str], timeout_s: float) -> Unavailable:
    whom = "Accounting (slurmdbd)" if argv[0] in _ASK_ACCOUNTING else "The controller"
    return Unavailable(
        f"{argv[0]} did not answer within {timeout_s:g} s.",
        f"{whom} may be busy, frozen or gone; look at its log.",
    )


def too_much(argv: Sequence[str], most_bytes: int) -> Unavailable:
    return Unavailable(f"{argv[0]} printed more than {most_bytes >> 20} MiB.")
