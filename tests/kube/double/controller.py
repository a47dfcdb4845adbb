"""The children of a Controller. Pure; shaped as v1.2.1 was seen to make them."""

from collections.abc import Mapping
from typing import Any

from slurm.kube.kinds import CONFIG_MAP, STATEFUL_SET, Thing
from tests.kube.double import parts

SLURM = {"runAsNonRoot": True, "runAsUser": 401, "runAsGroup": 401}
RECONFIGURE = "until scontrol reconfigure; do sleep 2; done"
HASH = "slinky.slurm.net/{}-hash"
KEEP = {"whenDeleted": "Retain", "whenScaled": "Retain"}


def controller_children(
    controller: Thing, conf: str, hashes: Mapping[str, str], *, claim_class: str | None = None
) -> list[dict[str, Any]]:
    """Service, ConfigMap with slurm.conf, StatefulSet. `hashes` are of the keys, by their annotation.

    Without `inplaceReconfigure` the file's own hash is an annotation too, so an edit starts a new pod with whatever
    is in it; with it a side container reads the file in the running one. `claim_class` replaces the class of the
    state claim.
    """
    name = controller["metadata"]["name"]
    marks = parts.labels("controller", "slurmctld", name)
    config = parts.child(
        CONFIG_MAP, f"{name}-config", controller, marks, data={"slurm.conf": conf}, immutable=False
    )
    own = {"kubectl.kubernetes.io/default-container": "slurmctld", **hashes}
    if not controller["spec"].get("inplaceReconfigure"):
        own[HASH.format("slurm-conf")] = parts.digest(conf)
    metadata = parts.template_metadata(controller, f"{name}-controller", marks, own)
    spec = stateful("slurmctld", controller, f"{name}-controller", metadata, _controller_pod(controller))
    persistence = controller["spec"].get("persistence") or {}
    if persistence.get("enabled", True) and not persistence.get("existingClaim"):
        spec["volumeClaimTemplates"] = [_state_claim(controller, claim_class)]
    return [
        parts.service(controller, f"{name}-controller", "controller", "slurmctld", 6817),
        config,
        parts.child(STATEFUL_SET, f"{name}-controller", controller, marks, spec=spec),
    ]


def stateful(
    daemon: str, of: Thing, name: str, metadata: Mapping[str, Any], pod: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "replicas": 1,
        "podManagementPolicy": "Parallel",
        "persistentVolumeClaimRetentionPolicy": KEEP,
        "revisionHistoryLimit": 0,
        "selector": {"matchLabels": parts.selector(daemon, of["metadata"]["name"])},
        "serviceName": name,
        "template": {"metadata": metadata, "spec": pod},
    }


def _controller_pod(controller: Thing) -> dict[str, Any]:
    spec, cluster = controller["spec"], controller["spec"].get("clusterName") or "slurm"
    state = f"/var/spool/slurmctld/{cluster}"
    mounts = [
        {"name": "slurm-etc", "mountPath": "/etc/slurm", "readOnly": True},
        {"name": "run", "mountPath": "/run"},
        {"name": "statesave", "mountPath": state},
        {"name": "slurm-authsocket", "mountPath": "/run/slurmctld"},
        {"name": "slurm-logfile", "mountPath": "/var/log/slurm"},
    ]
    base = {
        "name": "slurmctld",
        "ports": [{"name": "slurmctld", "containerPort": 6817, "protocol": "TCP"}],
        **_probes("slurmctld"),
        "securityContext": SLURM,
        "volumeMounts": mounts,
    }
    sources = [
        {"configMap": {"name": f"{controller['metadata']['name']}-config"}},
        *key_sources(spec),
        *({"configMap": {"name": each["name"]}} for each in spec.get("configFileRefs") or ()),
    ]
    volumes = [
        parts.projected("slurm-etc", sources, 0o610),
        *(parts.memory_volume(name) for name in ("slurm-logfile", "run")),
        {"name": "slurm-authsocket", "emptyDir": {}},
        *_state_volume(spec),
    ]
    pod = {
        "automountServiceAccountToken": False,
        "containers": [parts.container(base, spec.get("slurmctld"))],
        "initContainers": [
            *_reconfigure(spec),
            parts.log_container(controller, "/var/log/slurm/slurmctld.log"),
        ],
        "securityContext": {"fsGroup": 401, **SLURM},
        "volumes": volumes,
    }
    return parts.pod_spec(controller, pod)


def _reconfigure(spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The side container; its script is longer in v1.2.1."""
    if not spec.get("inplaceReconfigure"):
        return []
    base = {
        "name": "reconfigure",
        "command": ["tini", "-g", "--", "bash", "-c", RECONFIGURE],
        "restartPolicy": "Always",
        "volumeMounts": [
            {"name": "slurm-etc", "mountPath": "/etc/slurm", "readOnly": True},
            {"name": "slurm-authsocket", "mountPath": "/run/slurmctld", "readOnly": True},
        ],
    }
    return [parts.container(base, spec.get("reconfigure"))]


def _probes(port: str) -> dict[str, Any]:
    ready = {"httpGet": {"path": "/readyz", "port": port, "scheme": "HTTP"}, "failureThreshold": 3}
    live = {"httpGet": {"path": "/livez", "port": port, "scheme": "HTTP"}, "failureThreshold": 6}
    return {"readinessProbe": ready, "livenessProbe": live, "startupProbe": live}


def key_sources(spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    refs = (spec.get("slurmKeyRef"), spec.get("jwtKeyRef") or spec.get("jwtHs256KeyRef"))
    return [parts.from_secret(ref["name"], ref["key"]) for ref in refs if ref]


def _state_volume(spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    persistence = spec.get("persistence") or {}
    if claim := persistence.get("existingClaim"):
        return [{"name": "statesave", "persistentVolumeClaim": {"claimName": claim}}]
    return [] if persistence.get("enabled", True) else [{"name": "statesave", "emptyDir": {}}]


def _state_claim(controller: Thing, claim_class: str | None) -> dict[str, Any]:
    persistence = controller["spec"].get("persistence") or {}
    spec = {key: value for key, value in persistence.items() if key not in ("enabled", "existingClaim")}
    spec.setdefault("accessModes", ["ReadWriteOnce"])
    spec.setdefault("resources", {"requests": {"storage": "4Gi"}})
    if claim_class is not None:
        spec["storageClassName"] = claim_class
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "statesave"},
        "spec": spec,
    }
