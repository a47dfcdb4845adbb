"""What the sandbox looks like from outside Slurm: its parts as the keeper reports them, machines, and drift."""

import difflib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from clusters.life_scripts import ABOUT, Hook, version_in
from clusters.observation import Part, PartState
from slurm.provisioners.sandbox.apply import APPLYING, good_files
from slurm.provisioners.sandbox.daemon import Spec
from slurm.provisioners.sandbox.epochs import epochs_of
from slurm.provisioners.sandbox.files import replace_file
from slurm.provisioners.sandbox.layout import COPIES, read_slurm_files
from slurm.provisioners.sandbox.space import DaemonState, Keeping, keeping

KINDS = {
    "munged": "accounting",
    "mariadbd": "accounting",
    "slurmdbd": "accounting",
    "slurmctld": "controller",
    "sshd": "login",
}
STATES = {"up": PartState.UP, "starting": PartState.STARTING, "waiting": PartState.STARTING}
OF_WORKERS = (Hook.WORKER_PROLOG, Hook.WORKER_EPILOG)
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
    init = next((version for step in daemon.steps or () if (version := version_in(step))), "")
    return Part(kind, shown, state, since, detail, daemon.restarts, init)


def last_words(part: Part) -> str:
    """What it said last and how it ended, for a log that has a sentence a step; empty for one that said nothing."""
    lines = part.detail.splitlines()
    return f" It said: {' '.join(lines[-2:])}" if lines else ""


def with_job_scripts(parts: tuple[Part, ...], home: Path) -> tuple[Part, ...]:
    """The workers with the prolog and the epilog that their copy of the configuration names, and has."""
    copy = home / "conf/workers"
    try:
        lines = dict(
            line.split("=", 1) for line in (copy / "slurm.conf").read_text().splitlines() if "=" in line
        )
    except FileNotFoundError:
        return parts
    found = {hook: _version_at(copy, lines.get(ABOUT[hook].key, "")) for hook in OF_WORKERS}
    return tuple(
        replace(part, prolog=found[Hook.WORKER_PROLOG], epilog=found[Hook.WORKER_EPILOG])
        if part.kind == "worker"
        else part
        for part in parts
    )


def _version_at(copy: Path, path: str) -> str:
    """Empty for none, and for one whose file is not there: slurmd could not run it."""
    version = version_in(path)
    return version if version and (copy / Path(path).name).is_file() else ""


def without_mounts(wanted: Iterable[Spec], state: Keeping | None) -> list[str]:
    """The machines whose daemon has not come up with its volumes yet, or still has others."""
    late = []
    for spec in wanted:
        if spec.machine is not None:
            daemon = state.daemon(spec.name) if state else None
            mounts = tuple((place.source, place.path, place.read_only) for place in spec.machine.volumes)
            if daemon is None or daemon.mounts != mounts:
                late.append(spec.name.removeprefix("slurmd-"))
    return late


def without_init(wanted: Iterable[Spec], state: Keeping | None) -> list[str]:
    """The machines whose daemon was not started by what the cluster's init scripts are now."""
    late = []
    for spec in wanted:
        daemon = state.daemon(spec.name) if state else None
        has = daemon.steps if daemon else ()
        if has is not None and has != tuple(step["argv"][-1] for step in spec.steps):
            late.append(spec.name.removeprefix("slurmd-"))
    return late


def unsettled(parts: tuple[Part, ...], why: str) -> tuple[Part, ...]:
    """The controller is up and still has something to put right."""
    return tuple(
        replace(part, state=PartState.STARTING, detail=why) if part.kind == "controller" else part
        for part in parts
    )


def are_starting(state: Keeping, epochs: Mapping[str, int]) -> bool:
    """Whether some slurmd is on its way: told to end a job now, it would not hear of it for a minute or longer."""
    return any(
        daemon.state in {"waiting", "starting", "stopping"} or daemon.epoch < epochs.get(daemon.name, 0)
        for daemon in state.daemons
        if daemon.name.startswith("slurmd-")
    )


def is_back(home: Path, node: str) -> bool:
    """Whether the node's slurmd runs as the last restart wants it."""
    name, state = f"slurmd-{node}", keeping(home)
    daemon = state.daemon(name) if state else None
    return daemon is not None and daemon.state == "up" and daemon.epoch >= epochs_of(home).get(name, 0)


def machine_state_of(state: Keeping | None) -> Callable[[str], str]:
    """Ready while the node's slurmd runs."""

    def machine_state(node: str) -> str:
        daemon = state.daemon(f"slurmd-{node}") if state else None
        return "Ready" if daemon and daemon.state == "up" else "NotReady"

    return machine_state


def drift_of(home: Path) -> str:
    """How the first file that is not as it was applied last differs, as a diff; empty when all are.

    Controller, workers and clients each have a copy, and somebody at a login node edits the clients'. While a change is
    being applied the copies differ on purpose.
    """
    good = good_files(home)
    if not good or (home / APPLYING).exists():
        return ""
    for copy in COPIES:
        now = read_slurm_files(home / "conf" / copy)
        for name, applied in good.items():
            if now.get(name) != applied:
                return _diff(applied, now.get(name, ""), f"{name} of the {copy}")
    return ""


def _diff(applied: str, found: str, name: str) -> str:
    lines = difflib.unified_diff(
        applied.splitlines(), found.splitlines(), f"{name}, as applied", f"{name}, as found", lineterm="", n=1
    )
    return "\n".join(list(lines)[:MOST_DRIFT_LINES])


def news_of(home: Path, state: Keeping) -> tuple[str, ...]:
    """What died since this was last asked, each once. The keeper starts it again by itself."""
    path = home / "told.json"
    told: dict[str, int] = json.loads(path.read_text()) if path.exists() else {}
    now = {daemon.name: daemon.restarts for daemon in state.daemons}
    if now != told:
        replace_file(path, json.dumps(now))
    died = [daemon for daemon in state.daemons if daemon.restarts > told.get(daemon.name, 0)]
    return tuple(
        f"{d.name} ended{_how(d)} and {'was' if d.state == 'up' else 'is'} started again." for d in died
    )


def _how(daemon: DaemonState) -> str:
    """The keeper's own last line: `(ended by signal 9)`."""
    last = daemon.last_lines[-1] if daemon.last_lines else ""
    return last.strip("()").removeprefix("ended") if last.startswith("(ended") else ""
