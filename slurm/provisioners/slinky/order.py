"""Which of a cluster's objects may be written now, and what the next ones wait for. Pure.

Beside `stages`, which says how many workers and which nodes a stage of a change has, this is the order of kinds: what
an object needs comes before it, and when images change slurmdbd comes before slurmctld and both before everything else
(slurm.schedmd.com/upgrades.html: daemons may be releases apart in this direction only). Worked out anew from what is
there each time, so that a killed or repeated apply goes on where it stands.
"""

import re
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
# Kinds whose daemons keep something of their own, and the fields with that release's image.
KEEPERS = {"Accounting": ("slurmdbd",), "Controller": ("slurmctld", "reconfigure")}
RELEASE = re.compile(r"(\d+)\.(\d+)")
NO_WAY_BACK = "Slurm reads nothing that a newer release has written. The others go back and work with it."
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
    is no rest. `kept` are sentences about what stays as it is although something else was asked for."""

    things: tuple[Thing, ...]
    waits_for: str = ""
    kept: tuple[str, ...] = ()


def next_round(
    wanted: Iterable[Thing], live: Iterable[Thing], workloads: Mapping[str, Thing], names: Names
) -> Round:
    """What of a rendering may be written. `live` are the objects as they are; `workloads` by part what the operator
    made of them: StatefulSets, Deployments, and the NodeSets themselves.

    A part whose image changes waits until the parts before it run theirs. Nothing waits where no image changes: new
    parts pull their images side by side. Accounting and a controller that run a newer release already stay there.
    """
    there = {identity(thing): thing for thing in live}
    written: list[Thing] = []
    kept: list[str] = []
    unsettled = ""
    for asked in wanted:
        part, present = part_of(asked, names), there.get(identity(asked))
        thing = _as_far_as_it_goes_back(asked, present, workloads.get(part))
        if thing is not asked:
            kept.append(f"{WORDS[part].capitalize()} stays at {_tag(image_of(thing))}: {NO_WAY_BACK}")
        if unsettled and is_upgrade(thing, present):
            return Round(tuple(written), unsettled, tuple(kept))
        written.append(thing)
        if part and not unsettled and not runs(workloads.get(part), image_of(thing), MAIN[thing["kind"]]):
            unsettled = f"{WORDS.get(part, f'the workers of {part}')} to run {_tag(image_of(thing))}"
    return Round(tuple(written), kept=tuple(kept))


def _as_far_as_it_goes_back(asked: Thing, present: Thing | None, workload: Thing | None) -> Thing:
    """A daemon that has started rewrote what it keeps for its release, and older ones do not read that; but they speak
    to it (slurm.schedmd.com/upgrades.html, Reverting an Upgrade and Compatibility Window). One that never came up goes
    back. No copy is taken here: the console has no way into the volumes of pods that do not run."""
    kind = asked["kind"]
    if present is None or kind not in KEEPERS or _release(image_of(present)) <= _release(image_of(asked)):
        return asked
    if not runs(workload, image_of(present), MAIN[kind]):
        return asked
    fields = {name: {**asked["spec"][name], "image": image_of(present)} for name in KEEPERS[kind]}
    return {**asked, "spec": {**asked["spec"], **fields}}


def _release(image: str) -> tuple[int, ...]:
    """(26, 5) of `ghcr.io/x/slurmctld:26.05-ubuntu24.04`; empty for what names none."""
    found = RELEASE.match(_tag(image))
    return (int(found[1]), int(found[2])) if found else ()


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
