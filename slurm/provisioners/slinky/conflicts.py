"""Fields that somebody else manages: taken back from a person's edit by hand, left to a controller or a pipeline.

Server-side apply names the other manager of each field (kubernetes.io/docs/reference/using-api/server-side-apply). One
that updated the object with kubectl edited it by hand, and the page has said that the next change overwrites that. Any
other manager means it, and would write its value again.
"""

from collections.abc import Iterable

from console.errors import Conflict, Problem, Rejected
from slurm.kube.client import Kube, OtherManager
from slurm.kube.kinds import Thing
from slurm.provisioners.slinky.pods import name_of

BY_HAND = "kubectl"


def settle(kube: Kube, thing: Thing, conflict: Conflict) -> Thing:
    """Apply once more, with force where only hands were in between. Raises Rejected naming manager and field."""
    others = getattr(conflict, "managers", ())
    if not others or not all(_is_by_hand(other) for other in others):
        raise Rejected(
            f"{thing['kind']} {name_of(thing)} is managed by {_names(others)} as well. {conflict.message}",
            tuple(_problem(thing, other) for other in others),
            "Take these fields out of the other manager's care, or change them there.",
        ) from conflict
    return kube.apply(thing, force=True)
