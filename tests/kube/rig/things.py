"""Objects that a rig holds from its start: nodes, volumes, rights, and where the API serves such kinds. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.kube.rig.parts import KWOK_NODE

Thing = Mapping[str, Any]
NAMESPACES = "/api/v1/namespaces"
NODES = "/api/v1/nodes"
VOLUMES = "/api/v1/persistentvolumes"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
RBAC = "rbac.authorization.k8s.io"
SHARED_CLASS = "rwx"


def node(name: str, *, gpus: int = 0, cpus: int = 96, memory: str = "1000Gi") -> Thing:
    """A node that kwok keeps alive. GPUs are declared, as a device plugin would."""
    sizes = {"cpu": str(cpus), "memory": memory, "pods": "110", "ephemeral-storage": "2000Gi"}
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    if gpus:
        sizes["nvidia.com/gpu"] = str(gpus)
        labels["nvidia.com/gpu.present"] = "true"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": dict([KWOK_NODE])},
        "status": {"capacity": sizes, "allocatable": sizes},
    }


def managed() -> Thing:
    """The change that puts a node into kwok's hands."""
    return {"metadata": {"annotations": dict([KWOK_NODE])}}


def unmanaged() -> Thing:
    """The change that takes it out of them: nobody renews its lease any more."""
    return {"metadata": {"annotations": {KWOK_NODE[0]: None}}}


def turned(condition: Thing, status: str, reason: str) -> Thing:
    """The condition as it is when its node is lost or found: what tells of health has `status`, the rest stays."""
    healthy = {"True": "False", "False": "True"}.get(status, status)
    if condition["type"] in ("Ready", "ContainersReady"):
        return {**condition, "status": status, "reason": reason}
    if condition["type"].endswith("Pressure"):
        return {**condition, "status": healthy, "reason": reason}
    return condition


def pod_path(metadata: Thing) -> str:
    return f"{NAMESPACES}/{metadata['namespace']}/pods/{metadata['name']}"


def shared_class() -> Thing:
    """The default StorageClass, whose volumes many pods may write. Nothing provisions it: see `volume`."""
    default = {"storageclass.kubernetes.io/is-default-class": "true"}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": SHARED_CLASS, "annotations": default},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "Immediate",
    }


def volume(name: str, size: str = "1Ti") -> Thing:
    """One that binds to any claim of the shared class, and is kept when the claim goes."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce", "ReadWriteMany"],
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": SHARED_CLASS,
            "nfs": {"server": "nas.invalid", "path": f"/{name}"},
        },
    }


def is_so(thing: Thing, condition: str = "Ready") -> bool:
    """Whether a condition of its status is True."""
    conditions = thing.get("status", {}).get("conditions", ())
    return any(each["type"] == condition and each["status"] == "True" for each in conditions)


def grant(user: str, rules: Sequence[Thing], namespace: str) -> list[tuple[str, Thing]]:
    """A role with `rules` and its binding to a user, each with the path where it is made."""
    kind = "Role" if namespace else "ClusterRole"
    metadata = {"name": f"rig:{user}"}
    role = {"kind": kind, "metadata": metadata, "rules": list(rules)}
    binding = {
        "kind": f"{kind}Binding",
        "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": metadata["name"]},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": user}],
    }
    root = f"/apis/{RBAC}/v1" + (f"/namespaces/{namespace}" if namespace else "")
    return [
        (f"{root}/{thing['kind'].lower()}s", {"apiVersion": f"{RBAC}/v1", **thing})
        for thing in (role, binding)
    ]
