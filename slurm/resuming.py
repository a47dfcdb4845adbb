"""Letting drained nodes take jobs again, whichever platform they are on. Blocking."""

from collections.abc import Collection

from slurm.client import Slurm


def resume_drained(slurm: Slurm, names: Collection[str]) -> None:
    """Slurm refuses to resume a node that takes jobs already, and the others with it (24.11)."""
    drained = [node.name for node in slurm.nodes() if node.name in names and "DRAIN" in node.state.flags]
    if drained:
        slurm.resume(drained)
