"""Fields that somebody else manages: taken back from a person's edit by hand, left to a controller or a pipeline.

Server-side apply names the other manager of each field (kubernetes.io/docs/reference/using-api/server-side-apply). One
that updated the object with kubectl edited it by hand, and the page has said that the next change overwrites that. Any
other manager means it, and would write its value again.
"""

from console.errors import Problem, Rejected
from slurm.kube.client import Kube
from slurm.kube.errors import Held, Holder
from slurm.kube.kinds import Thing
from slurm.provisioners.slinky.pods import name_of

BY_HAND = "kubectl"


def settle(kube: Kube, thing: Thing, held: Held) -> Thing:
    """Apply once more, with force where only hands were in between. Raises Rejected naming manager and field."""
    theirs = [holder for holder in held.holders if not is_by_hand(holder)]
    if theirs or not held.holders:
        raise Rejected(
            f"{thing['kind']} {name_of(thing)} is also managed by somebody else. {held.message}",
            tuple(_problem(holder) for holder in theirs),
            held.hint,
        ) from held
    return kube.apply(thing, force=True)


def is_by_hand(holder: Holder) -> bool:
    """`kubectl edit`, `patch`, `scale` and client-side `apply`; with `--server-side` it is somebody's manifest."""
    return holder.manager.startswith(BY_HAND) and not holder.applies


def _problem(holder: Holder) -> Problem:
    return Problem(holder.field, f"{holder.manager} holds this field.", "Leave it to one of the two.")
