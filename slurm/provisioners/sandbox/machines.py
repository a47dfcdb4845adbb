"""Invented machine names: a sandbox's nodes have a second name like those of a real region.

`machines.json` in the cluster's directory keeps them, so a node's machine changes only when it is replaced.
"""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from slurm.provisioners.sandbox.keeper import replace_file


def machines_of(home: Path, names: Iterable[str]) -> dict[str, str]:
    """Machine by Slurm name, for the nodes among `names` (`node:slinky-0`, as ports are named); new ones are invented."""
    nodes = [name.removeprefix("node:") for name in names if name.startswith("node:")]
    path = home / "machines.json"
    known: dict[str, str] = json.loads(path.read_text()) if path.exists() else {}
    if missing := [node for node in nodes if node not in known]:
        for node in missing:
            known[node] = _invent(f"{home.name}/{node}", set(known.values()))
        replace_file(path, json.dumps(known, indent=1))
    return known


def _invent(seed: str, taken: set[str]) -> str:
    number = int(hashlib.sha256(seed.encode()).hexdigest(), 16)
    while (name := f"e2e_node_{100 + number % 900}") in taken:
        number += 1
    return name
