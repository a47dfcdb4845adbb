"""Bring a cluster up from its directory and wait until it is.

Used by `apply` when the keeper does not run, by the developers' command line and the tests. Idempotent: a running
cluster is only looked at.
"""

from collections.abc import Mapping
from dataclasses import replace

from console.errors import Unavailable
from slurm.provisioners.sandbox.apart import Way, way
from slurm.provisioners.sandbox.cluster import SandboxCluster
from slurm.provisioners.sandbox.dress import let_sudo
from slurm.provisioners.sandbox.layout import lay_out
from slurm.provisioners.sandbox.ports import busy_ports
from slurm.provisioners.sandbox.running_images import as_it_runs, note_room
from slurm.provisioners.sandbox.space import (
    keeper_pid,
    keeping,
    start_keeper,
    sweep,
    wait_until,
    write_command_environment,
)


def begin_cluster(cluster: SandboxCluster, files: Mapping[str, str]) -> None:
    """Lay out and start the keeper; returns as soon as it stands (about 0.1 s). The daemons follow by themselves.

    Raises `Unavailable` when a port is taken or the namespaces are refused.
    """
    if keeper_pid(cluster.home):
        return
    sweep(cluster.home)
    note_room(cluster.home, cluster.tree.image.name)
    cluster = replace(as_it_runs(cluster), apart=way())
    if cluster.way is Way.RANGES:
        let_sudo(cluster.tree.root.parents[1])
    lay_out(cluster, files)
    write_command_environment(cluster)
    _check_ports(cluster)
    start_keeper(cluster.home, prefix=cluster.tree.image.prefix)


def start_cluster(cluster: SandboxCluster, files: Mapping[str, str], limit_s: float = 60.0) -> None:
    """Begin, and wait until every daemon is up. Raises `Unavailable` with the last words of the first that is not."""
    begin_cluster(cluster, files)
    if not wait_until(lambda: is_up(cluster), limit_s):
        raise Unavailable(f"{cluster.name} did not come up within {limit_s:g} s: {laggard(cluster)}")


def is_up(cluster: SandboxCluster) -> bool:
    """Every daemon runs and is ready."""
    state = keeping(cluster.home)
    return state is not None and state.is_settled


def laggard(cluster: SandboxCluster) -> str:
    """The first daemon that is not up, in a sentence with its last words."""
    state = keeping(cluster.home)
    if state is None:
        return "its keeper has ended; see its keeper/keeper.log"
    late = next((daemon for daemon in state.daemons if daemon.state != "up"), None)
    return (
        f"{late.name} is {late.state}. {' '.join(late.last_lines[-3:])}" if late else "no daemon has reported"
    )


def _check_ports(cluster: SandboxCluster) -> None:
    ports = {**vars(cluster.ports), **{node.name: node.port for node in cluster.nodes}}
    if busy := busy_ports(ports):
        name, port = next(iter(busy.items()))
        raise Unavailable(
            f"Port {port}, which {cluster.name} uses for {name}, is taken by another process.",
            "End that process, or remove the cluster's ports.json so that new ports are chosen.",
        )
