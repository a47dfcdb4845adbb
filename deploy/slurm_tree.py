#!/usr/bin/env python3
"""Makes the root tree of a Slurm ready in the user's cache: `.venv/bin/python deploy/slurm_tree.py [IMAGE]`.

The sandbox would build it itself when the first cluster is created; here it is a step of the preparation, with its
time and its errors where a person looks. Without IMAGE it is the demo's, or this machine's own Slurm where a tree of
another release cannot be entered. Prints what it is, last, in one line. Needs the environment.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from console.errors import ConsoleError  # noqa: E402 - found only after the line above
from slurm.provisioners.sandbox.images import DEFAULT_IMAGE, HOST_PREFIX, IMAGES  # noqa: E402
from slurm.provisioners.sandbox.space import can_make_rooms  # noqa: E402
from slurm.provisioners.sandbox.tree import build_tree, cached_tree  # noqa: E402


def main() -> int:
    refusal = can_make_rooms()
    if refusal and sys.argv[1:]:
        print(f"not here: {refusal}")
        return 1
    image = HOST_PREFIX if refusal else IMAGES[sys.argv[1] if sys.argv[1:] else DEFAULT_IMAGE]
    origin = "from the cache" if cached_tree(image) else "downloaded, kept in the cache"
    try:
        tree = build_tree(image)
    except ConsoleError as problem:
        print(f"error: {problem.message} {problem.hint}".strip())
        return 1
    limits = f", without namespaces ({refusal})" if refusal else ""
    print(f"{tree.slurm_version}, {origin}{limits}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
