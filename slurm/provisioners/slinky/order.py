"""Which of a cluster's objects may be written now, and what the next ones wait for. Pure.

Beside `stages`, which says how many workers and which nodes a stage of a change has, this is the order of kinds: what
an object needs comes before it, and when images change slurmdbd comes before slurmctld and both before everything else
(slurm.schedmd.com/upgrades.html: daemons may be releases apart in this direction only). Worked out anew from what is
there each time, so that a killed or repeated apply goes on where it stands.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from slurm.kube.kinds import Thing
from slurm.provisioners.slinky.design import ACCOUNTING, CONTROLLER, LOGIN, REST_API
from slurm.provisioners.slinky.names import Names
from slurm.provisioners.slinky.restarts import part_of

# The field of each kind's spec with the image that its daemon runs.
MAIN = {
    "Accounting": "slurmdbd",
    "Controller": "slurmctld",
    "RestApi": "slurmrestd",
    "NodeSet": "slurmd",
    "LoginSet": "login",
}
# What slurmctld says when a partition names a dynamic node that it has no record of (26.05, read_config.c).
NAMES_LOST = "Invalid node names in partition"
WORDS = {
    ACCOUNTING: "accounting",
    CONTROLLER: "the controller",
    REST_API: "the REST service",
    LOGIN: "the login node",
}


@dataclass(frozen=True)
class Round:
    """`things` may be written now, in this order. `waits_for` says in words what the rest waits for; empty when there
    is no rest."""

    things: tuple[Thing, ...]
    waits_for: str = ""


def next_round(
    wanted: Iterable[Thing], live: Iterable[Thing], workloads: Mapping[str, Thing], names: Names
) -> Round:
    """What of a rendering may be written. `live` are the objects as they are; `workloads` by part what the operator
    made of them: StatefulSets, Deployments, and the NodeSets themselves.

    A part whose image changes waits until the parts before it run theirs. Nothing waits where no image changes: new
    parts pull their images side by side.
    """
    there = {identity(thing): thing for thing in live}
    written: list[Thing] = []
    unsettled = ""
    for thing in wanted:
        part = part_of(thing, names)
        if unsettled and is_upgrade(thing, there.get(identity(thing))):
            return Round(tuple(written), unsettled)
        written.append(thing)
        if part and not unsettled and not runs(workloads.get(part), image_of(thing), MAIN[thing["kind"]]):
            unsettled = f"{WORDS.get(part, f'the workers of {part}')} to run {_tag(image_of(thing))}"
    return Round(tuple(written))


def identity(thing: Thing) -> tuple[str, str]:
    return thing["kind"], thing["metadata"]["name"]


def image_of(thing: Thing) -> str:
    """The image of its daemon; empty for an object that has none."""
    field = MAIN.get(thing["kind"], "")
    return str(thing.get("spec", {}).get(field, {}).get("image", ""))


def is_upgrade(wanted: Thing, present: Thing | None) -> bool:
    return present is not None and bool(image_of(wanted)) and image_of(wanted) != image_of(present)


def runs(workload: Thing | None, image: str, container: str) -> bool:
    """Whether all pods of a StatefulSet, Deployment or NodeSet run `image` and are ready."""
    if workload is None:
        return False
    spec, status = workload.get("spec") or {}, workload.get("status") or {}
    is_seen = int(status.get("observedGeneration") or 0) >= int(workload["metadata"].get("generation") or 1)
    count = int(spec.get("replicas", 1))
    counts = [int(status.get(field) or 0) for field in ("replicas", "updatedReplicas", "readyReplicas")]
    return is_seen and _workload_image(workload, container) == image and counts == [count] * 3


def _workload_image(workload: Thing, container: str) -> str:
    if workload["kind"] == "NodeSet":
        return image_of(workload)
    containers: Iterable[Mapping[str, Any]] = workload["spec"]["template"]["spec"].get("containers") or ()
    return next((str(one.get("image", "")) for one in containers if one.get("name") == container), "")


def _tag(image: str) -> str:
    return image.rpartition(":")[2]


def forgot_its_nodes(lines: Iterable[str]) -> bool:
    """Whether a controller's last words are that a partition names nodes it knows nothing of. It comes up again with a
    configuration in which no own partition names any (`known` empty); its nodes then register anew."""
    return any(NAMES_LOST in line for line in lines)
