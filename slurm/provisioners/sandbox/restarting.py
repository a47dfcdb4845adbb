"""Restart daemons on a person's word, and wait until they are back.

A restart is a raised epoch (see `epochs`): the keeper ends the daemon with all that hangs on it (a worker's jobs, the
login node's sessions) and starts it anew. Blocking, about two seconds; nothing else of the cluster is touched.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from console.errors import Unavailable
from slurm.provisioners.sandbox.daemon import specs_from, specs_text
from slurm.provisioners.sandbox.epochs import epochs_of
from slurm.provisioners.sandbox.keeper import replace_file
from slurm.provisioners.sandbox.space import keeping, reload_keeper, wait_until

LIMIT_S = 30.0


def restart_daemons(home: Path, names: Sequence[str], say: Callable[[str], None]) -> None:
    """Have the keeper restart these. Raises `Unavailable` when one is not up again within the limit."""
    path = home / "keeper/daemons.json"
    epochs = epochs_of(home)
    specs = [replace(spec, epoch=epochs.get(spec.name, 0)) for spec in specs_from(path.read_text())]
    say(f"Restarting {', '.join(name.removeprefix('slurmd-') for name in names)}.")
    replace_file(path, specs_text(specs))
    reload_keeper(home)
    if not wait_until(lambda: all(_is_back(home, name, epochs[name]) for name in names), LIMIT_S):
        raise Unavailable(f"Not all of {', '.join(names)} came back within {LIMIT_S:g} s.", "Look at the cluster's parts.")
    say("Up again.")


def _is_back(home: Path, name: str, epoch: int) -> bool:
    state = keeping(home)
    daemon = state.daemon(name) if state else None
    return daemon is not None and daemon.state == "up" and daemon.epoch == epoch
