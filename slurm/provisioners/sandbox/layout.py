"""Write everything a cluster's daemons read, except slurm.conf, whose text comes from outside.

`lay_out` makes keys once and configuration every time; it starts nothing and is idempotent. `platform_lines` gives
`slurm/render.py` the lines of slurm.conf that only the sandbox can know (slurm.conf(5); Slurm 22.05 to 26.05).
"""

import os
import secrets
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from clusters.life_scripts import ABOUT, FILE_NAME, OF_JOBS, Hook, file_of, files_of
from console.errors import Unavailable
from slurm.provisioners.sandbox.apart import Way, way
from slurm.provisioners.sandbox.cluster import SandboxCluster, SandboxNode, sockets_of
from slurm.provisioners.sandbox.files import replace_file
from slurm.provisioners.sandbox.homes import make_homes
from slurm.provisioners.sandbox.machine import CONTROL, MACHINES, TREES, VOLUMES
from slurm.provisioners.sandbox.motd import motd
from slurm.provisioners.sandbox.orders import write_daemons
from slurm.provisioners.sandbox.people import identity_files, keys_by_user
from slurm.provisioners.sandbox.room import Room, remove_directory, room_text

SLURM_FILES = ("slurm.conf", "gres.conf", "cgroup.conf", "topology.conf", "topology.yaml")
COPIES = ("clients", "controller", "workers")


def platform_lines(cluster: SandboxCluster) -> str:
    """The sandbox's own part of slurm.conf: names, ports, places, plugins that need no cgroups, and the nodes."""
    places, ports, prefix = cluster.places, cluster.ports, cluster.tree.image.prefix
    lines = [
        f"ClusterName={cluster.name}",
        f"SlurmctldHost={cluster.controller_host}(127.0.0.1)",
        f"SlurmctldPort={ports.slurmctld}",
        f"SlurmUser={cluster.daemon_user('slurm')}",
        f"SlurmdUser={cluster.daemon_user('root')}",
        "AuthType=auth/munge",
        f"AuthInfo=socket={places.munge_socket}",
        "CredType=cred/munge",
        f"StateSaveLocation={places.state}",
        f"SlurmdSpoolDir={places.spool}/%n",
        f"SlurmctldPidFile={places.slurmctld_pidfile}",
        f"SlurmdPidFile={places.run}/slurm/slurmd-%n.pid",
        f"SlurmctldLogFile={places.log}/slurmctld.log",
        "ProctrackType=proctrack/linuxproc",
        "TaskPlugin=task/none",
        "JobAcctGatherType=jobacct_gather/linux",
        "SlurmdParameters=config_overrides",
        "MpiDefault=none",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_Core_Memory",
        "GresTypes=gpu",
        "AccountingStorageType=accounting_storage/slurmdbd",
        "AccountingStorageHost=127.0.0.1",
        f"AccountingStoragePort={ports.slurmdbd}",
        f"AccountingStoragePass={places.munge_socket}",
        "AccountingStorageTRES=gres/gpu",
        *([f"PluginDir={plugin_directory(cluster)}"] if prefix else []),
        *script_lines(cluster),
    ]
    return "\n".join([*lines, *(node_line(node, cluster) for node in cluster.nodes)]) + "\n"


def script_lines(cluster: SandboxCluster) -> list[str]:
    """Prologs and epilogs: the workers' in their copy of the configuration, the controller's in its own."""
    homes = {Hook.WORKER_PROLOG: cluster.places.workers, Hook.WORKER_EPILOG: cluster.places.workers}
    found = ((hook, file_of(cluster.scripts, hook)) for hook in OF_JOBS)
    return [
        f"{ABOUT[hook].key}={homes.get(hook, cluster.places.controller)}/{name}"
        for hook, name in found
        if name
    ]


def node_line(node: SandboxNode, cluster: SandboxCluster) -> str:
    """One NodeName line; every slurmd is on 127.0.0.1 with a port of its own."""
    host = f" NodeHostname={cluster.controller_host}" if cluster.tree.image.prefix else ""
    gpu = f" Gres=gpu:{node.gpu_type + ':' if node.gpu_type else ''}{node.gpus}" if node.gpus else ""
    features = f" Feature={','.join(node.features)}" if node.features else ""
    return (
        f"NodeName={node.name}{host} NodeAddr=127.0.0.1 Port={node.port} CPUs={node.cpus} Boards=1 SocketsPerBoard=1 "
        f"CoresPerSocket={node.cpus} ThreadsPerCore=1 RealMemory={node.memory_mib}{gpu}{features} State=UNKNOWN"
    )


def gres_conf(cluster: SandboxCluster) -> str:
    """gres.conf(5): the nodes share the device files, which only have to be character devices."""
    lines = ["AutoDetect=off"]
    for node in cluster.nodes:
        if node.gpus:
            kind = f" Type={node.gpu_type}" if node.gpu_type else ""
            files = cluster.places.gpu + (f"[0-{node.gpus - 1}]" if node.gpus > 1 else "0")
            lines.append(f"NodeName={node.name} Name=gpu{kind} File={files}")
    return "\n".join(lines) + "\n"


def cgroup_conf(cluster: SandboxCluster) -> str:
    return "CgroupPlugin=disabled\n" if cluster.tree.release >= (23, 2) else "CgroupAutomount=no\n"


def lay_out(cluster: SandboxCluster, files: Mapping[str, str]) -> None:
    """Write the cluster's directory. `files` holds `slurm.conf` and may replace `gres.conf` and `cgroup.conf`."""
    home = cluster.home
    for name in (
        "keeper",
        "log",
        "munge",
        "ssh",
        "db",
        "state",
        "spool",
        "tmp",
        *(f"conf/{c}" for c in COPIES),
    ):
        (home / name).mkdir(parents=True, exist_ok=True)
    _own(home / "state", cluster.owner("slurm"), 0o755)
    _own(home / "log", cluster.owner("slurm"), 0o755)
    _own(home / "db", cluster.owner("mysql"), 0o700)
    (home / "tmp").chmod(0o1777)
    (home / "keeper").chmod(0o700)
    make_munge_key(cluster)
    write_slurm_files(cluster, files, COPIES)
    _write(home / "conf/controller/slurmdbd.conf", slurmdbd_conf(cluster), 0o600, cluster.owner("slurm"))
    _write(home / "db/start.sql", database_sql(cluster), 0o644, cluster.owner("mysql"))
    lay_out_login(cluster)
    if cluster.tree.image.prefix:
        _prefix_directories(cluster)
    write_daemons(cluster)


def complete_files(cluster: SandboxCluster, files: Mapping[str, str]) -> dict[str, str]:
    """The configuration as the daemons get it: what was given, the cluster's scripts, and the sandbox's own gres.conf
    and cgroup.conf."""
    own = {"gres.conf": gres_conf(cluster), "cgroup.conf": cgroup_conf(cluster)}
    return {**own, **files_of(cluster.scripts), **files}


def write_slurm_files(cluster: SandboxCluster, files: Mapping[str, str], copies: tuple[str, ...]) -> None:
    """Write into the copies named: the controller, the workers and the clients each read their own. Scripts first: what
    names them comes after them."""
    complete = complete_files(cluster, files)
    for copy in copies:
        for name in sorted(complete, key=is_script, reverse=True):
            mode = 0o755 if is_script(name) else 0o644
            _write(cluster.home / "conf" / copy / name, complete[name], mode)


def is_script(name: str) -> bool:
    return FILE_NAME.fullmatch(name) is not None


def forget_scripts(home: Path, *kept: Collection[str]) -> None:
    """Remove the files of scripts that are in none of these sets of names. A daemon may still read what was in force
    just now."""
    names = {name for names in kept for name in names}
    for path in (path for copy in COPIES for path in (home / "conf" / copy).glob("*.sh")):
        if is_script(path.name) and path.name not in names:
            path.unlink(missing_ok=True)


def read_slurm_files(directory: Path) -> dict[str, str]:
    """The configuration files and scripts in a directory by name; empty when there is none."""
    found = sorted(directory.iterdir()) if directory.is_dir() else []
    return {path.name: path.read_text() for path in found if path.name in SLURM_FILES or is_script(path.name)}


def lay_out_login(cluster: SandboxCluster) -> None:
    """Who may sign in, and what a node's name means. sshd reads its keys anew at each sign-in."""
    _ssh_files(cluster)
    if cluster.tree.image.prefix:
        _link_volumes(cluster)
    else:
        make_homes(cluster)
        _write(cluster.home / "keeper/room.json", room_text(room_of(cluster)), 0o600)


def slurmdbd_conf(cluster: SandboxCluster) -> str:
    """slurmdbd.conf(5). MariaDB knows the daemon by its uid on the socket, so there is no password."""
    places = cluster.places
    lines = [
        "AuthType=auth/munge",
        f"AuthInfo=socket={places.munge_socket}",
        f"DbdHost={cluster.controller_host}",
        "DbdAddr=127.0.0.1",
        f"DbdPort={cluster.ports.slurmdbd}",
        f"SlurmUser={cluster.daemon_user('slurm')}",
        f"PidFile={places.run}/slurm/slurmdbd.pid",
        "StorageType=accounting_storage/mysql",
        "StorageHost=localhost",
        f"StorageUser={cluster.database_user}",
        "StorageLoc=slurm_acct_db",
        *([f"PluginDir={plugin_directory(cluster)}"] if cluster.tree.image.prefix else []),
    ]
    return "\n".join(lines) + "\n"


def database_sql(cluster: SandboxCluster) -> str:
    """Run by mariadbd at every start (--init-file: one statement a line)."""
    account = f"`{cluster.database_user}`@localhost"
    return (
        "CREATE DATABASE IF NOT EXISTS slurm_acct_db;\n"
        f"CREATE USER IF NOT EXISTS {account} IDENTIFIED VIA unix_socket;\n"
        f"GRANT ALL ON slurm_acct_db.* TO {account};\n"
    )


def sshd_config(cluster: SandboxCluster) -> str:
    """sshd_config(5): keys and certificates only. Without login users one list of keys is for everybody's account."""
    ssh = cluster.places.ssh
    lines = [
        f"Port {cluster.ports.sshd}",
        "ListenAddress 127.0.0.1",
        f"HostKey {ssh}/host_ed25519",
        f"AuthorizedKeysFile {ssh}/{'users/%u' if cluster.logins.on else 'authorized_keys'}",
        f"TrustedUserCAKeys {ssh}/user_ca.pub",
        "AuthenticationMethods publickey",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "PermitRootLogin prohibit-password",
        "UsePAM no",
        "StrictModes no",
        "PidFile none",
        "UseDNS no",
        "X11Forwarding no",
        "PrintLastLog no",
        "AcceptEnv LANG LC_* COLORTERM",
        "MaxStartups 100",
        "MaxSessions 100",
        "ClientAliveInterval 30",
        "Subsystem sftp internal-sftp",
        # Everyone comes from 127.0.0.1 here, so one person's failures would lock out all (OpenSSH 9.8 and newer).
        *(["PerSourcePenalties no"] if cluster.tree.release >= (24, 11) else []),
        *([f"SetEnv SLURM_CONF={cluster.places.client}/slurm.conf"] if cluster.tree.image.prefix else []),
    ]
    return "\n".join(lines) + "\n"


def plugin_directory(cluster: SandboxCluster) -> str:
    """Where the unpacked plugins are, for a prefix; a root tree has them where the binaries look."""
    found = sorted(cluster.tree.root.glob("usr/lib/*/slurm-wlm"))
    return str(found[0]) if found else ""


def room_of(cluster: SandboxCluster) -> Room:
    """The cluster's root: which of its directories appear where, and the files that name its users and hosts."""
    own = cluster.own
    slurm = cluster.owner("slurm")
    binds = [
        ("conf/clients", cluster.places.client, own),
        ("conf/controller", cluster.places.controller, own),
        ("conf/workers", cluster.places.workers, own),
        ("state", cluster.places.state, slurm),
        ("spool", cluster.places.spool, own),
        ("log", cluster.places.log, slurm),
        ("db", cluster.places.database, cluster.owner("mysql")),
        ("munge", cluster.places.munge, cluster.owner("munge")),
        ("ssh", cluster.places.ssh, own),
        ("root", "/root", own),
        ("home", "/home", own),
        *([] if cluster.login_home == "/root" else [(f"home/{cluster.login_user}", cluster.login_home, own)]),
        ("tmp", "/tmp", own),
        ("keeper", CONTROL, own),
        ("machines", MACHINES, own),
        *([(str(cluster.volumes), VOLUMES, own)] if cluster.volumes else []),
        # All images of this machine, for parts that will run another one.
        (str(cluster.tree.root.parents[1]), TREES, own),
    ]
    owners = {"munge": cluster.owner("munge"), "mysqld": cluster.owner("mysql"), "sshd": own, "lock": own}
    gpus = max((node.gpus for node in cluster.nodes), default=0)
    # Room for larger nodes added later: a device file cannot be added to a running cluster from outside.
    return Room(
        tree=str(cluster.tree.root),
        hostname=cluster.controller_host,
        binds=tuple(binds),
        files=system_files(cluster),
        run_directories={"slurm": slurm, **owners},
        gpu_files=max(gpus, 16),
        usr=cluster.usr.get("login", ""),
    )


def system_files(cluster: SandboxCluster) -> dict[str, str]:
    """Users, hosts and what a login says."""
    hosts = " ".join(
        [cluster.controller_host, f"{cluster.name}-login", *(node.name for node in cluster.nodes)]
    )
    return {
        **identity_files(cluster),
        "/etc/hosts": f"127.0.0.1 localhost {hosts}\n::1 localhost\n",
        "/etc/hostname": f"{cluster.controller_host}\n",
        "/etc/resolv.conf": _host_file("/etc/resolv.conf"),
        "/etc/motd": motd(cluster),
    }


def _host_file(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def make_munge_key(cluster: SandboxCluster) -> None:
    """A new random key, or the one that is there with its owner set right."""
    _own(cluster.home / "munge", cluster.owner("munge"), 0o700)
    key = cluster.home / "munge/munge.key"
    if not key.exists():
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(128))
    _own(key, cluster.owner("munge"), 0o600)


def _ssh_files(cluster: SandboxCluster) -> None:
    ssh = cluster.home / "ssh"
    _write(ssh / cluster.sshd_config, sshd_config(cluster), 0o644)
    _write(ssh / "authorized_keys", _key_lines(cluster.public_keys), 0o644)
    _user_keys(cluster, ssh / "users")
    _write(ssh / "user_ca.pub", f"{cluster.user_ca_key.strip()}\n", 0o644)


def _user_keys(cluster: SandboxCluster, directory: Path) -> None:
    """A file for each account; that of a user who is gone goes first."""
    directory.mkdir(exist_ok=True)
    _own(directory, None, 0o755)
    keys = keys_by_user(cluster)
    for path in directory.iterdir():
        if path.name not in keys:
            path.unlink()
    for name, lines in keys.items():
        _write(directory / name, _key_lines(lines), 0o644)


def _key_lines(keys: Iterable[str]) -> str:
    return "".join(f"{key.strip()}\n" for key in keys)


def _prefix_directories(cluster: SandboxCluster) -> None:
    """What a room makes at entry. /dev/null under other names serves as GPU files: Slurm only looks at the type."""
    sockets = sockets_of(cluster.home)
    sockets.mkdir(mode=0o700, exist_ok=True)
    if sockets.is_symlink() or sockets.stat().st_uid != os.getuid():
        raise Unavailable(
            f"{sockets} belongs to somebody else.", "Remove it, or set TMPDIR to a directory of your own."
        )
    for name in ("slurm", "munge", "mysqld"):
        (sockets / name).mkdir(exist_ok=True)
    (cluster.home / "gpu").mkdir(exist_ok=True)
    for index in range(max((node.gpus for node in cluster.nodes), default=0)):
        link = cluster.home / f"gpu/nvidia{index}"
        if not link.is_symlink():
            link.symlink_to("/dev/null")


def _link_volumes(cluster: SandboxCluster) -> None:
    """Where no volume can be at its path there are links below the cluster's directory, and nothing is read-only."""
    links = cluster.home / "mounts"
    remove_directory(links)
    for mount in cluster.mounts:
        link = links / mount.path.lstrip("/")
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to((cluster.volumes or cluster.home / "volumes") / mount.volume)


def _write(path: Path, text: str, mode: int, owner: tuple[int, int] | None = None) -> None:
    replace_file(path, text)
    _own(path, owner, mode)


def _own(path: Path, owner: tuple[int, int] | None, mode: int) -> None:
    """Daemons have users of their own only where the console may give a file away."""
    if way() is Way.ROOT:
        os.chown(path, *(owner or (os.getuid(), os.getgid())))
    path.chmod(mode)
