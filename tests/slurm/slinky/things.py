"""Objects of a region as the API gives them, in one line each. Names and fields are those of real recordings."""

from typing import Any

from slurm.provisioners.slinky.names import Names

NAMES = Names("quarterdeck-research", "demo-c0123456789ab")
AT = "2026-11-30T12:00:00Z"


def thing(kind: str, name: str, **rest: Any) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": name, "namespace": NAMES.namespace, "generation": 1}, **rest}


def condition(kind: str, true: bool = True, message: str = "") -> dict[str, Any]:
    status = "True" if true else "False"
    return {"type": kind, "status": status, "message": message, "lastTransitionTime": AT}


def pod(name: str, component: str, *, ready: bool = True, made: str = AT, **status: Any) -> dict[str, Any]:
    conditions = status.pop("conditions", [])
    marks = {"app.kubernetes.io/component": component}
    return {
        "kind": "Pod",
        "metadata": {
            "name": name,
            "creationTimestamp": made,
            "labels": marks,
            "annotations": {},
            "uid": f"uid-{name}",
        },
        "spec": {},
        "status": {"phase": "Running", "conditions": [condition("Ready", ready), *conditions], **status},
    }


def worker_pod(slurm: str, machine: str = "", **rest: Any) -> dict[str, Any]:
    group, _, ordinal = slurm.rpartition("-")
    found = pod(f"{NAMES.base}-{slurm}", "worker", **rest)
    found["metadata"]["labels"] |= {
        "app.kubernetes.io/instance": NAMES.node_set(group),
        "nodeset.slinky.slurm.net/pod-hostname": slurm,
        "nodeset.slinky.slurm.net/pod-index": ordinal,
    }
    found["spec"] = {"nodeName": machine} if machine else {}
    return found


def waiting(container: str, reason: str, message: str = "", **last: Any) -> dict[str, Any]:
    """A container status."""
    state = {"waiting": {"reason": reason, "message": message}}
    return {"name": container, "restartCount": 3, "state": state, "lastState": last}


def ended(began: str, over: str, code: int = 1) -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "startedAt": began, "finishedAt": over}}


def warning(reason: str, message: str, name: str, kind: str = "Pod", at: str = AT) -> dict[str, Any]:
    return {
        "type": "Warning",
        "reason": reason,
        "message": message,
        "involvedObject": {"kind": kind, "name": name},
        "lastTimestamp": at,
    }


def machine(name: str, *, ready: bool = True) -> dict[str, Any]:
    return {"kind": "Node", "metadata": {"name": name}, "status": {"conditions": [condition("Ready", ready)]}}


def node_set(group: str, replicas: int, *, seen: bool = True, **status: int) -> dict[str, Any]:
    counts = {"replicas": replicas, "updatedReplicas": replicas, "availableReplicas": replicas}
    found = thing("NodeSet", NAMES.node_set(group), spec={"replicas": replicas})
    found["status"] = {"observedGeneration": 1 if seen else 0, **counts, **status}
    return found


def workload(kind: str, name: str, replicas: int = 1, **status: int) -> dict[str, Any]:
    counts = {
        "observedGeneration": 1,
        "replicas": replicas,
        "updatedReplicas": replicas,
        "readyReplicas": replicas,
    }
    spec = {"replicas": replicas, "template": {"metadata": {"annotations": {}}}}
    return thing(kind, name, spec=spec, status={**counts, **status})
