"""The database behind a cluster's accounting: how it is installed and started. Pure.

Small on purpose: a sandbox's accounting is some megabytes (measured: below 110 MB resident).
"""

from typing import Any

from slurm.provisioners.sandbox.cluster import SandboxCluster

# Nothing is lost if an installation is cut short, since it then begins anew; so it need not wait for the disk.
INSTALL = (
    "--auth-root-authentication-method=socket",
    "--skip-test-db",
    "--skip-name-resolve",
    "--force",
    "--innodb-flush-method=nosync",
    "--innodb-log-file-size=16M",
    "--innodb-buffer-pool-size=16M",
    "--innodb-undo-tablespaces=0",
    "--sync-frm=0",
)
SERVE = (
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
)


def install_steps(cluster: SandboxCluster) -> tuple[dict[str, Any], ...]:
    """What runs before the server, once for each cluster; what an installation that was cut short left goes first."""
    places = cluster.places
    done = f"{places.database}/.installed"
    program = f"{places.programs}/usr/bin/mariadb-install-db"
    commands = (
        ["/usr/bin/find", places.database, "-mindepth", "1", "!", "-name", "start.sql", "-delete"],
        [program, *_common(cluster), *INSTALL],
        ["/usr/bin/touch", done],
    )
    return tuple({"argv": command, "unless": done} for command in commands)


def argv(cluster: SandboxCluster) -> list[str]:
    places = cluster.places
    return [
        "/usr/sbin/mariadbd",
        *_common(cluster),
        f"--socket={places.database_socket}",
        f"--pid-file={places.run}/mysqld/mysqld.pid",
        f"--init-file={places.database}/start.sql",
        *SERVE,
    ]


def _common(cluster: SandboxCluster) -> list[str]:
    places = cluster.places
    return [
        "--no-defaults",
        *([f"--basedir={places.programs}/usr"] if places.programs else []),
        *(["--user=root"] if cluster.owner("mysql")[0] == 0 else []),
        f"--datadir={places.database}",
    ]
