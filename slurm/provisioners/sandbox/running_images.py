"""Which image each part of a running cluster runs from: `images.json` in its directory.

A cluster's room is made from one image; while and after an upgrade, parts run another one's programs, shown to them in
the place of the room's `/usr` (`machine`). As the whole cluster starts anew, its room is the newest again. Used by
`start`, `upgrade` and the adapter.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from clusters.observation import NodeSeen
from clusters.spec import ClusterSpec
from console.errors import Missing, Problem
from slurm.provisioners.sandbox.cluster import SandboxCluster
from slurm.provisioners.sandbox.epochs import epochs_of
from slurm.provisioners.sandbox.files import replace_file
from slurm.provisioners.sandbox.images import HOST_PREFIX, IMAGES
from slurm.provisioners.sandbox.machine import TREES
from slurm.provisioners.sandbox.space import can_make_rooms
from slurm.provisioners.sandbox.tree import cached_tree

# In Slurm's order of an upgrade (slurm.schedmd.com/upgrades.html, Upgrade Procedure). The commands, and munged, which
# all others need, go with the login node.
PARTS = ("accounting", "controller", "workers", "login")
ROOM = "room"


def images_in(home: Path) -> dict[str, str]:
    """The image's name of each part and of the room; empty for a cluster that never started."""
    try:
        return dict(json.loads((home / "images.json").read_text()))
    except FileNotFoundError:
        return {}


def note_images(home: Path, parts: Iterable[str], image: str) -> None:
    replace_file(home / "images.json", json.dumps(images_in(home) | dict.fromkeys(parts, image)))


def note_room(home: Path, image: str) -> None:
    """The room is made of this image now. What has begun to run another one goes on with that, but for this machine's
    own release, which is all that there is where there are no rooms."""
    had = {part: other for part, other in images_in(home).items() if HOST_PREFIX.name not in (image, other)}
    now = dict.fromkeys(PARTS, image) | had | {ROOM: image}
    replace_file(home / "images.json", json.dumps(now))


def others_than(home: Path, image: str) -> tuple[str, ...]:
    """The parts that run another image than this, in the order of an upgrade."""
    found = images_in(home)
    return tuple(part for part in PARTS if found.get(part, image) != image)


def other_version(spec: ClusterSpec, config: Mapping[str, str], nodes: Iterable[NodeSeen]) -> str:
    """Who does not say of itself that it runs the spec's release, as a sentence. Where there are no rooms all run this
    machine's."""
    if can_make_rooms():
        return ""
    said = {"The controller": config.get("SLURM_VERSION", "")}
    said |= {node.name: node.version for node in nodes if node.name in spec.node_names}
    for name, version in said.items():
        if version and not version.startswith(f"{spec.slurm_version}."):
            return f"{name} still runs Slurm {version}."
    return ""


def as_it_runs(cluster: SandboxCluster) -> SandboxCluster:
    """The cluster with what its directory remembers: how often each daemon began afresh, and whose programs it runs."""
    return replace(cluster, epochs=epochs_of(cluster.home), usr=usr_of(images_in(cluster.home)))


def usr_of(images: Mapping[str, str]) -> dict[str, str]:
    """For each part where its programs are inside the room; parts that run the room's own are left out."""
    return {
        part: f"{TREES}/{_tree_key(image)}/root/usr"
        for part, image in images.items()
        if part != ROOM and image != images.get(ROOM)
    }


def _tree_key(image: str) -> str:
    tree = cached_tree(IMAGES[image])
    if tree is None:
        raise Missing(
            f"The packages of Slurm {image}, which a part of this cluster runs, are gone.",
            "Fetch them again.",
        )
    return tree.key


def image_problems(before: ClusterSpec | None, spec: ClusterSpec) -> tuple[Problem, ...]:
    """Why the image cannot be changed on this machine; `before` is what runs."""
    if before is None or before.slurm_version == spec.slurm_version or not can_make_rooms():
        return ()
    return (
        Problem(
            "image",
            "This machine makes no namespaces, so every cluster runs its own release of Slurm, whatever the image.",
            "Allow namespaces, or keep the image.",
        ),
    )
