"""What the operator writes down of Slurm: conditions, labels and deadlines of worker pods, a NodeSet's status."""

import json
from datetime import UTC, datetime
from typing import Any

from slurm.kube.kinds import Thing
from tests.kube.double import workers
from tests.kube.double.choice import is_ready
from tests.kube.double.pool import Pool, name_of
from tests.kube.double.slurm_side import SlurmNode

CONDITION = "SlurmNodeState"
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


def mirror(pool: Pool) -> None:
    """v1.2.1 was seen to mirror Slurm's states into conditions whose message is Slurm's reason, to label busy pods
    `pod-protect`, and to note in Slurm which pod a node is."""
    for pod in pool.live:
        if node := pool.node(pod):
            _write_conditions(pool, pod, node)
            _write_protection(pool, pod, node)
            _write_comment(pool, pod, node)
    _write_deadlines(pool)
    _write_status(pool)


def conditions_of(node: SlurmNode) -> list[str]:
    """`Idle`, `Drain` ... as they follow `SlurmNodeState`."""
    base = [state for state in STATES if state.upper() in node.states]
    return [*base, *(word for flag, word in FLAGS.items() if flag in node.states)]


def _write_conditions(pool: Pool, pod: Thing, node: SlurmNode) -> None:
    pod = pool.now(pod)
    known = (pod.get("status") or {}).get("conditions") or []
    ours = {each["type"]: each for each in known if each["type"].startswith(CONDITION)}
    wanted = [f"{CONDITION}{state}" for state in conditions_of(node)]
    if set(ours) == set(wanted) and all(each.get("message", "") == node.reason for each in ours.values()):
        return
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    about = {"status": "True", "lastTransitionTime": now, "message": node.reason}
    rest = [each for each in known if each["type"] not in ours]
    conditions = [*rest, *({"type": kind, **about} for kind in wanted)]
    version = {"resourceVersion": pod["metadata"]["resourceVersion"]}
    pool.hands.change(pod, {"metadata": version, "status": {"conditions": conditions}}, "status")


def _write_protection(pool: Pool, pod: Thing, node: SlurmNode) -> None:
    is_protected = pod["metadata"]["labels"].get(workers.PROTECT) == "true"
    protect = node.is_busy and pool.node_set["spec"].get("workloadDisruptionProtection", True)
    if is_protected != protect:
        labels = {workers.PROTECT: "true" if protect else None}
        pool.hands.change(pod, {"metadata": {"labels": labels}})


def _write_comment(pool: Pool, pod: Thing, node: SlurmNode) -> None:
    """As v1.2.1 writes it: the way back from a node's Slurm name."""
    facts = {
        "namespace": pool.namespace,
        "podName": name_of(pod),
        "node": pod["spec"].get("nodeName", ""),
        "nodeSetName": pool.name,
        "nodeSetUID": pool.node_set["metadata"]["uid"],
    }
    text = json.dumps(facts, separators=(",", ":"))
    if pool.slurm and node.comment != text:
        pool.slurm.comment(node.name, text)


def _write_deadlines(pool: Pool) -> None:
    """Last, and only while somebody is to go: so a choice that was made without deadlines moves later."""
    busy = [pod for pod in pool.live if (node := pool.node(pod)) and node.is_busy]
    ends = pool.slurm.ends() if busy and pool.slurm and pool.memory.chosen else {}
    for pod in pool.live:
        known = (pod["metadata"].get("annotations") or {}).get(workers.DEADLINE)
        end = ends.get(workers.host_name(pod))
        text = end.strftime("%Y-%m-%dT%H:%M:%SZ") if end else known if pod in busy else None
        if text != known:
            pool.hands.annotate(pod, **{workers.DEADLINE: text})


def _write_status(pool: Pool) -> None:
    known = pool.node_set.get("status") or {}
    changed = {key: value for key, value in status_of(pool).items() if known.get(key) != value}
    if changed:
        pool.hands.change(pool.node_set, {"status": changed}, "status")


def status_of(pool: Pool) -> dict[str, Any]:
    """v1.2.1 was seen to leave counters out that are nought."""
    pods = [pool.now(pod) for pod in pool.live]
    ready = sum(is_ready(pod) for pod in pods)
    nodes = [node for pod in pods if (node := pool.node(pod))]
    counts = {
        "readyReplicas": ready,
        "availableReplicas": ready,
        "unavailableReplicas": len(pods) - ready,
        "updatedReplicas": sum(not pool.is_old(pod) for pod in pods),
        "slurmIdle": sum("IDLE" in node.states for node in nodes),
        "slurmAllocated": sum(bool(node.states & {"ALLOCATED", "MIXED"}) for node in nodes),
        "slurmDown": sum("DOWN" in node.states for node in nodes),
        "slurmDrain": sum("DRAIN" in node.states for node in nodes),
    }
    return {
        **{name: count or None for name, count in counts.items()},
        "replicas": len(pods),
        "desired": pool.desired,
        "collisionCount": 0,
        "nodeSetHash": pool.hash,
        "observedGeneration": pool.node_set["metadata"]["generation"],
        "selector": f"app.kubernetes.io/instance={pool.name},app.kubernetes.io/name=slurmd",
    }
