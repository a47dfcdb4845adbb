"""What the operator does for one NodeSet: pods, scale-in, rollouts, and the mirror of Slurm's states."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from console.errors import Unavailable
from slurm.kube.kinds import POD, Thing
from tests.kube.double import workers
from tests.kube.double.api import Refused
from tests.kube.double.choice import is_cordoned, is_going, is_ready, ordinal_of, to_remove
from tests.kube.double.hands import Hands
from tests.kube.double.kinds import REVISION
from tests.kube.double.parts import owner
from tests.kube.double.slurm_side import OWN_REASON, SlurmNode, SlurmSide
from tests.kube.double.switches import Switches

SCALE_IN = "{}Pod ({}/{}) is pending termination for scale-in"
UPDATE = "{}Pod ({}/{}) is pending termination for update"
CORDONED = "{}Pod ({}/{}) has been cordoned"
STATES = ("Idle", "Allocated", "Mixed", "Down", "Error", "Future", "Unknown")
FLAGS = {
    "COMPLETING": "Completing",
    "DRAIN": "Drain",
    "UNDRAIN": "Undrain",
    "FAIL": "Fail",
    "INVALID": "Invalid",
    "INVALID_REG": "InvalidReg",
    "MAINTENANCE": "Maintenance",
    "NOT_RESPONDING": "NotResponding",
}
CONDITION = "SlurmNodeState"
# v1.2.1 was seen to move its choice on a later reconcile, not at once.
RECHECK_S = 2.0
# A pod whose slurmd runs for so long and is not in Slurm is taken for unregistered.
REGISTER_S = 20.0


@dataclass
class Memory:
    """What the operator remembers of one NodeSet between two looks."""

    chosen: tuple[str, ...] = ()
    chosen_at: float = 0.0
    ready_since: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class NodeSets:
    """`slurm` is None where the cluster has no RestApi: v1.2.1 then takes every node for drained.

    `say_frozen` and `slurm_key` come from the cluster. One look is for one thread.
    """

    hands: Hands
    switches: Switches
    slurm: SlurmSide | None
    memory: Callable[[str], Memory]

    def look(self, node_set: Thing, slurm_key: dict[str, str]) -> bool:
        """One reconcile; whether another one is due soon. Raises `Unavailable` when slurmrestd does not answer.

        v1.2.1 was seen to return at once for a NodeSet that is being deleted: nothing is drained.
        """
        if is_going(node_set):
            return False
        nodes = self.slurm.nodes() if self.slurm else None
        return _Look(self, node_set, slurm_key, nodes, self.memory(node_set["metadata"]["uid"])).go()


class _Look:
    def __init__(
        self,
        of: NodeSets,
        node_set: Thing,
        slurm_key: dict[str, str],
        nodes: dict[str, SlurmNode] | None,
        memory: Memory,
    ) -> None:
        self.hands, self.switches, self.slurm = of.hands, of.switches, of.slurm
        self.node_set, self.slurm_key, self.nodes, self.memory = node_set, slurm_key, nodes, memory
        self.name, self.namespace = node_set["metadata"]["name"], node_set["metadata"]["namespace"]
        self.desired = int(node_set["spec"].get("replicas", 1))
        self.hash = workers.revision(node_set)
        self.pods = self._own_pods()
        self.again = False

    def go(self) -> bool:
        self._keep_revision()
        self._drop_unregistered()
        going = self._scale()
        going |= self._roll(going)
        for pod in self._staying(going):
            self._let_be(pod)
        for pod in self.pods:
            self._mirror(pod)
        self._write_deadlines()
        self._write_status()
        return self.again

    # Pods

    def _own_pods(self) -> list[Thing]:
        uid = self.node_set["metadata"]["uid"]
        pods = self.hands.store.of(POD, self.namespace)
        return [
            pod
            for pod in pods
            if any(ref["uid"] == uid for ref in pod["metadata"].get("ownerReferences") or ())
        ]

    def _live(self) -> list[Thing]:
        return [pod for pod in self.pods if not is_going(pod)]

    def _node(self, pod: Thing) -> SlurmNode | None:
        return (self.nodes or {}).get(host_of(pod))

    def _keep_revision(self) -> None:
        spec = {key: self.node_set["spec"][key] for key in workers.HASHED if key in self.node_set["spec"]}
        name = f"{self.name}-{self.hash}"
        metadata = {
            "name": name,
            "namespace": self.namespace,
            "labels": {workers.HASH: self.hash},
            "ownerReferences": [owner(self.node_set)],
        }
        revision = {"apiVersion": REVISION.api_version, "kind": REVISION.name, "metadata": metadata}
        if self.hands.store.find(REVISION, self.namespace, name) is None:
            self.hands.create({**revision, "data": {"spec": spec}, "revision": 1})

    def _drop_unregistered(self) -> None:
        """v1.2.1 was seen to delete and recreate a healthy pod whose node is not in Slurm, about once a second, for
        ever. Here a slurmd gets some seconds first, because kwok calls every pod healthy at once."""
        if self.nodes is None:
            return
        now = time.monotonic()
        for pod in self._live():
            since = self.memory.ready_since.setdefault(pod["metadata"]["uid"], now)
            if not is_ready(pod) or host_of(pod) in self.nodes:
                self.memory.ready_since[pod["metadata"]["uid"]] = now
                continue
            refused = self.switches.is_unregistered(host_of(pod))
            if now - since >= (0.5 if refused else REGISTER_S):
                words = f"Deleting Pod {self.namespace}/{_name(pod)}: Slurm node is not registered but pod is healthy"
                self.hands.event(self.node_set, "Warning", "SlurmNodeNotRegistered", words, "Delete")
                self._delete(pod)
            self.again = True

    def _scale(self) -> set[str]:
        """Brings the number of pods about; returns those on their way out."""
        live = self._live()
        if len(self.pods) < self.desired:
            # A pod that is still going keeps its ordinal until it is gone.
            self._create(self.desired - len(self.pods))
        if len(live) <= self.desired:
            self.memory.chosen = ()
            return set()
        surplus = len(live) - self.desired
        words = f"Deleting {surplus} Pod(s) to stabilize at {self.desired} replicas"
        self._say_once("ScalingDown", words, "ScaleDown")
        chosen = self._chosen(live, surplus)
        for pod in chosen:
            self._retire(pod, SCALE_IN)
        return {_name(pod) for pod in chosen}

    def _chosen(self, live: list[Thing], surplus: int) -> list[Thing]:
        """Judged anew on later reconciles, so the choice may move."""
        now = time.monotonic()
        before = [pod for pod in live if _name(pod) in self.memory.chosen]
        self.again = True
        if len(before) == surplus and now < self.memory.chosen_at + RECHECK_S:
            return before
        chosen = to_remove(live, surplus)
        self.memory.chosen, self.memory.chosen_at = tuple(_name(pod) for pod in chosen), now
        return chosen

    def _create(self, count: int) -> None:
        """Free ordinals are used again, the lowest first; that of a pod that is still going is not free."""
        if self.switches.no_pods:
            words = "Error creating: pods is forbidden: exceeded quota: no-pods"
            self.hands.event(self.node_set, "Warning", "FailedCreate", words, "Create")
            self.again = True
            return
        taken = {ordinal_of(pod) for pod in self.pods}
        free = (ordinal for ordinal in range(len(taken) + count) if ordinal not in taken)
        words = f"Creating {count} Pod(s) to stabilize at {self.desired} replicas"
        self.hands.event(self.node_set, "Normal", "ScalingUp", words, "ScaleUp")
        for ordinal, _ in zip(free, range(count), strict=False):
            self._create_pod(ordinal)

    def _create_pod(self, ordinal: int) -> None:
        wanted = workers.worker_pod(self.node_set, ordinal, self.slurm_key)
        try:
            made = self.hands.create(wanted)
        except Refused as refusal:
            self.hands.event(self.node_set, "Warning", "FailedCreate", f"Error creating: {refusal}", "Create")
            self.again = True
            return
        if made:
            self.pods.append(made)
            self.hands.event(
                self.node_set, "Normal", "SuccessfulCreate", f"Created pod: {_name(made)}", "Create"
            )

    def _retire(self, pod: Thing, reason: str) -> None:
        """Cordon and drain; delete once it is drained. There is neither force nor limit."""
        node = self._node(pod)
        if self.nodes is None or node is None or not pod["spec"].get("nodeName"):
            return self._delete(pod)
        if not is_cordoned(pod):
            self.hands.annotate(pod, **{workers.CORDON: "true"})
        if "DRAIN" not in node.states:
            return self._drain(pod, node, reason)
        if node.is_drained:
            self._delete(pod)
        return None

    def _drain(self, pod: Thing, node: SlurmNode, reason: str) -> None:
        assert self.slurm
        if not node.is_external:
            self.slurm.drain(node.name, reason.format(OWN_REASON, self.namespace, _name(pod)))
            self.nodes = self.slurm.nodes()

    def _delete(self, pod: Thing) -> None:
        self.hands.delete(pod)
        self.hands.event(self.node_set, "Normal", "SuccessfulDelete", f"Deleted pod: {_name(pod)}", "Delete")
        self.pods = [each for each in self.pods if each is not pod]
        self.again = True

    def _say_once(self, reason: str, words: str, action: str) -> None:
        """While it goes on, once in each round of choosing."""
        if time.monotonic() >= self.memory.chosen_at + RECHECK_S:
            self.hands.event(self.node_set, "Normal", reason, words, action)

    # Rollouts

    def _roll(self, going: set[str]) -> set[str]:
        """RollingUpdate: old pods that are not ready go at once, then as many healthy ones as may be missing. v1.2.1
        was seen to replace two of two at once where no strategy was given. OnDelete: nothing by itself."""
        strategy = self.node_set["spec"].get("updateStrategy") or {}
        old = [pod for pod in self._live() if self._is_old(pod) and _name(pod) not in going]
        if not old or strategy.get("type", "RollingUpdate") != "RollingUpdate":
            return set()
        self.again = True
        sick = [pod for pod in old if not is_ready(pod)]
        if sick:
            words = f"Rolling update: deleting {len(sick)} unhealthy old pod(s)"
            self.hands.event(self.node_set, "Normal", "RollingUpdate", words, "RollingUpdate")
        for pod in sick:
            self._delete(pod)
        return self._replace([pod for pod in old if pod not in sick], strategy)

    def _replace(self, old: list[Thing], strategy: dict[str, Any]) -> set[str]:
        missing = self.desired - sum(is_ready(pod) for pod in self._live())
        room = max(0, self._most_missing(strategy) - max(0, missing))
        on_its_way = [pod for pod in old if is_cordoned(pod)]
        fresh = [pod for pod in old if not is_cordoned(pod)]
        chosen = [*on_its_way, *to_remove(fresh, max(0, room - len(on_its_way)))]
        if len(chosen) > len(on_its_way):
            words = f"Rolling update: replacing {len(chosen)} old pod(s) with updated revision"
            self.hands.event(self.node_set, "Normal", "RollingUpdate", words, "RollingUpdate")
        for pod in chosen:
            self._retire(pod, UPDATE)
        return {_name(pod) for pod in chosen}

    def _most_missing(self, strategy: dict[str, Any]) -> int:
        if not strategy:
            return self.desired
        most = (strategy.get("rollingUpdate") or {}).get("maxUnavailable", "25%")
        if isinstance(most, str):
            most = -(-self.desired * int(most.rstrip("%")) // 100) if most.endswith("%") else int(most)
        return max(1, most)

    def _is_old(self, pod: Thing) -> bool:
        return pod["metadata"]["labels"].get(workers.HASH) != self.hash

    # What stays

    def _staying(self, going: set[str]) -> list[Thing]:
        return [pod for pod in self._live() if _name(pod) not in going]

    def _let_be(self, pod: Thing) -> None:
        """v1.2.1 was seen to take a hand-made pod-cordon away within 3 s under RollingUpdate, after draining for it:
        what stays and is up to date is undrained where the reason is the operator's own."""
        node, cordoned = self._node(pod), is_cordoned(pod)
        strategy = (self.node_set["spec"].get("updateStrategy") or {}).get("type", "RollingUpdate")
        if cordoned and strategy != "RollingUpdate":
            if node and "DRAIN" not in node.states:
                self._drain(pod, node, CORDONED)
            return
        if self._is_old(pod) and strategy == "RollingUpdate" and cordoned:
            return
        if cordoned:
            self.hands.annotate(pod, **{workers.CORDON: None, workers.DEADLINE: None})
        if (
            node
            and self.slurm
            and "DRAIN" in node.states
            and node.reason.startswith(OWN_REASON)
            and is_ready(pod)
        ):
            self.slurm.undrain(node.name)
            self.nodes = self.slurm.nodes()

    # The mirror

    def _mirror(self, pod: Thing) -> None:
        """v1.2.1 was seen to mirror Slurm's states into conditions whose message is Slurm's reason, to label busy pods
        `pod-protect`, and to note in Slurm which pod a node is."""
        node = self._node(pod)
        if node is None or is_going(pod):
            return
        self._mirror_states(pod, node)
        protected = pod["metadata"]["labels"].get(workers.PROTECT) == "true"
        protect = node.is_busy and self.node_set["spec"].get("workloadDisruptionProtection", True)
        if protected != protect:
            mark = {workers.PROTECT: "true" if protect else None}
            self.hands.change(self._now(pod), {"metadata": {"labels": mark}})
        note = self._note(pod)
        if self.slurm and node.comment != note:
            self.slurm.comment(node.name, note)

    def _mirror_states(self, pod: Thing, node: SlurmNode) -> None:
        pod = self._now(pod)
        known = (pod.get("status") or {}).get("conditions") or []
        ours = {each["type"]: each for each in known if each["type"].startswith(CONDITION)}
        wanted = [f"{CONDITION}{state}" for state in conditions_of(node)]
        if set(ours) == set(wanted) and all(each.get("message", "") == node.reason for each in ours.values()):
            return
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        fresh = [
            {"type": kind, "status": "True", "lastTransitionTime": now, "message": node.reason}
            for kind in wanted
        ]
        rest = [each for each in known if not each["type"].startswith(CONDITION)]
        version = {"resourceVersion": pod["metadata"]["resourceVersion"]}
        self.hands.change(pod, {"metadata": version, "status": {"conditions": [*rest, *fresh]}}, "status")

    def _now(self, pod: Thing) -> Thing:
        return self.hands.store.find(POD, self.namespace, _name(pod)) or pod

    def _note(self, pod: Thing) -> str:
        """As v1.2.1 writes it: the way back from a node's Slurm name."""
        facts = {
            "namespace": self.namespace,
            "podName": _name(pod),
            "node": pod["spec"].get("nodeName", ""),
            "nodeSetName": self.name,
            "nodeSetUID": self.node_set["metadata"]["uid"],
        }
        return json.dumps(facts, separators=(",", ":"))

    def _write_deadlines(self) -> None:
        """At the end, so that a choice made before a deadline was known moves later."""
        busy = [pod for pod in self._live() if (node := self._node(pod)) and node.is_busy]
        if not busy or not self.slurm or not self.memory.chosen:
            return
        ends = self.slurm.ends()
        for pod in busy:
            known = (pod["metadata"].get("annotations") or {}).get(workers.DEADLINE)
            end = ends.get(host_of(pod))
            text = end.strftime("%Y-%m-%dT%H:%M:%SZ") if end else None
            if text and text != known:
                self.hands.annotate(pod, **{workers.DEADLINE: text})

    def _write_status(self) -> None:
        status = self._status()
        known = self.node_set.get("status") or {}
        changed = {key: value for key, value in status.items() if known.get(key) != value}
        if changed:
            self.hands.change(self.node_set, {"status": changed}, "status")

    def _status(self) -> dict[str, Any]:
        """v1.2.1 was seen to leave counters out that are nought."""
        pods = [self._now(pod) for pod in self._live()]
        ready = sum(is_ready(pod) for pod in pods)
        nodes = [node for pod in pods if (node := self._node(pod))]
        counts = {
            "readyReplicas": ready,
            "availableReplicas": ready,
            "unavailableReplicas": len(pods) - ready,
            "updatedReplicas": sum(not self._is_old(pod) for pod in pods),
            "slurmIdle": sum("IDLE" in node.states for node in nodes),
            "slurmAllocated": sum(bool(node.states & {"ALLOCATED", "MIXED"}) for node in nodes),
            "slurmDown": sum("DOWN" in node.states for node in nodes),
            "slurmDrain": sum("DRAIN" in node.states for node in nodes),
        }
        return {
            **{name: count or None for name, count in counts.items()},
            "replicas": len(pods),
            "desired": self.desired,
            "collisionCount": 0,
            "nodeSetHash": self.hash,
            "observedGeneration": self.node_set["metadata"]["generation"],
            "selector": f"app.kubernetes.io/instance={self.name},app.kubernetes.io/name=slurmd",
        }


def conditions_of(node: SlurmNode) -> list[str]:
    """`Idle`, `Drain` ... as they follow `SlurmNodeState`."""
    base = [state for state in STATES if state.upper() in node.states]
    return [*base, *(word for flag, word in FLAGS.items() if flag in node.states)]


def frozen(hands: Hands, node_set: Thing, why: Unavailable) -> None:
    """v1.2.1 was seen to stop at its first step while slurmrestd does not answer: an event, no status, no pod."""
    words = f"Failed in syncFinalizer: {why.message}"
    hands.event(node_set, "Warning", "SyncFinalizerFailed", words, "Sync")


def host_of(pod: Thing) -> str:
    return str(pod["metadata"]["labels"].get(workers.HOSTNAME) or _name(pod))


def _name(pod: Thing) -> str:
    return str(pod["metadata"]["name"])
