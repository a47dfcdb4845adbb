"""Which daemons a cluster runs, with which arguments, users and order: the content of keeper/daemons.json.

Pure; the options are those of the daemons' own man pages in Debian 12 to sid. Used by `layout`, and by whoever wants to
know what to expect in keeper.json.
"""

import pwd
from dataclasses import replace
from typing import Any

from clusters.life_scripts import Hook, file_of
from slurm.provisioners.sandbox import mariadb
from slurm.provisioners.sandbox.apart import Way
from slurm.provisioners.sandbox.cluster import SandboxCluster, SandboxNode
from slurm.provisioners.sandbox.daemon import Spec
from slurm.provisioners.sandbox.machine import MACHINES, MEMORY, VOLUMES, Machine, OwnPlace, VolumePlace
from slurm.provisioners.sandbox.processes import MARK

FIRST, ACCOUNTING, CONTROLLER, WORKERS = 10, 20, 30, 40
PART_OF = {"mariadbd": "accounting", "slurmdbd": "accounting", "slurmctld": "controller"}
PART_OF |= {"munged": "login", "sshd": "login"}
LOGIN_MARK = f"{MARK}_LOGIN=1"
# Slurm's own file with the number of the cluster, in the controller's state, and what `apply` keeps of it.
NUMBER, KEPT_NUMBER = "clustername", "clustername.kept"


def specs_of(cluster: SandboxCluster) -> list[Spec]:
    """Everything in starting order. slurmrestd is not among them: Slurm is read by its own commands."""
    specs = [munged_spec(cluster), _mariadbd(cluster), _slurmdbd(cluster), _slurmctld(cluster)]
    specs += [_slurmd(cluster, node) for node in cluster.nodes]
    return [*specs, _sshd(cluster)] if can_run_sshd(cluster) else specs


def can_run_sshd(cluster: SandboxCluster) -> bool:
    """As root without a root tree, sshd needs the account `sshd` on this machine itself."""
    if not cluster.tree.image.prefix or cluster.way is not Way.ROOT:
        return True
    return any(entry.pw_name == "sshd" for entry in pwd.getpwall())


def _spec(cluster: SandboxCluster, name: str, user: str, order: int, argv: list[str], **more: object) -> Spec:
    """Where there are rooms, with the files of a machine and the programs of the part's own image."""
    program = cluster.places.programs + argv[0]
    machine = more.pop("machine", None) or Machine()
    assert isinstance(machine, Machine)
    owner = cluster.owner(user)
    env = daemon_environment(cluster) | {MARK: str(cluster.home)}
    if controller_env := more.pop("slurm_conf", None):
        env["SLURM_CONF"] = str(controller_env)
    return Spec(
        name=name,
        argv=(program, *argv[1:]),
        log=f"{cluster.places.log}/{name}.log",
        order=order,
        env=env,
        user=owner if owner[0] != cluster.own[0] else None,
        epoch=cluster.epochs.get(name, 0),
        machine=None
        if cluster.tree.image.prefix
        else replace(machine, usr=cluster.usr.get(part_of(name), "")),
        **more,  # type: ignore[arg-type]  # passed on by name, checked by Spec itself
    )


def part_of(daemon: str) -> str:
    """Of an upgrade: what goes to another image together."""
    return PART_OF.get(daemon, "workers")


def daemon_environment(cluster: SandboxCluster) -> dict[str, str]:
    """PATH and, in a prefix, where the unpacked libraries are. Also what commands need (see `space`)."""
    env = {
        # Where the client library looks by itself differs between suites.
        "MYSQL_UNIX_PORT": cluster.places.database_socket,
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
    }
    if cluster.tree.image.prefix:
        root = cluster.places.programs
        libraries = [str(path) for path in sorted(cluster.tree.root.glob("usr/lib/*-linux-*"))]
        libraries += [str(path) for path in sorted(cluster.tree.root.glob("usr/lib/*-linux-*/slurm-wlm"))]
        env["PATH"] = f"{root}/usr/sbin:{root}/usr/bin:{env['PATH']}"
        env["LD_LIBRARY_PATH"] = ":".join(libraries)
        env["SLURM_CONF"] = f"{cluster.places.client}/slurm.conf"
    return env


def munged_spec(cluster: SandboxCluster) -> Spec:
    places = cluster.places
    argv = [
        "/usr/sbin/munged",
        "--foreground",
        "--force",
        f"--key-file={places.munge}/munge.key",
        f"--socket={places.munge_socket}",
        f"--pid-file={places.run}/munge/munged.pid",
        f"--seed-file={places.munge}/munged.seed",
        "--num-threads=2",
    ]
    return _spec(cluster, "munged", "munge", FIRST, argv, ready_path=places.munge_socket)


def _mariadbd(cluster: SandboxCluster) -> Spec:
    return _spec(
        cluster, "mariadbd", "mysql", FIRST, mariadb.argv(cluster),
        steps=mariadb.install_steps(cluster), ready_path=cluster.places.database_socket, stop_s=15.0,
    )  # fmt: skip


def _slurmdbd(cluster: SandboxCluster) -> Spec:
    """Reads slurmdbd.conf beside SLURM_CONF."""
    conf = f"{cluster.places.controller}/slurm.conf"
    port = cluster.ports.slurmdbd
    argv = ["/usr/sbin/slurmdbd", "-D"]
    # As it first starts after an upgrade it converts the database before it listens, and must not be cut short.
    return _spec(
        cluster, "slurmdbd", "slurm", ACCOUNTING, argv, ready_port=port, slurm_conf=conf, start_s=600.0
    )


def _slurmctld(cluster: SandboxCluster) -> Spec:
    """Without -D: only then does a refused reconfigure leave the old controller running (24.11 and newer).

    One that never spoke with its accounting gives the cluster a number of its own, and is refused when accounting has
    given it another ("CLUSTER ID MISMATCH", 24.11). What it has from accounting is in `last_tres`. One that goes on
    after a refused reconfigure may do the same, so each start begins with the number that was kept.
    """
    argv = ["/usr/sbin/slurmctld", "-f", f"{cluster.places.controller}/slurm.conf"]
    port, pidfile = cluster.ports.slurmctld, cluster.places.slurmctld_pidfile
    state = cluster.places.state
    # Does nothing while none was kept.
    find = ["/usr/bin/find", state, "-maxdepth", "1", "-name", KEPT_NUMBER]
    step = {"argv": [*find, "-exec", "/usr/bin/cp", "{}", f"{state}/{NUMBER}", ";"]}
    return _spec(
        cluster, "slurmctld", "slurm", CONTROLLER, argv,
        steps=(step,), ready_port=port, pidfile=pidfile, stop_s=8.0, alone_after=f"{state}/last_tres",
    )  # fmt: skip


def _slurmd(cluster: SandboxCluster, node: SandboxNode) -> Spec:
    places = cluster.places
    stepd = ["-d", f"{places.programs}/usr/sbin/slurmstepd"] if places.programs else []
    argv = ["/usr/sbin/slurmd", "-D", "-N", node.name, "-f", f"{places.workers}/slurm.conf", *stepd]
    hostname = None if cluster.tree.image.prefix else node.name
    own = (f"{MACHINES}/{node.name}", f"{MEMORY}/{node.name}") if hostname else ()
    return _spec(
        cluster,
        f"slurmd-{node.name}",
        "root",
        WORKERS,
        argv,
        ready_port=node.port,
        hostname=hostname,
        machine=worker_machine(cluster, node.name) if hostname else None,
        leaves=f"SLURMD_NODENAME={node.name}",
        takes_along=(f"{places.spool}/{node.name}", *own),
        steps=_init(cluster, Hook.WORKER_INIT, places.workers, f"SLURMD_NODENAME={node.name}"),
    )


def _init(cluster: SandboxCluster, hook: Hook, home: str, mark: str) -> tuple[dict[str, Any], ...]:
    """The script that runs whenever the daemon starts, before it. Another one makes the keeper start the daemon anew,
    with which nothing ends. What it leaves running has `mark` in its environment, and goes with the machine."""
    name = file_of(cluster.scripts, hook)
    return ({"argv": ["/usr/bin/env", mark, f"{home}/{name}"]},) if name else ()


def _sshd(cluster: SandboxCluster) -> Spec:
    places = cluster.places
    key = f"{places.ssh}/host_ed25519"
    step = {
        "argv": [
            f"{places.programs}/usr/bin/ssh-keygen",
            "-q",
            "-t",
            "ed25519",
            "-N",
            "",
            "-C",
            cluster.name,
            "-f",
            key,
        ],
        "unless": key,
    }
    argv = ["/usr/sbin/sshd", "-D", "-e", "-f", f"{places.ssh}/{cluster.sshd_config}"]
    hostname = None if cluster.tree.image.prefix else f"{cluster.name}-login"
    port = cluster.ports.sshd
    machine = login_machine(cluster, hostname) if hostname else None
    init = _init(cluster, Hook.LOGIN_INIT, places.client, LOGIN_MARK)
    return _spec(
        cluster, "sshd", "root", WORKERS, argv,
        steps=(step, *init), ready_port=port, leaves=LOGIN_MARK if init else "", hostname=hostname, machine=machine,
    )  # fmt: skip


def worker_machine(cluster: SandboxCluster, name: str) -> Machine:
    """Nothing of a worker's own files is anywhere else; login users' homes are the same on every machine."""
    places = {"/root": 0o700, "/home": 0o755}
    if cluster.logins.on:
        del places["/home"]
    elif cluster.login_home not in places:
        places[cluster.login_home] = 0o755
    homes = tuple(OwnPlace(f"{MACHINES}/{name}{path}", path, mode) for path, mode in places.items())
    return Machine((*_scratch(name), *homes), _volumes(cluster))


def login_machine(cluster: SandboxCluster, name: str) -> Machine:
    """Homes on the login node are the room's, and stay."""
    return Machine(_scratch(name), _volumes(cluster))


def _scratch(name: str) -> tuple[OwnPlace, ...]:
    return (
        OwnPlace(f"{MACHINES}/{name}/tmp", "/tmp", 0o1777),
        OwnPlace(f"{MEMORY}/{name}", "/dev/shm", 0o1777),
    )


def _volumes(cluster: SandboxCluster) -> tuple[VolumePlace, ...]:
    """Shorter paths first: none is inside another, but a parent may be one that the other's is made in."""
    mounts = sorted(cluster.mounts, key=lambda mount: mount.path)
    return tuple(VolumePlace(f"{VOLUMES}/{m.volume}", m.path, m.read_only) for m in mounts)
