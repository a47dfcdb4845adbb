"""Which restarts the objects that are there carry, so that a new rendering keeps them. Pure.

A stamp that is left out would be taken away by the next apply, and taking it away starts new pods as well.
"""

from collections.abc import Iterable

from slurm.kube.kinds import Thing
from slurm.provisioners.slinky.design import ACCOUNTING, CONTROLLER, LOGIN, REST_API, RESTARTED_AT, Restarts
from slurm.provisioners.slinky.names import Names

PARTS = {"Accounting": ACCOUNTING, "Controller": CONTROLLER, "RestApi": REST_API, "LoginSet": LOGIN}


def part_of(thing: Thing, names: Names) -> str:
    """The part that an object stands for: a group's name for its NodeSet, empty for what has no pods of Slurm."""
    if thing["kind"] == "NodeSet":
        return str(thing["metadata"]["name"]).removeprefix(names.node_set(""))
    return PARTS.get(thing["kind"], "")


def restarts_in(live: Iterable[Thing], names: Names) -> Restarts:
    found = {part_of(thing, names): _stamp(thing) for thing in live}
    return {part: stamp for part, stamp in found.items() if part and stamp}


def _stamp(thing: Thing) -> str:
    """The operator gives an Accounting's pods only its own annotations, the others' those of their templates."""
    home = thing if thing["kind"] == "Accounting" else thing.get("spec", {}).get("template", {})
    return str(home.get("metadata", {}).get("annotations", {}).get(RESTARTED_AT, ""))
