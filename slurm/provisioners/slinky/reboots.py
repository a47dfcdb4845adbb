"""Workers that are restarted one by one, told from what Slurm and the pods say: nothing is remembered here. Pure.

A worker is drained with a reason of ours, its pod is deleted, and the operator makes it anew; when the new pod has
registered, the node is resumed. As its pod ends, the operator's own script sets the node DOWN with a reason of its own
(slurm-operator 1.2, slurmd preStop), which may take the place of ours. A node that is left drained by either after its
pod was made anew is resumed; nodes that a person drained are never touched.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from clusters.observation import NodeSeen
from slurm.drains import OPERATOR, RESTARTING, RESTARTS
from slurm.kube.kinds import Thing
from slurm.provisioners.slinky.pods import parse_moment, worker_of

_ENDED = "terminat"


class Next(Enum):
    """What is to be done for a worker."""

    WAIT = "waits for its jobs to end before it restarts"
    DELETE = "restarts"
    RETURN = "restarts; waits for its pod and its node to come back"
    RESUME = "has restarted and takes jobs again in a moment"


@dataclass(frozen=True)
class Reboot:
    node: str
    pod: str
    next: Next


def reboots_in(nodes: Iterable[NodeSeen], pods: Iterable[Thing]) -> tuple[Reboot, ...]:
    """Of worker pods. A node without one at the moment is on its way back."""
    by_node = {worker_of(pod).slurm: pod for pod in pods}
    return tuple(found for node in nodes if (found := _reboot(node, by_node.get(node.name))))


def _reboot(node: NodeSeen, pod: Thing | None) -> Reboot | None:
    is_ours = node.reason.startswith((RESTARTS, RESTARTING))
    if "DRAIN" not in node.state.flags or not (is_ours or _is_left_over(node, pod)):
        return None
    if pod is None:
        return Reboot(node.name, "", Next.RETURN)
    worker = worker_of(pod)
    if worker.leaving or (_is_new(pod, node) and not _is_back(node, pod)):
        return Reboot(node.name, worker.pod, Next.RETURN)
    if _is_new(pod, node):
        return Reboot(node.name, worker.pod, Next.RESUME)
    busy = node.cpus_allocated > 0 or "COMPLETING" in node.state.flags
    return Reboot(
        node.name, worker.pod, Next.WAIT if busy and node.reason.startswith(RESTARTS) else Next.DELETE
    )


def _is_left_over(node: NodeSeen, pod: Thing | None) -> bool:
    """Drained as its last pod ended, which is over: there is a new one that the operator does not want to go."""
    says_ended = node.reason.startswith(OPERATOR) and _ENDED in node.reason
    return bool(says_ended and pod and _is_new(pod, node) and not worker_of(pod).cordoned)


def _is_new(pod: Thing, node: NodeSeen) -> bool:
    """Made after the reason was given: both have whole seconds only, and an old pod is older than that."""
    made = parse_moment(str(pod["metadata"].get("creationTimestamp") or ""))
    return bool(made and node.reason_at and made >= node.reason_at)


def _is_back(node: NodeSeen, pod: Thing) -> bool:
    gone = {"NOT_RESPONDING", "INVALID_REG"} & node.state.flags
    return worker_of(pod).ready and not gone and node.state.base != "UNKNOWN"
