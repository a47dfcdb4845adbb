"""Whether a sandbox cluster is what a spec says: by its daemons, its nodes and its running configuration.

Asks Slurm (blocking, a few short commands). Hopeless only on evidence: a daemon that keeps dying.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from clusters.nodes import Health
from clusters.observation import Judgement, Verdict
from clusters.spec import ClusterSpec
from console.errors import Unavailable
from slurm import conf
from slurm.client import Slurm
from slurm.provisioners.sandbox.apply import good_files
from slurm.provisioners.sandbox.space import keeping

# A daemon that died so often in a row will not come up by itself (about 15 s at the keeper's pace).
HOPELESS_RESTARTS = 5


def judge_cluster(home: Path, spec: ClusterSpec, files: Mapping[str, str], slurm: Slurm) -> Judgement:
    """Done, waiting or hopeless, with the reason in a sentence."""
    try:
        why = _files(home, files) or _daemons(home) or _nodes(spec, slurm) or _partitions(spec, slurm)
        why = why or _settings(spec, slurm)
    except Unavailable as error:
        return Judgement(Verdict.WAITING, error.message)
    if not why:
        return Judgement(Verdict.DONE, "Slurm says so itself.")
    return Judgement(_worst(home), why)


def _worst(home: Path) -> Verdict:
    state = keeping(home)
    dying = state and any(d.state == "backing off" and d.restarts >= HOPELESS_RESTARTS for d in state.daemons)
    return Verdict.HOPELESS if dying else Verdict.WAITING


def _files(home: Path, files: Mapping[str, str]) -> str:
    return "" if good_files(home) == files else "The controller does not run with these files yet."


def _daemons(home: Path) -> str:
    state = keeping(home)
    if state is None:
        return "The daemons do not run."
    late = [daemon for daemon in state.daemons if daemon.state != "up"]
    if not late:
        return ""
    words = " ".join(late[0].last_lines[-2:])
    return f"Waiting for {', '.join(daemon.name for daemon in late)}. {words}".strip()


def _nodes(spec: ClusterSpec, slurm: Slurm) -> str:
    seen = {node.name: node for node in slurm.nodes()}
    if missing := sorted(set(spec.node_names) - set(seen)):
        return f"Slurm does not know {', '.join(missing)} yet."
    if surplus := sorted(set(seen) - set(spec.node_names)):
        return f"Slurm still knows {', '.join(surplus)}."
    silent = [
        name
        for name, node in seen.items()
        if node.state.health is Health.UNKNOWN or "NOT_RESPONDING" in node.state.flags
    ]
    return f"Waiting for {', '.join(silent)} to register." if silent else ""


def _partitions(spec: ClusterSpec, slurm: Slurm) -> str:
    wanted = {partition.name for partition in (*spec.platform_partitions, *spec.partitions)}
    seen = {partition.name for partition in slurm.partitions()}
    if different := sorted(wanted ^ seen):
        return f"Slurm's partitions still differ in {', '.join(different)}."
    return ""


def _settings(spec: ClusterSpec, slurm: Slurm) -> str:
    """The user's plain numbers read back. Other values are printed in forms of their own (`00:05:00`, `info`)."""
    running = {key.lower(): value for key, value in slurm.config().items()}
    wanted = {field.key: field.value for _, field in conf.parse(spec.slurm_conf).settings()}
    for key, value in wanted.items():
        number = re.fullmatch(r"(\d+)(?: [a-z]+)?", running.get(key.lower(), ""))
        if number and value.isdigit() and int(number[1]) != int(value):
            return f"{key} is {running[key.lower()]} in the running configuration, not {value}."
    return ""
