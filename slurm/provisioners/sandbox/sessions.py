"""Sessions on the login node of people who have no login there, or no longer: found, and ended.

What shares a UTS namespace with sshd is the login node (so `processes.kill_machine` has it); jobs are elsewhere and
are not touched. `who_strays` is pure; it reads what ps(1) of procps 4 prints.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from clusters.spec import Logins
from slurm.provisioners.sandbox.cluster import SandboxCluster
from slurm.provisioners.sandbox.people import identity_files
from slurm.provisioners.sandbox.space import keeping, run_inside, signal_inside

PS = ("ps", "-eo", "pid=,uid=,utsns=,args=")
# As sshd names its processes, since 9.8 `sshd-session`: before and after somebody has signed in.
SSHD = re.compile(r"sshd(?:-session)?: ([a-z_][a-z0-9_-]*)(?: \[priv\]|@\S+| \[accepted\])?")
# Numbers of login users, `clusters.login_rules`.
FIRST = 1000


@dataclass(frozen=True)
class Process:
    pid: int
    uid: int
    machine: str
    args: str


def knows_people(cluster: SandboxCluster) -> bool:
    """Whether the cluster's root has the users that it should: the keeper writes them there when it is told to look."""
    wanted = identity_files(cluster)
    names = ("/etc/passwd", "/etc/group")
    found = run_inside(cluster.home, ["cat", *names])
    return found.returncode == 0 and found.stdout == "".join(wanted[name] for name in names)


def strays(cluster: SandboxCluster) -> list[int]:
    """Pids, as seen inside, of sessions that should not be; none while there is no login node."""
    state = keeping(cluster.home)
    sshd = state.daemon("sshd") if state else None
    if sshd is None or sshd.pid is None:
        return []
    processes = processes_in(run_inside(cluster.home, list(PS)).stdout)
    by_number = cluster.way.has_root
    return who_strays(processes, sshd.pid, cluster.logins, cluster.login_user, by_number=by_number)


def end_strays(cluster: SandboxCluster) -> int:
    """SIGKILL them all; how many there were."""
    found = strays(cluster)
    signal_inside(cluster.home, "KILL", found)
    return len(found)


def processes_in(printed: str) -> list[Process]:
    found = []
    for line in printed.splitlines():
        pid, uid, machine, args = (line.split(None, 3) + ["", "", "", ""])[:4]
        if pid.isdigit() and uid.isdigit():
            found.append(Process(int(pid), int(uid), machine, args))
    return found


def who_strays(
    processes: Iterable[Process], sshd: int, logins: Logins, own: str, *, by_number: bool
) -> list[int]:
    """On the machine of `sshd`: those of a login user's number that is not among the wanted ones, and sshd's own for a
    name that is not. `own` is who signs in in any case."""
    processes = list(processes)
    machine = next((one.machine for one in processes if one.pid == sshd), None)
    users = logins.users if logins.on else ()
    numbers, names = {user.uid for user in users}, {own, *(user.name for user in users)}
    found = []
    for one in processes:
        if machine is None or one.machine != machine or one.pid == sshd:
            continue
        named = SSHD.fullmatch(one.args)
        is_strange = by_number and one.uid >= FIRST and one.uid not in numbers and one.uid != 65534
        if is_strange or (named and named[1] not in names and named[1] not in ("unknown", "sshd")):
            found.append(one.pid)
    return found
