"""What login users of a spec may be: the one place that says so, by field path. Pure.

Names are those that useradd(8) takes by default, less what Debian's own packages and Slurm's have. Whether a number is
the one that the team gave out is for `clusters.identities`; whether the platform can have login users at all, for the
region's `Platform`.
"""

import re
from collections.abc import Iterator, Sequence

from clusters.spec import ClusterSpec, Logins, LoginUser
from clusters.sshkeys import KeyRefused, parse_key
from console.errors import Problem

LOGIN_NAME = re.compile(r"[a-z_][a-z0-9_-]{0,31}")
ACCOUNT_NAME = re.compile(r"[a-z0-9_][a-z0-9_.-]{0,62}")
# Debian's base-passwd, what sandbox and operator images add, and names that a person would take for the system's.
_RESERVED = """
root daemon bin sys sync games man lp mail news uucp proxy www-data backup list irc gnats _apt nobody nogroup adm tty
disk kmem dialout fax voice cdrom floppy tape sudo audio dip operator src shadow utmp video sasl plugdev staff users
messagebus sshd munge mysql slurm systemd-network systemd-resolve systemd-timesync sssd polkitd debian ubuntu admin
administrator wheel home lost-found unknown
"""
RESERVED = frozenset(_RESERVED.split())
LEAST_NUMBER, MOST_NUMBER = 1000, 59_999
JOBS, HOMES = ("run", "cancel"), ("keep", "archive", "delete")
MOST_USERS, MOST_GROUPS, MOST_KEYS = 1000, 200, 20


def login_problems(spec: ClusterSpec) -> Iterator[Problem]:
    """Everything wrong with `spec.logins`, at `logins.homes`, `logins.users[i].name` and so on."""
    logins = spec.logins
    yield from _homes(spec)
    yield from _names(logins)
    yield from _numbers(logins)
    groups = {group.name for group in logins.groups}
    for index, user in enumerate(logins.users[:MOST_USERS]):
        yield from _user(user, groups, f"logins.users[{index}]")
    for index, leaver in enumerate(logins.leavers):
        if leaver.jobs not in JOBS:
            yield Problem(f"logins.leavers[{index}].jobs", f"Jobs are one of {', '.join(JOBS)}.")
        if leaver.home not in HOMES:
            yield Problem(f"logins.leavers[{index}].home", f"A home is one of {', '.join(HOMES)}.")
        if any(user.name == leaver.name for user in logins.users):
            yield Problem(f"logins.leavers[{index}].name", f"{leaver.name} stays and leaves.")
    if logins.account and not ACCOUNT_NAME.fullmatch(logins.account):
        yield Problem("logins.account", "A Slurm account is one word of lower-case letters and digits.")


def name_problem(name: str) -> tuple[str, str] | None:
    """What is wrong with the name of a login user or a group, and what to do; None when it may be used."""
    if not LOGIN_NAME.fullmatch(name):
        return (
            "Use 1 to 32 lower-case letters, digits, hyphens and underscores, not starting with a digit.",
            "It is who one is on the login node, as in ssh ada@login.",
        )
    if name in RESERVED:
        return f"{name} belongs to the system on every node.", "Choose another name."
    return None


def proposed_name(account: str) -> str:
    """A login name made from the name of a console account, as near to it as the rules let; may be taken already."""
    name = re.sub(r"[^a-z0-9_-]+", "-", account.lower().partition("@")[0]).strip("-")[:32]
    name = name if not name or name[0].isalpha() else f"u{name}"[:32]
    return f"{name[:30]}-u" if name in RESERVED else name or "user"


def _homes(spec: ClusterSpec) -> Iterator[Problem]:
    homes = spec.logins.homes
    mount = next((mount for mount in spec.mounts if mount.path == homes), None)
    if homes and mount is None:
        yield Problem(
            "logins.homes",
            f"The homes of login users are at {homes}, where no volume is mounted.",
            "Mount one there, or choose another place for the homes.",
        )
    elif mount and mount.read_only:
        yield Problem("logins.homes", f"{mount.name} is mounted read-only: nobody could write to their home.")
    elif spec.logins.on and not homes and any(mount.path == "/home" for mount in spec.mounts):
        yield Problem(
            "logins.homes", "A volume is mounted at /home and would cover the homes.", "Choose it for them."
        )


def _names(logins: Logins) -> Iterator[Problem]:
    if len(logins.users) > MOST_USERS:
        yield Problem("logins.users", f"A cluster takes at most {MOST_USERS} login users.")
    if len(logins.groups) > MOST_GROUPS:
        yield Problem("logins.groups", f"A cluster takes at most {MOST_GROUPS} groups.")
    seen: set[str] = set()
    for path, name in _named(logins):
        if problem := name_problem(name):
            yield Problem(path, *problem)
        elif name in seen:
            yield Problem(path, f"The name {name} is there twice.", "Users and groups share their names.")
        seen.add(name)


def _numbers(logins: Logins) -> Iterator[Problem]:
    seen: set[int] = set()
    places = [(f"logins.users[{i}].uid", user.uid) for i, user in enumerate(logins.users)]
    places += [(f"logins.groups[{i}].gid", group.gid) for i, group in enumerate(logins.groups)]
    for path, number in places:
        if not LEAST_NUMBER <= number <= MOST_NUMBER:
            yield Problem(path, f"Numbers of users and groups run from {LEAST_NUMBER} to {MOST_NUMBER}.")
        elif number in seen:
            yield Problem(path, f"The number {number} is there twice.")
        seen.add(number)


def _named(logins: Logins) -> Sequence[tuple[str, str]]:
    users = [(f"logins.users[{i}].name", user.name) for i, user in enumerate(logins.users[:MOST_USERS])]
    groups = [(f"logins.groups[{i}].name", group.name) for i, group in enumerate(logins.groups[:MOST_GROUPS])]
    return [*users, *groups]


def _user(user: LoginUser, groups: set[str], path: str) -> Iterator[Problem]:
    for name in user.groups:
        if name not in groups:
            yield Problem(f"{path}.groups", f"There is no group {name} on this cluster.")
    if len(user.keys) > MOST_KEYS:
        yield Problem(f"{path}.keys", f"A person has at most {MOST_KEYS} keys.")
    for index, line in enumerate(user.keys[:MOST_KEYS]):
        try:
            parse_key(line)
        except KeyRefused as error:
            yield Problem(f"{path}.keys[{index}]", str(error))
