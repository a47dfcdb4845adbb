"""Whether somebody edited the running cluster's configuration by hand.

Compares every copy that the daemons and clients read with what was last applied and held. Reads files only.
"""

import difflib
from pathlib import Path

from slurm.provisioners.sandbox.apply import APPLYING, good_files
from slurm.provisioners.sandbox.layout import COPIES, read_slurm_files


def drift_of(home: Path) -> str:
    """A unified diff of the first file that differs; empty when none does, or while a change is being applied."""
    good = good_files(home)
    if not good or (home / APPLYING).exists():
        return ""
    for copy in COPIES:
        now = read_slurm_files(home / "conf" / copy)
        for name, text in good.items():
            if now.get(name) != text:
                return _diff(text, now.get(name, ""), f"{copy}: {name}")
    return ""


def _diff(applied: str, found: str, name: str) -> str:
    lines = difflib.unified_diff(
        applied.splitlines(), found.splitlines(), f"{name} as applied", f"{name} as found", lineterm="", n=1
    )
    return "\n".join(lines)
