"""What all NodeSets of a cluster own together. Pure; shaped as v1.2.1 was seen to make it."""

from typing import Any

from slurm.kube.kinds import SERVICE, Kind, Thing
from tests.kube.double import parts
from tests.kube.double.kinds import BUDGET


def headless_service(controller: str, node_sets: list[Thing]) -> dict[str, Any]:
    """`slurm-workers-<controller>`, which all NodeSets of a cluster own together."""
    spec = {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": {"app.kubernetes.io/name": "slurmd", "slinky.slurm.net/cluster": controller},
        "ports": [{"name": "slurmd", "port": 6818, "protocol": "TCP", "targetPort": "slurmd"}],
    }
    return _shared(SERVICE, f"slurm-workers-{controller}", node_sets, spec)


def budget(controller: str, node_sets: list[Thing]) -> dict[str, Any]:
    """`slurm-workers-pdb-<controller>`: no pod with `pod-protect` may be evicted."""
    chosen = {"nodeset.slinky.slurm.net/pod-protect": "true", "slinky.slurm.net/cluster": controller}
    spec = {"maxUnavailable": 0, "selector": {"matchLabels": chosen}}
    return _shared(BUDGET, f"slurm-workers-pdb-{controller}", node_sets, spec)


def _shared(kind: Kind, name: str, node_sets: list[Thing], spec: dict[str, Any]) -> dict[str, Any]:
    metadata = {
        "name": name,
        "namespace": node_sets[0]["metadata"]["namespace"],
        "ownerReferences": [parts.owner(each, controls=False) for each in node_sets],
    }
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata, "spec": spec}
