"""Files of login users from outside their cluster. Where people are told apart by ranges these belong to numbers that
the console's user has no power over; who is root of a user namespace with the same map has.

Also the program that is that root, for one action: `own FD NAMES`, `remove PATH`, `empty PATH`, `used PATHS` or
`nothing`. Standard library only.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from slurm.provisioners.sandbox.apart import WITHIN, Way, take, unshare, way
from slurm.provisioners.sandbox.programs import run_program
from slurm.provisioners.sandbox.room import empty_directory, remove_directory
from slurm.provisioners.sandbox.usage import used_bytes

OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A volume or a home may be large.
LIMIT_S = 600.0


def remove_tree(path: Path) -> None:
    """Remove a directory, whoever its files belong to. Idempotent. What cannot be removed stays."""
    remove_directory(path)
    if way() is Way.RANGES and path.exists() and not path.is_symlink():
        run_program(WITHIN, "remove", str(path), limit_s=LIMIT_S)


def empty_tree(path: Path) -> None:
    """Remove what is in a directory, whoever it belongs to. Never follows links."""
    empty_directory(path)
    if way() is Way.RANGES and path.is_dir() and any(path.iterdir()):
        run_program(WITHIN, "empty", str(path), limit_s=LIMIT_S)


def used_in(paths: Sequence[Path]) -> dict[Path, int | None]:
    """What the files below each take on the disk, those that are closed to the console with them; None for more of them
    than are worth counting, and where they could not be counted."""
    if way() is not Way.RANGES:
        return _used(paths)
    done = run_program(WITHIN, "used", *(str(path) for path in paths), limit_s=LIMIT_S)
    counts = json.loads(done.stdout) if done.returncode == 0 else [None] * len(paths)
    return dict(zip(paths, counts, strict=True))


def _used(paths: Sequence[Path]) -> dict[Path, int | None]:
    return {path: used_bytes(path.resolve()) for path in paths}


def give_homes(directory: int, numbers: Mapping[str, int]) -> None:
    """Make the directories in this open one their users', with all that is in them, where they are the console's own
    so far. Raises OSError."""
    done = run_program(
        WITHIN, "own", str(directory), json.dumps(dict(numbers)), limit_s=LIMIT_S, pass_fds=(directory,)
    )
    if done.returncode:
        raise OSError(f"the homes could not be given to their users: {done.stderr.strip()[-300:]}")


def _own(directory: int, numbers: Mapping[str, int]) -> None:
    for name, number in numbers.items():
        opened = os.open(name, OPEN, dir_fd=directory)
        try:
            if os.fstat(opened).st_uid == 0:
                # The home itself comes last: if this is cut short, it is done again.
                for parent, entry in _below(opened):
                    os.chown(entry, number, number, dir_fd=parent, follow_symlinks=False)
                os.fchown(opened, number, number)
        finally:
            os.close(opened)


def _below(directory: int) -> Iterator[tuple[int, str]]:
    for _, directories, files, parent in os.fwalk(".", dir_fd=directory):
        yield from ((parent, name) for name in (*directories, *files))


def main(arguments: list[str]) -> int:
    action, *words = arguments
    try:
        take(Way.RANGES)
        unshare(0)
        if action == "own":
            _own(int(words[0]), json.loads(words[1]))
        elif action == "remove":
            remove_directory(Path(words[0]))
        elif action == "empty":
            empty_directory(Path(words[0]))
        elif action == "used":
            print(json.dumps(list(_used([Path(word) for word in words]).values())))
    except OSError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
