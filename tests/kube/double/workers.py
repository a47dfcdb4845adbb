"""Worker pods of a NodeSet, and what they are called. Pure; shaped as v1.2.1 was seen to make them."""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from slurm.kube.kinds import POD, Thing
from tests.kube.double import parts
from tests.kube.double.conf import prefix_of, slurm_name

PREFIX = "nodeset.slinky.slurm.net/"
HOSTNAME, INDEX, NAME = f"{PREFIX}pod-hostname", f"{PREFIX}pod-index", f"{PREFIX}pod-name"
MODE, PROTECT = f"{PREFIX}scaling-mode", f"{PREFIX}pod-protect"
CORDON, COST, DEADLINE = f"{PREFIX}pod-cordon", f"{PREFIX}pod-deletion-cost", f"{PREFIX}pod-deadline"
HASH, CLUSTER = "controller.kubernetes.io/hash", "slinky.slurm.net/cluster"
# The sha256 of nothing.
NO_CONF = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
# What a rollout depends on; replicas, partition and metadata are not among them.
HASHED = ("template", "slurmd", "logfile", "ssh", "extraConf", "ordinalPadding", "oversubscribeNode")
UNITS = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
PRE_STOP = "scontrol update nodename=$(hostname) state=down reason='slurm-operator: Pod is terminating';"
DEFAULT_CPUS, DEFAULT_MEMORY_MIB = 8, 16000


def revision(node_set: Thing) -> str:
    """The hash that pods carry and `status.nodeSetHash` names: ten figures of what starts a rollout."""
    spec = node_set["spec"]
    text = json.dumps({key: spec[key] for key in HASHED if key in spec}, sort_keys=True)
    return str(int(parts.digest(text)[:12], 16))[:10].rjust(10, "4")


def pod_name(node_set: Thing, ordinal: int) -> str:
    return f"{node_set['metadata']['name']}-{_padded(node_set, ordinal)}"


def host_of(node_set: Thing, ordinal: int) -> str:
    """The node's name in Slurm: the host name's prefix and the ordinal, or the pod's name."""
    prefix = prefix_of(node_set)
    return f"{prefix}{_padded(node_set, ordinal)}" if prefix else pod_name(node_set, ordinal)


def host_name(pod: Thing) -> str:
    """What `host_of` gave this pod."""
    return str(pod["metadata"]["labels"].get(HOSTNAME) or pod["metadata"]["name"])


def _padded(node_set: Thing, ordinal: int) -> str:
    return str(ordinal).zfill(node_set["spec"].get("ordinalPadding") or 0)


def slurmd_conf(node_set: Thing) -> str:
    """What follows `slurmd --conf`: the NodeSet's name among the features, then `extraConf` as it stands."""
    extra, name = node_set["spec"].get("extraConf") or "", slurm_name(node_set)
    tokens = [token for token in extra.split(" ") if token]
    features = [token.partition("=")[2] for token in tokens if token.lower().startswith("feature")]
    others = [token for token in tokens if not token.lower().startswith("feature")]
    return " ".join([f"Features={','.join([name, *features])}", *others])


def sizes(node_set: Thing) -> tuple[int, int]:
    """(CPUs, memory in MiB) by the limits of the container, or what stands for the machine's own."""
    limits = ((node_set["spec"].get("slurmd") or {}).get("resources") or {}).get("limits") or {}
    cpus = int(_quantity(limits["cpu"])) if "cpu" in limits else DEFAULT_CPUS
    memory = int(_quantity(limits["memory"]) // 2**20) if "memory" in limits else DEFAULT_MEMORY_MIB
    return max(cpus, 1), memory


def _quantity(text: object) -> Decimal:
    number = str(text)
    for unit, size in UNITS.items():
        if number.endswith(unit):
            return Decimal(number.removesuffix(unit)) * size
    return Decimal(number.removesuffix("m")) / 1000 if number.endswith("m") else Decimal(number)


def worker_pod(node_set: Thing, ordinal: int, slurm_key: Mapping[str, str]) -> dict[str, Any]:
    """A NodeSet's own labels and annotations come along, without being part of what starts a rollout."""
    about, spec = node_set["metadata"], node_set["spec"]
    cluster, name = spec["controllerRef"]["name"], pod_name(node_set, ordinal)
    marks = {
        **parts.labels("worker", "slurmd", about["name"]),
        HASH: revision(node_set),
        HOSTNAME: host_of(node_set, ordinal),
        INDEX: str(ordinal),
        NAME: name,
        MODE: spec.get("scalingMode") or "StatefulSet",
        CLUSTER: cluster,
    }
    own = {
        "kubectl.kubernetes.io/default-container": "slurmd",
        "slinky.slurm.net/sshd-conf-hash": NO_CONF,
        "slinky.slurm.net/sssd-conf-hash": NO_CONF,
        "topology.slinky.slurm.net/spec": "",
    }
    metadata = parts.template_metadata(node_set, name, marks, own)
    metadata |= {"generateName": f"{about['name']}-", "ownerReferences": [parts.owner(node_set)]}
    body = _pod(node_set, cluster, slurm_key) | {
        "hostname": marks[HOSTNAME],
        "subdomain": f"slurm-workers-{cluster}",
    }
    return {"apiVersion": POD.api_version, "kind": POD.name, "metadata": metadata, "spec": body}


def _pod(node_set: Thing, cluster: str, slurm_key: Mapping[str, str]) -> dict[str, Any]:
    spec, namespace = node_set["spec"], node_set["metadata"]["namespace"]
    pod: dict[str, Any] = {
        "automountServiceAccountToken": False,
        "containers": [parts.container(_slurmd(node_set, cluster), spec.get("slurmd"))],
        "dnsConfig": {"searches": [f"slurm-workers-{cluster}.{namespace}.svc.cluster.local"]},
        "enableServiceLinks": False,
        "initContainers": [parts.log_container(node_set, "/var/log/slurm/slurmd.log")],
        "volumes": [
            parts.projected("slurm-etc", [parts.from_secret(slurm_key["name"], slurm_key["key"])]),
            parts.memory_volume("slurm-logfile"),
        ],
    }
    if not spec.get("oversubscribeNode"):
        pod["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [_apart()]}}
    return parts.pod_spec(node_set, pod)


def _apart() -> dict[str, Any]:
    """One worker a machine. v1.2.1 names no other namespaces, so it only sees workers of its own."""
    chosen = {"key": "app.kubernetes.io/name", "operator": "In", "values": ["slurmd"]}
    return {"labelSelector": {"matchExpressions": [chosen]}, "topologyKey": "kubernetes.io/hostname"}


def _slurmd(node_set: Thing, cluster: str) -> dict[str, Any]:
    cpus, memory_mib = sizes(node_set)
    server = f"{cluster}-controller.{node_set['metadata']['namespace']}:6817"
    ready = {"httpGet": {"path": "/readyz", "port": "slurmd", "scheme": "HTTP"}, "failureThreshold": 3}
    live = {"httpGet": {"path": "/livez", "port": "slurmd", "scheme": "HTTP"}, "failureThreshold": 6}
    return {
        "name": "slurmd",
        "args": ["-Z", "--conf-server", server, "--conf", f"'{slurmd_conf(node_set)}'"],
        "env": [
            {
                "name": "POD_TOPOLOGY",
                "valueFrom": {
                    "fieldRef": {"fieldPath": "metadata.annotations['topology.slinky.slurm.net/spec']"}
                },
            },
            {"name": "POD_CPUS", "value": str(cpus)},
            {"name": "POD_MEMORY", "value": str(memory_mib)},
        ],
        "lifecycle": {"preStop": {"exec": {"command": ["/usr/bin/sh", "-c", PRE_STOP]}}},
        "ports": [{"name": "slurmd", "containerPort": 6818, "protocol": "TCP"}],
        "readinessProbe": ready,
        "livenessProbe": live,
        "startupProbe": live,
        "securityContext": {
            "privileged": True,
            "capabilities": {"add": ["BPF", "NET_ADMIN", "SYS_ADMIN", "SYS_NICE"]},
        },
        "volumeMounts": [
            {"name": "slurm-etc", "mountPath": "/etc/slurm", "readOnly": True},
            {"name": "slurm-logfile", "mountPath": "/var/log/slurm"},
        ],
    }
