"""Who there is in a cluster's root: passwd(5), group(5), shadow(5), sudoers(5), and keys for sshd. Texts only.

Where people are told apart each login user has a number of their own; else all are the console's user to the kernel,
which maps no other (user_namespaces(7)): names, homes and keys are still their own.
"""

from collections.abc import Iterable

from clusters.spec import Logins
from console.errors import Problem
from slurm.provisioners.sandbox.apart import Way
from slurm.provisioners.sandbox.cluster import SYSTEM_UIDS, SandboxCluster
from slurm.provisioners.sandbox.ranges import user_name

SHELL = "/bin/bash"
# The day that shadow(5) gives for the last change of a password that nobody has.
NO_PASSWORD = "*:19700:0:99999:7:::"


def identity_files(cluster: SandboxCluster) -> dict[str, str]:
    """By their places in the root. The console's own user comes first: it is who a shared number is shown as."""
    return {
        "/etc/passwd": _lines(_passwd(cluster)),
        "/etc/group": _lines(_groups(cluster)),
        "/etc/shadow": _lines(f"{line.partition(':')[0]}:{NO_PASSWORD}" for line in _passwd(cluster)),
        "/etc/sudoers": sudoers(cluster),
    }


def keys_by_user(cluster: SandboxCluster) -> dict[str, tuple[str, ...]]:
    """Whose key opens whose account: the cluster's own keys are those of root, or of the console's user."""
    logins = cluster.logins
    mine = {user.name: user.keys for user in logins.users} if logins.on else {}
    return {**mine, cluster.login_user: cluster.public_keys}


def as_user(cluster: SandboxCluster, name: str) -> list[str]:
    """The words before a command that run it inside as this login user."""
    become = ["setpriv", f"--reuid={name}", f"--regid={name}", "--init-groups", "--"]
    return become if cluster.way.has_root else []


def name_problems(logins: Logins) -> tuple[Problem, ...]:
    """A name that the console's own user has."""
    return tuple(
        Problem(f"logins.users[{index}].name", f"{user.name} is the user that the console runs as.")
        for index, user in enumerate(logins.users)
        if logins.on and user.name == user_name()
    )


def sudoers(cluster: SandboxCluster) -> str:
    """On the login node and nowhere else: a rule holds on the host that it names. `!fqdn`, because all hosts of a
    cluster have one address, whose first name Debian's sudo would take."""
    host = f"{cluster.name}-login"
    rules = [
        f"{user.name} {host}=(ALL:ALL) NOPASSWD: ALL"
        for user in cluster.logins.users
        if user.sudo and cluster.logins.on and cluster.way.has_root
    ]
    defaults = 'Defaults !fqdn, env_reset, secure_path="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"'
    return _lines([defaults, "root ALL=(ALL:ALL) ALL", *rules])


def _passwd(cluster: SandboxCluster) -> list[str]:
    name, (uid, gid) = cluster.login_user, cluster.own
    lines = [f"{name}:x:{uid}:{gid}:{name}:{cluster.login_home}:{SHELL}"]
    if cluster.way is Way.RANGES:
        # The name that slurm.conf has for its daemons. Nobody signs in by it.
        lines.append(f"{user_name()}:x:{uid}:{gid}:{name}:{cluster.login_home}:/usr/sbin/nologin")
    lines += [
        f"{other}:x:{number}:{number}:{other}:/nonexistent:/usr/sbin/nologin"
        for other, number in _system(uid).items()
    ]
    if not cluster.logins.on:
        return lines
    for user in cluster.logins.users:
        numbers = (user.uid, user.uid) if cluster.way.has_root else (uid, gid)
        home = cluster.logins.home_of(user.name)
        lines.append(f"{user.name}:x:{numbers[0]}:{numbers[1]}:{user.name}:{home}:{SHELL}")
    return lines


def _groups(cluster: SandboxCluster) -> list[str]:
    name, (uid, gid) = cluster.login_user, cluster.own
    lines = [f"{name}:x:{gid}:", "users:x:100:"]
    if cluster.way.has_root:
        # A namespace of one number has no such group to give a terminal to, and sshd would end the session.
        lines.append("tty:x:5:")
    lines += [f"{other}:x:{number}:" for other, number in _system(uid).items() if number != gid]
    if cluster.logins.on and cluster.way.has_root:
        lines += [f"{user.name}:x:{user.uid}:" for user in cluster.logins.users]
        for group in cluster.logins.groups:
            members = [user.name for user in cluster.logins.users if group.name in user.groups]
            lines.append(f"{group.name}:x:{group.gid}:{','.join(members)}")
    return lines


def _system(own: int) -> dict[str, int]:
    return {name: number for name, number in SYSTEM_UIDS.items() if number != own}


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
