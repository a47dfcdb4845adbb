"""A spec as the sandbox would run it: the cluster's description, its files, and the way back from a line to the spec.

Made anew for every check, apply and judgement; the same spec gives the same files, because ports and machine names
are remembered in the cluster's directory. Knows `ClusterSpec` and the renderer; starts nothing.
"""

import re
from dataclasses import dataclass, replace
from pathlib import Path

from clusters.provisioner import ClusterRef
from clusters.spec import ClusterSpec, Shape
from console.errors import Problem
from slurm.provisioners.sandbox.cluster import SandboxCluster, SandboxNode
from slurm.provisioners.sandbox.epochs import epochs_of
from slurm.provisioners.sandbox.images import Image, Tree
from slurm.provisioners.sandbox.layout import complete_files, platform_lines
from slurm.provisioners.sandbox.ports import ports_of
from slurm.render import RenderedConf, render_conf


@dataclass(frozen=True)
class Candidate:
    """`files` is what the daemons would read."""

    spec: ClusterSpec
    cluster: SandboxCluster
    rendered: RenderedConf
    files: dict[str, str]

    def locate(self, problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
        """Problems of the whole file at the places of the spec: the user's lines, or a partition of the team."""
        return tuple(self._located(problem) for problem in problems)

    def _located(self, problem: Problem) -> Problem:
        rendered, line = self.rendered, problem.line
        if problem.path != "slurm_conf":
            return replace(problem, path="groups", line=None)
        if line is None:
            return problem
        if rendered.user_first_line <= line <= rendered.user_last_line:
            return replace(problem, line=line - rendered.user_first_line + 1)
        # The team's partitions are the file's last lines.
        index = line - (len(rendered.text.splitlines()) - len(self.spec.partitions)) - 1
        path = f"partitions[{index}]" if index >= 0 else "slurm_conf"
        return replace(problem, path=path, line=None)


def candidate_of(ref: ClusterRef, spec: ClusterSpec, home: Path, tree: Tree) -> Candidate:
    """What `spec` means on this machine. Chooses and remembers ports for nodes that have none yet."""
    ports, node_ports = ports_of(home, spec.node_names)
    nodes = tuple(
        _node(name, group.name, group.shape, node_ports[name])
        for group in spec.groups
        for name in group.node_names
    )
    cluster = SandboxCluster(
        name=spec.name,
        home=home,
        tree=tree,
        ports=ports,
        nodes=nodes,
        public_keys=spec.ssh_keys,
        user_ca_key=ref.ssh_ca,
        epochs=epochs_of(home),
    )
    rendered = render_conf(spec, platform_lines(cluster))
    return Candidate(spec, cluster, rendered, complete_files(cluster, {"slurm.conf": rendered.text}))


def provisional_tree(image: Image) -> Tree:
    """Stands for an image that is not unpacked yet, where only names and versions are needed."""
    version = f"{image.name}.0" if image.suite else "22.05.0"
    return Tree(image, Path("/nonexistent"), "", version)


def _node(name: str, group: str, shape: Shape, port: int) -> SandboxNode:
    model = re.sub(r"[^a-z0-9]", "", shape.gpu_model.lower())
    features = (group, model) if model and model != group else (group,)
    return SandboxNode(name, shape.cpus, shape.memory_mib, shape.gpus, port, model, features)
