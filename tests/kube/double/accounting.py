"""The children of an Accounting. Pure; shaped as v1.2.1 was seen to make them."""

import base64
from collections.abc import Mapping
from typing import Any

from slurm.kube.kinds import SECRET, STATEFUL_SET, Thing
from tests.kube.double import parts
from tests.kube.double.controller import HASH, SLURM, key_sources, stateful


def accounting_children(accounting: Thing, password: str, hashes: Mapping[str, str]) -> list[dict[str, Any]]:
    """Service, Secret with slurmdbd.conf, StatefulSet. `template.metadata` is not applied to its pods: only an
    annotation on the Accounting itself starts new ones."""
    name = accounting["metadata"]["name"]
    marks = parts.labels("accounting", "slurmdbd", name)
    conf = _slurmdbd_conf(accounting, password)
    secret = parts.child(
        SECRET,
        f"{name}-accounting",
        accounting,
        marks,
        type="Opaque",
        data={"slurmdbd.conf": base64.b64encode(conf.encode()).decode()},
        immutable=False,
    )
    own = {"kubectl.kubernetes.io/default-container": "slurmdbd", **hashes}
    own[HASH.format("slurmdbd-conf")] = parts.digest(conf)
    metadata = parts.template_metadata(accounting, f"{name}-accounting", marks, own, templated=False)
    spec = stateful("slurmdbd", accounting, f"{name}-accounting", metadata, _accounting_pod(accounting))
    return [
        parts.service(accounting, f"{name}-accounting", "accounting", "slurmdbd", 6819),
        secret,
        parts.child(STATEFUL_SET, f"{name}-accounting", accounting, marks, spec=spec),
    ]


def _accounting_pod(accounting: Thing) -> dict[str, Any]:
    spec = accounting["spec"]
    base = {
        "name": "slurmdbd",
        "ports": [{"name": "slurmdbd", "containerPort": 6819, "protocol": "TCP"}],
        "readinessProbe": {"tcpSocket": {"port": 6819}},
        "securityContext": SLURM,
        "volumeMounts": [
            {"name": "slurm-etc", "mountPath": "/etc/slurm", "readOnly": True},
            {"name": "run", "mountPath": "/run"},
        ],
    }
    sources = [
        parts.from_secret(f"{accounting['metadata']['name']}-accounting", "slurmdbd.conf"),
        *key_sources(spec),
    ]
    pod = {
        "automountServiceAccountToken": False,
        "containers": [parts.container(base, spec.get("slurmdbd"))],
        "securityContext": {"fsGroup": 401, **SLURM},
        "volumes": [parts.projected("slurm-etc", sources), parts.memory_volume("run")],
    }
    return parts.pod_spec(accounting, pod)


def _slurmdbd_conf(accounting: Thing, password: str) -> str:
    storage, name = accounting["spec"].get("storageConfig") or {}, accounting["metadata"]["name"]
    lines = [
        f"DbdHost={name}-accounting-0",
        "DbdPort=6819",
        "SlurmUser=slurm",
        "StorageType=accounting_storage/mysql",
        f"StorageHost={storage.get('host', '')}",
        f"StoragePort={storage.get('port', 3306)}",
        f"StorageUser={storage.get('username', '')}",
        f"StorageLoc={storage.get('database', 'slurm_acct_db')}",
        f"StoragePass={password}",
        accounting["spec"].get("extraConf") or "",
    ]
    return "\n".join(lines) + "\n"
