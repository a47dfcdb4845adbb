"""A small cluster's resources, such as the real operator v1.2.1 was given, for tests and trials of the double."""

import base64
import secrets
from typing import Any

from slurm.kube.kinds import (
    ACCOUNTING,
    CONFIG_MAP,
    CONTROLLER,
    LOGIN_SET,
    NODE_SET,
    REST_API,
    SECRET,
    Kind,
)

REGISTRY = "ghcr.io/slinkyproject"
TAG = "26.05-ubuntu24.04"
ALPINE = {"image": "docker.io/library/alpine:3.22"}
EXTRA_CONF = """\
GresTypes=gpu
ReturnToService=2
SelectTypeParameters=CR_Core_Memory
ProctrackType=proctrack/cgroup
TaskPlugin=task/affinity,task/cgroup
PrologFlags=Contain
JobAcctGatherType=jobacct_gather/cgroup
AccountingStorageTRES=gres/gpu
DefMemPerCPU=100
PartitionName=all Nodes=ALL Default=YES State=UP MaxTime=UNLIMITED
"""
GRES = {"gres.conf": "AutoDetect=nvidia\n", "cgroup.conf": "CgroupPlugin=cgroup/v2\nIgnoreSystemd=yes\n"}


def thing(kind: Kind, namespace: str, name: str, **body: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata, **body}


def demo(
    namespace: str,
    name: str = "demo",
    *,
    gpus: int = 2,
    cpus: int = 0,
    ca_key: str = "",
    in_place: bool = True,
) -> list[dict[str, Any]]:
    """In the order in which they refer to each other. `gpus` and `cpus` are numbers of workers."""
    ref = {"name": name}
    keys = {
        "slurmKeyRef": {"name": f"{name}-slurm-key", "key": "slurm.key"},
        "jwtKeyRef": {"name": f"{name}-jwt-key", "key": "jwt.key"},
    }
    storage = {
        "host": "mariadb.db.svc",
        "database": f"slurm_acct_{name}",
        "username": "slurm",
        "passwordKeyRef": {"name": f"{name}-db", "key": "password"},
    }
    controller = {
        **keys,
        "clusterName": name,
        "accountingRef": ref,
        "inplaceReconfigure": in_place,
        "slurmctld": _image("slurmctld"),
        "reconfigure": _image("slurmctld"),
        "logfile": ALPINE,
        "persistence": {"enabled": True, "accessModes": ["ReadWriteOnce"], "resources": _storage("4Gi")},
        "configFileRefs": [{"name": f"{name}-files"}],
        "extraConf": EXTRA_CONF,
    }
    return [
        _secret(namespace, f"{name}-slurm-key", "slurm.key", secrets.token_bytes(64)),
        _secret(namespace, f"{name}-jwt-key", "jwt.key", secrets.token_bytes(64)),
        _secret(namespace, f"{name}-db", "password", secrets.token_hex(8).encode()),
        _secret(namespace, f"{name}-sssd", "sssd.conf", b"[sssd]\nservices = nss, pam\n"),
        thing(CONFIG_MAP, namespace, f"{name}-files", data=GRES),
        thing(CONFIG_MAP, namespace, f"{name}-authority", data={"user_ca.pub": f"{ca_key.strip()}\n"}),
        thing(
            ACCOUNTING,
            namespace,
            name,
            spec={**keys, "storageConfig": storage, "slurmdbd": _image("slurmdbd")},
        ),
        thing(CONTROLLER, namespace, name, spec=controller),
        thing(
            REST_API,
            namespace,
            name,
            spec={"controllerRef": ref, "replicas": 1, "slurmrestd": _image("slurmrestd")},
        ),
        node_set(namespace, name, "slinky", gpus, gres="gpu:h100:8"),
        *([node_set(namespace, name, "cpu-workers", cpus)] if cpus else []),
        login_set(namespace, name),
    ]


def node_set(namespace: str, name: str, group: str, replicas: int, gres: str = "") -> dict[str, Any]:
    limits = {"cpu": "16", "memory": "64Gi", **({"nvidia.com/gpu": 8} if gres else {})}
    spec = {
        "controllerRef": {"name": name},
        "replicas": replicas,
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
        "slurmd": {**_image("slurmd"), "resources": {"limits": limits}},
        "logfile": ALPINE,
        "template": {"spec": {"hostname": f"{group}-"}},
        **({"extraConf": f"Gres={gres}"} if gres else {}),
    }
    return thing(NODE_SET, namespace, f"{name}-{group}", spec=spec)


def login_set(namespace: str, name: str) -> dict[str, Any]:
    volume = {"name": "ssh-authority", "configMap": {"name": f"{name}-authority"}}
    mount = {"name": "ssh-authority", "mountPath": "/etc/quarterdeck/ssh", "readOnly": True}
    spec = {
        "controllerRef": {"name": name},
        "replicas": 1,
        "rootSshAuthorizedKeys": "",
        "extraSshdConfig": "TrustedUserCAKeys /etc/quarterdeck/ssh/user_ca.pub\n",
        "sssdConfRef": {"name": f"{name}-sssd", "key": "sssd.conf"},
        "service": {"port": 22, "spec": {"type": "LoadBalancer"}},
        "login": {**_image("login"), "volumeMounts": [mount]},
        "initconf": ALPINE,
        "template": {"spec": {"volumes": [volume]}},
    }
    return thing(LOGIN_SET, namespace, f"{name}-login", spec=spec)


def _image(program: str) -> dict[str, Any]:
    return {"image": f"{REGISTRY}/{program}:{TAG}"}


def _storage(size: str) -> dict[str, Any]:
    return {"requests": {"storage": size}}


def _secret(namespace: str, name: str, key: str, value: bytes) -> dict[str, Any]:
    data = {key: base64.b64encode(value).decode()}
    return thing(SECRET, namespace, name, type="Opaque", data=data)
