"""Which daemons a cluster runs, with which arguments, users and order: the content of keeper/daemons.json.

Pure; the options are those of the daemons' own man pages in Debian 12 to sid. Used by `layout`, and by whoever wants to
know what to expect in keeper.json.
"""

import os
import pwd
from typing import Any

from slurm.provisioners.sandbox.cluster import SandboxCluster, SandboxNode
from slurm.provisioners.sandbox.daemon import Spec
from slurm.provisioners.sandbox.keeper import MARK

FIRST, ACCOUNTING, CONTROLLER, WORKERS = 10, 20, 30, 40


def specs_of(cluster: SandboxCluster) -> list[Spec]:
    """Everything in starting order. slurmrestd is not among them: Slurm is read by its own commands."""
    specs = [munged_spec(cluster), _mariadbd(cluster), _slurmdbd(cluster), _slurmctld(cluster)]
    specs += [_slurmd(cluster, node) for node in cluster.nodes]
    return [*specs, _sshd(cluster)] if can_run_sshd(cluster) else specs


def can_run_sshd(cluster: SandboxCluster) -> bool:
    """As root without a root tree, sshd needs the account `sshd` on this machine itself."""
    if not cluster.tree.image.prefix or os.getuid():
        return True
    return any(entry.pw_name == "sshd" for entry in pwd.getpwall())


def _spec(cluster: SandboxCluster, name: str, user: str, order: int, argv: list[str], **more: object) -> Spec:
    program = cluster.places.programs + argv[0]
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
        user=owner if owner[0] != os.getuid() else None,
        epoch=cluster.epochs.get(name, 0),
        **more,  # type: ignore[arg-type]  # passed on by name, checked by Spec itself
    )


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
    """Small on purpose: a sandbox's accounting is some megabytes (measured: below 110 MB resident)."""
    places = cluster.places
    base = [f"--basedir={places.programs}/usr"] if places.programs else []
    user = ["--user=root"] if os.getuid() == 0 and places.programs else []
    # Nothing is lost if an installation is cut short, since it then begins anew; so it need not wait for the disk.
    install = [
        f"{places.programs}/usr/bin/mariadb-install-db",
        "--no-defaults",
        *base,
        *user,
        f"--datadir={places.database}",
        "--auth-root-authentication-method=socket",
        "--skip-test-db",
        "--skip-name-resolve",
        "--force",
        "--innodb-flush-method=nosync",
        "--innodb-log-file-size=16M",
        "--innodb-buffer-pool-size=16M",
        "--innodb-undo-tablespaces=0",
        "--sync-frm=0",
    ]
    done = f"{places.database}/.installed"
    steps: tuple[dict[str, Any], ...] = (
        {"argv": ["/usr/bin/find", places.database, "-mindepth", "1", "!", "-name", "start.sql", "-delete"]},
        {"argv": install},
        {"argv": ["/usr/bin/touch", done]},
    )
    steps = tuple({**step, "unless": done} for step in steps)
    argv = [
        "/usr/sbin/mariadbd",
        "--no-defaults",
        *base,
        *user,
        f"--datadir={places.database}",
        f"--socket={places.database_socket}",
        f"--pid-file={places.run}/mysqld/mysqld.pid",
        f"--init-file={places.database}/start.sql",
        "--skip-networking",
        "--performance-schema=OFF",
        "--innodb-buffer-pool-size=16M",
        "--innodb-log-file-size=16M",
        "--innodb-log-buffer-size=2M",
        "--innodb-undo-tablespaces=0",
        "--innodb-lock-wait-timeout=900",
        "--innodb-flush-log-at-trx-commit=2",
        "--aria-pagecache-buffer-size=4M",
        "--key-buffer-size=1M",
        "--query-cache-size=0",
        "--tmp-table-size=4M",
        "--max-connections=40",
        "--table-open-cache=128",
        "--max-allowed-packet=16M",
    ]
    ready = places.database_socket
    return _spec(cluster, "mariadbd", "mysql", FIRST, argv, steps=steps, ready_path=ready, stop_s=15.0)


def _slurmdbd(cluster: SandboxCluster) -> Spec:
    """Reads slurmdbd.conf beside SLURM_CONF."""
    conf = f"{cluster.places.controller}/slurm.conf"
    port = cluster.ports.slurmdbd
    argv = ["/usr/sbin/slurmdbd", "-D"]
    return _spec(cluster, "slurmdbd", "slurm", ACCOUNTING, argv, ready_port=port, slurm_conf=conf)


def _slurmctld(cluster: SandboxCluster) -> Spec:
    """Without -D: only then does a refused reconfigure leave the old controller running (24.11 and newer)."""
    argv = ["/usr/sbin/slurmctld", "-f", f"{cluster.places.controller}/slurm.conf"]
    port, pidfile = cluster.ports.slurmctld, cluster.places.slurmctld_pidfile
    return _spec(
        cluster, "slurmctld", "slurm", CONTROLLER, argv, ready_port=port, pidfile=pidfile, stop_s=8.0
    )


def _slurmd(cluster: SandboxCluster, node: SandboxNode) -> Spec:
    places = cluster.places
    stepd = ["-d", f"{places.programs}/usr/sbin/slurmstepd"] if places.programs else []
    argv = ["/usr/sbin/slurmd", "-D", "-N", node.name, "-f", f"{places.workers}/slurm.conf", *stepd]
    hostname = None if cluster.tree.image.prefix else node.name
    return _spec(
        cluster,
        f"slurmd-{node.name}",
        "root",
        WORKERS,
        argv,
        ready_port=node.port,
        hostname=hostname,
        leaves=f"SLURMD_NODENAME={node.name}",
    )


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
    argv = ["/usr/sbin/sshd", "-D", "-e", "-f", f"{places.ssh}/sshd_config"]
    hostname = None if cluster.tree.image.prefix else f"{cluster.name}-login"
    port = cluster.ports.sshd
    return _spec(cluster, "sshd", "root", WORKERS, argv, steps=(step,), ready_port=port, hostname=hostname)
