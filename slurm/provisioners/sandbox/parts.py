"""The cluster's services as pages show them, from what its keeper reports.

Accounting is munged, MariaDB and slurmdbd together: each is useless without the others. Reads files only.
"""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from clusters.observation import Part, PartState
from slurm.provisioners.sandbox.daemon import specs_from
from slurm.provisioners.sandbox.keeper import replace_file
from slurm.provisioners.sandbox.space import DaemonState, Keeping

ACCOUNTING = ("munged", "mariadbd", "slurmdbd")
KINDS = {"slurmctld": "controller", "sshd": "login"}
STATES = {
    "up": PartState.UP,
    "waiting": PartState.STARTING,
    "starting": PartState.STARTING,
    "stopping": PartState.DOWN,
    "down": PartState.DOWN,
    "backing off": PartState.DOWN,
}
# Worst first: a part of several daemons is as well as its worst.
ORDER = (PartState.DOWN, PartState.ABSENT, PartState.STARTING, PartState.UP)


def parts_of(home: Path, state: Keeping | None) -> tuple[Part, ...]:
    """Every service that should run; all absent while there is no keeper, none before the first apply."""
    if state is None:
        return tuple(_part(name, [], home) for name in _expected(home))
    named: dict[str, list[DaemonState]] = {}
    for daemon in state.daemons:
        named.setdefault(_part_name(daemon.name), []).append(daemon)
    return tuple(_part(name, daemons, home) for name, daemons in named.items())


def machine_states(state: Keeping) -> Callable[[str], str]:
    """The state of a node's machine, which in a sandbox is its slurmd."""
    words = {PartState.UP: "running", PartState.STARTING: "starting", PartState.DOWN: "down"}
    known = {daemon.name: words[STATES[daemon.state]] for daemon in state.daemons}
    return lambda node: known.get(f"slurmd-{node}", "")


def news_of(home: Path, state: Keeping | None) -> tuple[str, ...]:
    """What died since this was last asked, each once, and that it is being started again."""
    path = home / "told.json"
    told: dict[str, int] = json.loads(path.read_text()) if path.exists() else {}
    now = {daemon.name: daemon.restarts for daemon in state.daemons} if state else {}
    died = [d for d in (state.daemons if state else ()) if d.restarts > told.get(d.name, 0)]
    if now != told:
        replace_file(path, json.dumps(now))
    return tuple(f"{d.name} ended{_how(d)}; it was started again." for d in died)


def _how(daemon: DaemonState) -> str:
    last = daemon.last_lines[-1] if daemon.last_lines else ""
    return f" {last.strip('()').removeprefix('ended ')}" if last.startswith("(ended") else ""


def _part_name(daemon: str) -> str:
    if daemon in ACCOUNTING:
        return "accounting"
    return KINDS.get(daemon, daemon.removeprefix("slurmd-"))


def _expected(home: Path) -> list[str]:
    try:
        specs = specs_from((home / "keeper/daemons.json").read_text())
    except FileNotFoundError:
        return []
    return list(dict.fromkeys(_part_name(spec.name) for spec in specs))


def _part(name: str, daemons: Sequence[DaemonState], home: Path) -> Part:
    kind = name if name in ("accounting", "controller", "login") else "worker"
    if not daemons:
        return Part(kind, name, PartState.ABSENT, detail=f"Not running; its files are in {home}.")
    worst = min(daemons, key=lambda daemon: ORDER.index(STATES[daemon.state]))
    since = max(daemon.since for daemon in daemons)
    return Part(
        kind=kind,
        name=name,
        state=STATES[worst.state],
        since=datetime.fromtimestamp(since, UTC),
        detail=_detail(worst),
        restarts=sum(daemon.restarts for daemon in daemons),
    )


def _detail(daemon: DaemonState) -> str:
    """Nothing for what is up; else the daemon, its state and its own last words."""
    if daemon.state == "up":
        return ""
    words = " ".join(line for line in daemon.last_lines[-3:] if line.strip())
    return f"{daemon.name} is {daemon.state}. {words}".strip()
