"""The worker pods of one NodeSet during one look of the operator: what they are, and what is done to one of them."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from slurm.kube.kinds import POD, Thing
from tests.kube.double import workers
from tests.kube.double.api import Refused
from tests.kube.double.choice import is_cordoned, is_going, is_ready
from tests.kube.double.hands import Hands
from tests.kube.double.slurm_side import OWN_REASON, SlurmNode, SlurmSide
from tests.kube.double.switches import Switches


@dataclass
class Memory:
    """What the operator remembers of one NodeSet between two looks; times are `time.monotonic()`."""

    chosen: tuple[str, ...] = ()
    chosen_at: float = 0.0
    ready_since: dict[str, float] = field(default_factory=dict)


@dataclass
class Pool:
    """`slurm` and `nodes` are None where the cluster has no RestApi. `again` asks for another look soon."""

    hands: Hands
    switches: Switches
    slurm: SlurmSide | None
    node_set: Thing
    slurm_key: dict[str, str]
    memory: Memory
    nodes: dict[str, SlurmNode] | None
    again: bool = False

    def __post_init__(self) -> None:
        uid = self.node_set["metadata"]["uid"]
        found = self.hands.store.of(POD, self.namespace)
        self.pods = [pod for pod in found if _is_owned(pod, uid)]

    @property
    def name(self) -> str:
        return str(self.node_set["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.node_set["metadata"]["namespace"])

    @property
    def desired(self) -> int:
        return int(self.node_set["spec"].get("replicas", 1))

    @cached_property
    def hash(self) -> str:
        return workers.revision(self.node_set)

    @property
    def strategy(self) -> dict[str, Any]:
        return dict(self.node_set["spec"].get("updateStrategy") or {})

    @property
    def rolls(self) -> bool:
        return bool(self.strategy.get("type", "RollingUpdate") == "RollingUpdate")

    @property
    def live(self) -> list[Thing]:
        return [pod for pod in self.pods if not is_going(pod)]

    def node(self, pod: Thing) -> SlurmNode | None:
        return (self.nodes or {}).get(workers.host_name(pod))

    def now(self, pod: Thing) -> Thing:
        """With what this look has already changed of it."""
        return self.hands.store.find(POD, self.namespace, name_of(pod)) or pod

    def is_old(self, pod: Thing) -> bool:
        return bool(pod["metadata"]["labels"].get(workers.HASH) != self.hash)

    def say(self, reason: str, words: str, action: str, kind: str = "Normal") -> None:
        self.hands.event(self.node_set, kind, reason, words, action)

    # Acts

    def create(self, ordinal: int) -> None:
        try:
            made = self.hands.create(workers.worker_pod(self.node_set, ordinal, self.slurm_key))
        except Refused as refusal:
            self.say("FailedCreate", f"Error creating: {refusal}", "Create", "Warning")
            self.again = True
            return
        if made:
            self.pods.append(made)
            self.say("SuccessfulCreate", f"Created pod: {name_of(made)}", "Create")

    def delete(self, pod: Thing) -> None:
        self.hands.delete(pod)
        self.say("SuccessfulDelete", f"Deleted pod: {name_of(pod)}", "Delete")
        self.pods = [each for each in self.pods if each is not pod]
        self.again = True

    def retire(self, pod: Thing, reason: str) -> None:
        """Cordon and drain; delete once it is drained. There is neither force nor limit. Without a RestApi, v1.2.1
        takes every node for drained."""
        node = self.node(pod)
        if node is None or not pod["spec"].get("nodeName"):
            self.delete(pod)
            return
        if not is_cordoned(pod):
            self.hands.annotate(pod, **{workers.CORDON: "true"})
        if "DRAIN" not in node.states:
            self.drain(pod, node, reason)
        elif node.is_drained:
            self.delete(pod)

    def drain(self, pod: Thing, node: SlurmNode, reason: str) -> None:
        """`reason` has places for the operator's mark, namespace and pod. Somebody else's reason is left alone."""
        if self.slurm and not node.is_external:
            self.slurm.drain(node.name, reason.format(OWN_REASON, self.namespace, name_of(pod)))
            self.nodes = self.slurm.nodes()

    def undrain(self, pod: Thing) -> None:
        """Only what the operator drained itself, and not before the worker is back."""
        node = self.node(pod)
        drained = node and "DRAIN" in node.states and node.reason.startswith(OWN_REASON)
        if node and drained and self.slurm and is_ready(pod):
            self.slurm.undrain(node.name)
            self.nodes = self.slurm.nodes()


def name_of(pod: Thing) -> str:
    return str(pod["metadata"]["name"])


def _is_owned(pod: Thing, uid: str) -> bool:
    return any(ref["uid"] == uid for ref in pod["metadata"].get("ownerReferences") or ())
