"""How often each daemon was told to start afresh: `epochs.json` in the cluster's directory.

A daemon whose number rose is restarted by the keeper; that it runs with the new number says that it was. Used by
`apply` and the adapter's restarts.
"""

import json
from pathlib import Path

from slurm.provisioners.sandbox.files import replace_file


def epochs_of(home: Path) -> dict[str, int]:
    try:
        return dict(json.loads((home / "epochs.json").read_text()))
    except FileNotFoundError:
        return {}


def raise_epochs(home: Path, *names: str) -> dict[str, int]:
    """Raise the numbers of these daemons and return all."""
    epochs = epochs_of(home)
    epochs |= {name: epochs.get(name, 0) + 1 for name in names}
    replace_file(home / "epochs.json", json.dumps(epochs))
    return epochs
