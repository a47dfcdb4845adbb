"""The ranges of numbers that /etc/subuid and /etc/subgid give this user (subuid(5), newuidmap(1)), and user namespaces
made with them: number 0 inside is this user, 1 and so on are the ranges'. Standard library only.
"""

import os
import pwd
import shutil
import subprocess
from pathlib import Path
from typing import NoReturn

from slurm.provisioners.sandbox import linux

SUBUID, SUBGID = Path("/etc/subuid"), Path("/etc/subgid")
# The highest number of a login user: clusters.login_rules.MOST_NUMBER, which a program of the bare standard library
# cannot import.
NEEDED = 59_999
PROGRAMS = ("newuidmap", "newgidmap")


def ranges_in(path: Path) -> list[tuple[int, int]]:
    """(first, how many) of each range that the file gives this user, by name or number. Lines that nobody could read
    are passed over, as newuidmap does."""
    mine = {str(os.getuid()), user_name()}
    try:
        lines = [line.split(":") for line in path.read_text().splitlines()]
    except OSError:
        return []
    return [
        (int(fields[1]), int(fields[2]))
        for fields in lines
        if len(fields) == 3 and fields[0] in mine and fields[1].isdigit() and fields[2].isdigit()
    ]


def size_of(path: Path) -> int:
    """How many numbers the file gives this user."""
    return sum(count for _, count in ranges_in(path))


def missing_programs() -> list[str]:
    return [name for name in PROGRAMS if shutil.which(name) is None]


def outside(number: int) -> int:
    """Which number of this machine a user's number inside is. Raises ValueError for one that has none."""
    for inside, first, count in _map(os.getuid(), SUBUID):
        if inside <= number < inside + count:
            return first + number - inside
    raise ValueError(f"the ranges in {SUBUID} have no number for {number}")


def unshare_with_ranges(flags: int) -> None:
    """unshare(2) with a user namespace that has the ranges; this process is root in it. Raises OSError with what
    newuidmap said. Only for a process of one thread."""
    commands = [
        ["newuidmap", str(os.getpid()), *_words(_map(os.getuid(), SUBUID))],
        ["newgidmap", str(os.getpid()), *_words(_map(os.getgid(), SUBGID))],
    ]
    wait, go = os.pipe()
    receive, send = os.pipe()
    helper = os.fork()
    if helper == 0:
        for end in (go, receive):
            os.close(end)
        _write_maps(commands, wait, send)
    os.close(wait)
    os.close(send)
    try:
        linux.unshare(flags | linux.CLONE_NEWUSER)
        os.write(go, b".")
    finally:
        os.close(go)
        with os.fdopen(receive) as answers:
            refusal = answers.read()
        status = os.waitpid(helper, 0)[1]
    if status:
        raise OSError(refusal.strip() or "newuidmap ended without a word")
    # What this user may as a member of groups of this machine is nobody's business inside.
    os.setgroups([])


def _write_maps(commands: list[list[str]], wait: int, send: int) -> NoReturn:
    """In a process that stays outside: the maps are written from there, once the other has its namespace."""
    status = 1
    try:
        if os.read(wait, 1):
            done = [subprocess.run(words, capture_output=True, text=True, check=False) for words in commands]
            status = max(one.returncode for one in done)
            os.write(send, "".join(one.stderr for one in done).encode())
    except OSError as error:
        os.write(send, str(error).encode())
    finally:
        os._exit(1 if status else 0)


def _map(own: int, path: Path) -> list[tuple[int, int, int]]:
    """(first inside, first outside, how many), in the order of the file."""
    lines, inside = [(0, own, 1)], 1
    for first, count in ranges_in(path):
        lines.append((inside, first, count))
        inside += count
    return lines


def _words(lines: list[tuple[int, int, int]]) -> list[str]:
    return [str(number) for line in lines for number in line]


def user_name() -> str:
    """This process's user name; an id without a name gets an invented one."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"user{os.getuid()}"
