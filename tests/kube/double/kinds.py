"""The kinds that the double writes beside those of the product: the operator's other children, and kwok's own. Pure."""

from slurm.kube import kinds
from slurm.kube.kinds import Kind, Thing

BUDGET = Kind("PodDisruptionBudget", "poddisruptionbudgets", "policy")
REVISION = Kind("ControllerRevision", "controllerrevisions", "apps")
EXEC = Kind("Exec", "execs", "kwok.x-k8s.io", "v1alpha1")
PORT_FORWARD = Kind("PortForward", "portforwards", "kwok.x-k8s.io", "v1alpha1")
LOGS = Kind("Logs", "logs", "kwok.x-k8s.io", "v1alpha1")
KINDS = {**kinds.KINDS, **{kind.name: kind for kind in (BUDGET, REVISION, EXEC, PORT_FORWARD, LOGS)}}


def kind_of(thing: Thing) -> Kind:
    return KINDS[thing["kind"]]
