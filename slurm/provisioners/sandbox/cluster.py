"""What the sandbox is told of one cluster, and where everything of it lies.

Plain data: `SandboxCluster` is made by the adapter (or the developers' command line) and read by `layout`, `daemons`,
`shadow` and `apply`. `Places` are paths as the daemons see them.
"""

import hashlib
import os
import tempfile
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from clusters.spec import LifeScripts, Logins
from slurm.provisioners.sandbox.apart import Way, way
from slurm.provisioners.sandbox.images import Tree
from slurm.provisioners.sandbox.ranges import user_name

# Uids inside a cluster that has a root; slurm's is Debian's own.
SYSTEM_UIDS = {"root": 0, "munge": 101, "mysql": 102, "sshd": 103, "slurm": 64030, "nobody": 65534}


@dataclass(frozen=True)
class SandboxNode:
    """A worker. `gpus` are declared, not real; `port` is its slurmd's on 127.0.0.1."""

    name: str
    cpus: int
    memory_mib: int
    gpus: int = 0
    port: int = 0
    gpu_type: str = ""
    features: tuple[str, ...] = ()


@dataclass(frozen=True)
class SandboxMount:
    """A volume's directory, by its key, at one path on the login node and on every worker."""

    volume: str
    path: str
    read_only: bool = False


@dataclass(frozen=True)
class Ports:
    """TCP ports on 127.0.0.1; MariaDB and munge have sockets only."""

    slurmctld: int
    slurmdbd: int
    sshd: int


@dataclass(frozen=True)
class SandboxCluster:
    """`home` is the cluster's directory; `epochs` say how often each daemon was told to start afresh.

    `usr` says of parts that run another image than the room where its programs are (`running_images`); `volumes` is the
    directory with the volumes' own, by key; `apart` is how people are told apart where the cluster has a room.
    """

    name: str
    home: Path
    tree: Tree
    ports: Ports
    nodes: tuple[SandboxNode, ...] = ()
    public_keys: tuple[str, ...] = ()
    user_ca_key: str = ""
    epochs: dict[str, int] = field(default_factory=dict)
    usr: dict[str, str] = field(default_factory=dict)
    mounts: tuple[SandboxMount, ...] = ()
    volumes: Path | None = None
    scripts: LifeScripts = LifeScripts()
    logins: Logins = Logins()
    apart: Way = field(default_factory=way)

    @cached_property
    def places(self) -> "Places":
        return prefix_places(self) if self.tree.image.prefix else room_places()

    @property
    def way(self) -> Way:
        return self.apart.without_room if self.tree.image.prefix else self.apart

    @property
    def own(self) -> tuple[int, int]:
        """(uid, gid) of the console's user, as seen inside."""
        return (0, 0) if self.way is Way.RANGES else (os.getuid(), os.getgid())

    @property
    def login_user(self) -> str:
        """Who signs in where there are no login users, and whose the jobs are then: root, or the ordinary user who made
        the cluster."""
        return "root" if self.way is Way.RANGES else user_name()

    @property
    def login_home(self) -> str:
        return "/root" if self.way.has_root else f"/home/{self.login_user}"

    @property
    def sshd_config(self) -> str:
        """The name of its file. sshd reads it as it starts: under another name it starts anew, and sessions go on."""
        return "sshd_config.users" if self.logins.on else "sshd_config"

    @property
    def controller_host(self) -> str:
        return os.uname().nodename if self.tree.image.prefix else f"{self.name}-controller"

    def daemon_user(self, name: str) -> str:
        """The user a system daemon runs as: its own where root can give it one, else ours. By ranges that is another
        name of root inside, so that files which name it stay good when ranges come or go."""
        return name if self._has_daemon_users else user_name()

    @property
    def database_user(self) -> str:
        """As whom slurmdbd comes to MariaDB, which looks up its number."""
        return "slurm" if self._has_daemon_users else self.login_user

    def owner(self, name: str) -> tuple[int, int]:
        """(uid, gid) of a daemon's files, inside."""
        return (SYSTEM_UIDS[name], SYSTEM_UIDS[name]) if self._has_daemon_users else self.own

    @property
    def _has_daemon_users(self) -> bool:
        """By ranges they would need their files given to them from outside, and be kept from nothing by it."""
        return self.way is Way.ROOT and not self.tree.image.prefix


@dataclass(frozen=True)
class Places:
    """Directories as the daemons see them; `programs` is put before `/usr` in the path of a program."""

    client: str
    controller: str
    workers: str
    state: str
    spool: str
    log: str
    database: str
    munge: str
    ssh: str
    run: str
    gpu: str
    programs: str = ""

    @property
    def munge_socket(self) -> str:
        return f"{self.run}/munge/munge.socket.2"

    @property
    def database_socket(self) -> str:
        return f"{self.run}/mysqld/mysqld.sock"

    @property
    def slurmctld_pidfile(self) -> str:
        return f"{self.run}/slurm/slurmctld.pid"


def room_places() -> Places:
    """Debian's own places: a cluster with a root of its own looks like any other machine."""
    return Places(
        client="/etc/slurm",
        controller="/etc/slurm-controller",
        workers="/etc/slurm-workers",
        state="/var/spool/slurmctld",
        spool="/var/spool/slurmd",
        log="/var/log/slurm",
        database="/var/lib/mysql",
        munge="/etc/munge",
        ssh="/etc/ssh/cluster",
        run="/run",
        gpu="/dev/nvidia",
    )


def prefix_places(cluster: SandboxCluster) -> Places:
    """Below the cluster's directory. Any character devices may stand for GPUs; these exist on every Linux."""
    home = cluster.home
    names = {
        "client": "conf/clients",
        "controller": "conf/controller",
        "workers": "conf/workers",
        "state": "state",
        "spool": "spool",
        "log": "log",
        "database": "db",
        "munge": "munge",
        "ssh": "ssh",
    }
    paths = {name: str(home / path) for name, path in names.items()}
    return Places(
        **paths, run=str(sockets_of(home)), gpu=str(home / "gpu/nvidia"), programs=str(cluster.tree.root)
    )


def sockets_of(home: Path) -> Path:
    """Where a prefix cluster keeps sockets and pid files: a path that is short whatever `home` is.

    A unix socket's path may have 107 characters (unix(7)).
    """
    digest = hashlib.sha256(str(home).encode()).hexdigest()[:12]
    return Path(tempfile.gettempdir()) / f"quarterdeck-{os.getuid()}-{digest}"
