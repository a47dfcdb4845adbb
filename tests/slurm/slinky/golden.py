"""What the clusters of `designs` are rendered as, kept as files: a change of the rendering is read in their diff.

`python -m tests.slurm.slinky.golden` writes them anew.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path

from slurm.provisioners.slinky.render import files
from tests.slurm.slinky.designs import GOLDEN

PLACE = Path(__file__).parents[2] / "data/slinky/golden"


def kept(name: str) -> Mapping[str, str]:
    root = PLACE / name
    return {
        str(path.relative_to(root)): path.read_text() for path in sorted(root.rglob("*")) if path.is_file()
    }


def write() -> None:
    for name, design in GOLDEN.items():
        shutil.rmtree(PLACE / name, ignore_errors=True)
        for file, text in files(design).items():
            path = PLACE / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


if __name__ == "__main__":
    write()
