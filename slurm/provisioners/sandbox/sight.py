"""What the sandbox looks like from outside Slurm: its parts as the keeper reports them, machines, and drift."""

import difflib
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

from clusters.observation import Part, PartState
from slurm.provisioners.sandbox.apply import good_files
from slurm.provisioners.sandbox.space import DaemonState, Keeping

KINDS = {
    "munged": "accounting",
    "mariadbd": "accounting",
    "slurmdbd": "accounting",
    "slurmctld": "controller",
    "sshd": "login",
}
STATES = {"up": PartState.UP, "starting": PartState.STARTING}
MOST_DRIFT_LINES = 60


def parts_of(names: Iterable[str], state: Keeping | None) -> tuple[Part, ...]:
    """One part for each daemon that should be: absent while no keeper runs, waiting while it has not begun."""
    return tuple(_part(name, state.daemon(name) if state else None, state is not None) for name in names)


def _part(name: str, daemon: DaemonState | None, kept: bool) -> Part:
    kind = KINDS.get(name, "worker")
    shown = name.removeprefix("slurmd-")
    if daemon is None:
        return Part(kind, shown, PartState.STARTING if kept else PartState.ABSENT)
    since = datetime.fromtimestamp(daemon.since, UTC) if daemon.since else None
    state = STATES.get(daemon.state, PartState.DOWN)
    detail = "" if state is PartState.UP else "\n".join(daemon.last_lines[-5:])
    return Part(kind, shown, state, since, detail, daemon.restarts)


def machine_state_of(state: Keeping | None) -> Callable[[str], str]:
    """Ready while the node's slurmd runs."""

    def machine_state(node: str) -> str:
        daemon = state.daemon(f"slurmd-{node}") if state else None
        return "Ready" if daemon and daemon.state == "up" else "NotReady"

    return machine_state


def drift_of(home: Path) -> str:
    """How the controller's slurm.conf differs from what was applied last, as a diff; empty when it does not."""
    applied = good_files(home).get("slurm.conf")
    try:
        found = (home / "conf/controller/slurm.conf").read_text(errors="replace")
    except FileNotFoundError:
        return ""
    if applied is None or applied == found:
        return ""
    lines = difflib.unified_diff(applied.splitlines(), found.splitlines(), "applied", "controller", lineterm="", n=1)
    return "\n".join(list(lines)[:MOST_DRIFT_LINES])
