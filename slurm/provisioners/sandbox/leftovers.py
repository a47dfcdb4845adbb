"""What killed processes left in a cluster's directory that nothing else would come across.

A check that was cut short may have no other after it. The watcher has it removed.
"""

from pathlib import Path

from slurm.provisioners.sandbox.passing import left_behind, unplaced
from slurm.provisioners.sandbox.shadow import sweep_shadows


def has_leftovers(home: Path) -> bool:
    return any(left_behind(home, "shadow")) or any(unplaced(home))


def sweep_leftovers(home: Path) -> None:
    sweep_shadows(home)
    for path in unplaced(home):
        path.unlink(missing_ok=True)
