"""Daemons told to start afresh, in steps that another process finishes where one was killed between them.

What is decided stands in `epochs.json` first; the watcher compares that with what the keeper runs.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from slurm.provisioners.sandbox.apply import APPLYING
from slurm.provisioners.sandbox.cluster import SandboxCluster
from slurm.provisioners.sandbox.epochs import epochs_of, raise_epochs
from slurm.provisioners.sandbox.ghosts import mark_restarted
from slurm.provisioners.sandbox.orders import write_daemons
from slurm.provisioners.sandbox.space import Keeping, reload_keeper

WORKER = "slurmd-"


def renew(cluster: SandboxCluster, daemons: Sequence[str]) -> None:
    """Have these started afresh, with all that hangs on them. Raises Unavailable when no keeper runs."""
    raise_epochs(cluster.home, *daemons)
    carry_out(cluster, daemons)


def carry_out(cluster: SandboxCluster, daemons: Sequence[str]) -> None:
    """Tell the keeper what was decided. Idempotent."""
    nodes = [name.removeprefix(WORKER) for name in daemons if name.startswith(WORKER)]
    mark_restarted(cluster.home, nodes)
    write_daemons(replace(cluster, epochs=epochs_of(cluster.home)))
    reload_keeper(cluster.home)


def cut_short(home: Path, state: Keeping) -> tuple[str, ...]:
    """Daemons whose restart was decided without the keeper's having been told. While a change is being applied that
    is its business."""
    if (home / APPLYING).exists():
        return ()
    epochs = epochs_of(home)
    return tuple(
        daemon.name
        for daemon in state.daemons
        if daemon.state != "stopping" and daemon.epoch < epochs.get(daemon.name, 0)
    )
