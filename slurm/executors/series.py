"""Several commands as one, where starting each would cost a connection. Pure.

A shell starts them one after the other, each under a limit of its own, and prints a mark of this call alone with the
exit status behind what each printed. The commands are the shell's arguments: none of them is parsed by it.
"""

from collections.abc import Sequence

from clusters.provisioner import Completed
from slurm.executors.endings import ended, late

# What timeout(1) ends with when the command that it killed is itself the last of its group.
_KILLED = 137
# The arguments: the mark, seconds for each, then of each command how many words it has and these. A command of n words
# is cut from the front of the list by turning it n times and dropping what comes before.
SCRIPT = """\
mark=$1 limit=$2; shift 2
while [ $# -gt 0 ]; do
  words=$1; shift
  (
    turns=$words
    while [ "$turns" -gt 0 ]; do set -- "$@" "$1"; shift; turns=$((turns - 1)); done
    shift $(($# - words))
    exec timeout --signal=KILL "$limit" "$@"
  )
  code=$?
  printf '%s %s\\n' "$mark" "$code"
  printf '%s\\n' "$mark" >&2
  [ "$code" = 137 ] && exit
  shift "$words"
done
"""


def as_one(commands: Sequence[Sequence[str]], mark: str, limit_s: float) -> list[str]:
    """The command that runs all, until the first that does not end within `limit_s`."""
    counted = [word for command in commands for word in (str(len(command)), *command)]
    return ["sh", "-c", SCRIPT, "sh", mark, f"{limit_s:g}", *counted]


def apart(
    done: Completed, commands: Sequence[Sequence[str]], mark: str, limit_s: float
) -> tuple[Completed, ...]:
    """What each of them printed and how it ended, in their order; whether one succeeded is not looked at.

    Raises Unavailable for the first that was not there, did not end in time, or of which nothing is known.
    """
    outputs = done.stdout.split(mark.encode() + b" ")
    complaints = done.stderr.split(mark + "\n")
    found = []
    for n, command in enumerate(commands):
        if n + 1 >= len(outputs) or n + 1 >= len(complaints):
            raise late(command, limit_s)
        code = int(outputs[n + 1].partition(b"\n")[0])
        if code == _KILLED:
            raise late(command, limit_s)
        printed = outputs[n].partition(b"\n")[2] if n else outputs[n]
        found.append(ended(command, Completed(code, printed, complaints[n])))
    return tuple(found)
