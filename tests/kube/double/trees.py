"""Which Slurm stands behind the pods: 26.05, which Slinky's images have, where it can be had; else 24.11."""

from collections.abc import Callable, Sequence

from console.errors import Unavailable
from slurm.provisioners.sandbox.images import IMAGES, Tree
from slurm.provisioners.sandbox.space import can_make_rooms
from slurm.provisioners.sandbox.tree import build_tree

# Slinky 1.2 needs 25.11 or newer; an older one differs in nothing that the double shows.
WANTED = ("26.05", "24.11")


def slurm_tree(say: Callable[[str], None], wanted: Sequence[str] = ()) -> Tree:
    """Built or fetched when it is not there yet. Raises `Unavailable` where there can be no rooms, or no packages."""
    if refusal := can_make_rooms():
        raise Unavailable(f"No namespaces can be made here: {refusal}.", "The double's Slurm lives in one.")
    refused: Unavailable | None = None
    for name in wanted or WANTED:
        try:
            return build_tree(IMAGES[name], say)
        except Unavailable as error:
            say(f"Slurm {name} cannot be had: {error.message}")
            refused = error
    assert refused
    raise refused
