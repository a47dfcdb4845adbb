"""`spec.json` in a cluster's directory: the last spec that was applied, or is being applied for the first time."""

from pathlib import Path

import msgspec

from clusters.spec import ClusterSpec, from_json, to_json
from slurm.provisioners.sandbox.files import replace_file

NAME = "spec.json"


def remember(home: Path, spec: ClusterSpec) -> None:
    home.mkdir(parents=True, exist_ok=True)
    replace_file(home / NAME, msgspec.json.encode(to_json(spec)).decode())


def remembered(home: Path) -> ClusterSpec | None:
    """None for a cluster that was never applied."""
    try:
        return from_json(msgspec.json.decode((home / NAME).read_bytes()))
    except FileNotFoundError:
        return None
