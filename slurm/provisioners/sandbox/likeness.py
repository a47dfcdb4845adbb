"""From a `ClusterSpec` to the sandbox's own words: which image, which nodes and ports, which invented machines.

Pure but for the ports, which are remembered in the cluster's directory.
"""

import hashlib
from pathlib import Path

from django.conf import settings

from clusters.provisioner import ClusterRef
from clusters.spec import ClusterSpec, NodeGroup
from console.errors import Unavailable
from slurm.provisioners.sandbox.apart import way_of
from slurm.provisioners.sandbox.cluster import SandboxCluster, SandboxMount, SandboxNode
from slurm.provisioners.sandbox.images import HOST_PREFIX, IMAGES, Image, Tree
from slurm.provisioners.sandbox.ports import ports_of
from slurm.provisioners.sandbox.space import can_make_rooms


def image_of(spec: ClusterSpec) -> Image:
    """The image of the spec's Slurm version, or this machine's own release where namespaces are refused.

    Raises Unavailable for a version that no suite has.
    """
    if can_make_rooms():
        return HOST_PREFIX
    image = IMAGES.get(spec.slurm_version)
    if image is None:
        raise Unavailable(
            f"The sandbox has no Slurm {spec.slurm_version}.",
            f"It has {', '.join(i for i in IMAGES if i != 'host')}.",
        )
    return image


def likeness(spec: ClusterSpec, ref: ClusterRef, home: Path, tree: Tree) -> SandboxCluster:
    """The cluster as the sandbox sees it. Chooses and remembers ports for nodes that have none yet."""
    ports, node_ports = ports_of(home, spec.node_names)
    return SandboxCluster(
        name=spec.name,
        home=home,
        tree=tree,
        ports=ports,
        nodes=tuple(
            _node(group, name, node_ports[name]) for group in spec.groups for name in group.node_names
        ),
        public_keys=spec.ssh_keys,
        user_ca_key=ref.ssh_ca,
        mounts=tuple(SandboxMount(m.volume, m.path, m.read_only) for m in spec.mounts),
        volumes=volumes_home(),
        scripts=spec.scripts,
        logins=spec.logins,
        apart=way_of(home),
    )


def volumes_home() -> Path:
    """Where the volumes of this machine's regions are, each in a directory by its key."""
    return Path(settings.VAR_DIR) / "volumes"


def _node(group: NodeGroup, name: str, port: int) -> SandboxNode:
    shape = group.shape
    kind = ("gpu", shape.gpu_model.lower()) if shape.gpus else ("cpu",)
    return SandboxNode(
        name=name,
        cpus=shape.cpus,
        memory_mib=shape.memory_mib,
        gpus=shape.gpus,
        port=port,
        features=tuple(word for word in kind if word),
    )


def machine_names(key: str, nodes: tuple[str, ...]) -> dict[str, str]:
    """An invented machine for each node, the same for ever: three digits drawn by the cluster's key, none twice."""
    taken: set[int] = set()
    names = {}
    for node in nodes:
        number = 100 + int.from_bytes(hashlib.sha256(f"{key}/{node}".encode()).digest()[:4]) % 900
        while number in taken:
            number = 100 + (number - 99) % 900
        taken.add(number)
        names[node] = f"e2e_node_{number}"
    return names
