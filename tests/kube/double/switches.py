"""How a test, also in another process, breaks the double: `switches.json` in its home, and a ConfigMap in a namespace.

The ConfigMap `double-switches` has one key for each switch, its value JSON; it wins over the file. A switch that is
not there is off. `flip` writes the file.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slurm.kube.kinds import Thing

CONFIG_MAP_NAME = "double-switches"


@dataclass(frozen=True)
class Switches:
    """Components are `controller`, `accounting`, `restapi`, `worker`, `login`."""

    # The operator does nothing for ever: no child, no status, no event. Daemons go on as they are.
    dead: bool = False
    # No pods are made for NodeSets; a FailedCreate event says so.
    no_pods: bool = False
    # slurmrestd does not answer the operator.
    rest_away: bool = False
    # Components whose image cannot be pulled: their pods wait in ImagePullBackOff.
    image_pull: tuple[str, ...] = ()
    # The controller's state claim names a storage class that does not exist. For controllers made from now on.
    unbound_claim: bool = False
    # slurmctld ends as soon as it is started.
    controller_crash: bool = False
    # Slurm names of workers whose slurmd never registers; `*` is all.
    unregistered: tuple[str, ...] = ()
    # Seconds that the operator waits before it looks at what changed.
    slow_s: float = 0.0
    # Seconds until a changed ConfigMap is seen in pods; a kubelet takes up to two minutes.
    volume_delay_s: float = 0.5

    def is_unregistered(self, host: str) -> bool:
        return "*" in self.unregistered or host in self.unregistered


def switches_of(home: Path, config_map: Thing | None) -> Switches:
    """What is set now. An unknown switch raises TypeError: a test that misspells one must not pass."""
    try:
        found: dict[str, Any] = json.loads((home / "switches.json").read_text())
    except FileNotFoundError:
        found = {}
    data: Mapping[str, str] = (config_map or {}).get("data") or {}
    found |= {name: json.loads(value) for name, value in data.items()}
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in found.items()}
    return Switches(**values)


def flip(home: Path, **switches: object) -> None:
    """Set these in the file and leave the others; None takes one away."""
    path = home / "switches.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    known = {name: value for name, value in {**known, **switches}.items() if value is not None}
    fresh = path.with_name(".switches.new")
    fresh.write_text(json.dumps(known))
    fresh.replace(path)
