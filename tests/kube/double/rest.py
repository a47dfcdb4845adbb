"""The children of a RestApi. Pure; shaped as v1.2.1 was seen to make them."""

from typing import Any

from slurm.kube.kinds import DEPLOYMENT, Thing
from tests.kube.double import parts

NOBODY = {"runAsNonRoot": True, "runAsUser": 65534, "runAsGroup": 65534}


def rest_children(rest: Thing) -> list[dict[str, Any]]:
    """Service and Deployment."""
    name = rest["metadata"]["name"]
    marks = parts.labels("restapi", "slurmrestd", name)
    own = {"kubectl.kubernetes.io/default-container": "slurmrestd"}
    spec = {
        "replicas": rest["spec"].get("replicas", 1),
        "revisionHistoryLimit": 0,
        "selector": {"matchLabels": parts.selector("slurmrestd", name)},
        "template": {
            "metadata": parts.template_metadata(rest, f"{name}-restapi", marks, own),
            "spec": _rest_pod(rest),
        },
    }
    return [
        parts.service(rest, f"{name}-restapi", "restapi", "slurmrestd", 6820),
        parts.child(DEPLOYMENT, f"{name}-restapi", rest, marks, spec=spec),
    ]


def _rest_pod(rest: Thing) -> dict[str, Any]:
    probe = {"tcpSocket": {"port": 6820}}
    base = {
        "name": "slurmrestd",
        "args": ["0.0.0.0:6820"],
        "env": [
            {"name": "SLURM_JWT", "value": "daemon"},
            {"name": "SLURMRESTD_SECURITY", "value": "disable_unshare_files,disable_unshare_sysv"},
        ],
        "ports": [{"name": "slurmrestd", "containerPort": 6820, "protocol": "TCP"}],
        "readinessProbe": probe,
        "livenessProbe": {**probe, "failureThreshold": 6},
        "startupProbe": {**probe, "failureThreshold": 6},
        "securityContext": NOBODY,
        "volumeMounts": [{"name": "slurm-etc", "mountPath": "/etc/slurm", "readOnly": True}],
    }
    controller = rest["spec"]["controllerRef"]["name"]
    files = {
        "configMap": {"name": f"{controller}-config", "items": [{"key": "slurm.conf", "path": "slurm.conf"}]}
    }
    pod = {
        "automountServiceAccountToken": False,
        "containers": [parts.container(base, rest["spec"].get("slurmrestd"))],
        "securityContext": {"fsGroup": 65534, **NOBODY},
        "volumes": [parts.projected("slurm-etc", [files])],
    }
    return parts.pod_spec(rest, pod)
