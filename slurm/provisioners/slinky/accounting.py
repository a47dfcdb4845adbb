"""Accounting, and the MariaDB beside it where the region runs one for each cluster. Pure."""

from typing import Any

from slurm.kube.kinds import ACCOUNTING, SERVICE, STATEFUL_SET, Thing
from slurm.provisioners.slinky import design as parts
from slurm.provisioners.slinky.design import RESTARTED_AT, Design, secret_ref, volume_claim
from slurm.provisioners.slinky.region import DatabaseKind
from slurm.provisioners.slinky.secrets import JWT_KEY_FILE, PASSWORD, SLURM_KEY_FILE

PORT = 3306
# The account `mysql` of the official MariaDB images.
MYSQL_UID = 999
# What slurmdbd asks of InnoDB (slurm.schedmd.com/accounting.html), and a small machine's share of memory.
SERVER_OPTIONS = ("--innodb-buffer-pool-size=512M", "--innodb-lock-wait-timeout=900")
MEMORY = "1Gi"


def accounting(design: Design) -> Thing:
    """The operator applies `template.metadata` to no accounting pod, so this one resource is restarted by an annotation
    of its own (slurm-operator 1.2, accounting_app.go)."""
    names, restarted = design.names, design.restarts.get(parts.ACCOUNTING)
    thing = design.thing(
        ACCOUNTING,
        names.base,
        spec={
            "slurmKeyRef": secret_ref(names.slurm_key, SLURM_KEY_FILE),
            "jwtKeyRef": secret_ref(names.jwt_key, JWT_KEY_FILE),
            "storageConfig": _storage(design),
            "slurmdbd": {"image": design.image("slurmdbd")},
        },
    )
    annotations = {"annotations": {RESTARTED_AT: restarted}} if restarted else {}
    return {**thing, "metadata": {**thing["metadata"], **annotations}}


def own_database(design: Design) -> tuple[Thing, ...]:
    """Its Service and StatefulSet; nothing where there is a database already."""
    if design.settings.database.kind is DatabaseKind.EXISTING:
        return ()
    return _service(design), _server(design)


def database_name(design: Design) -> str:
    """Each cluster has its own: two clusters of one name in one database would mix their jobs."""
    return f"slurm_acct_{design.ref.key}"


def _storage(design: Design) -> dict[str, Any]:
    database = design.settings.database
    is_own = database.kind is DatabaseKind.OWN
    return {
        "host": design.names.database if is_own else database.host,
        "port": PORT if is_own else database.port,
        "database": database_name(design),
        "username": database.username,
        "passwordKeyRef": secret_ref(design.names.database, PASSWORD),
    }


def _selector(design: Design) -> dict[str, str]:
    return {"app.kubernetes.io/name": "mariadb", "app.kubernetes.io/instance": design.names.base}


def _service(design: Design) -> Thing:
    ports = [{"name": "mysql", "port": PORT, "protocol": "TCP", "targetPort": PORT}]
    spec = {"type": "ClusterIP", "selector": _selector(design), "ports": ports}
    return design.thing(SERVICE, design.names.database, spec=spec)


def _server(design: Design) -> Thing:
    """One MariaDB. The image makes database and account at its first start; its volume outlives the StatefulSet."""
    name, labels = design.names.database, _selector(design)
    thing = design.thing(STATEFUL_SET, name)
    own_labels = thing["metadata"]["labels"]
    spec = {
        "replicas": 1,
        "serviceName": name,
        "selector": {"matchLabels": labels},
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
        "template": {"metadata": {"labels": {**own_labels, **labels}}, "spec": _pod(design)},
        "volumeClaimTemplates": [_claim(design)],
    }
    return {**thing, "spec": spec}


def _pod(design: Design) -> dict[str, Any]:
    who = {"runAsNonRoot": True, "runAsUser": MYSQL_UID, "runAsGroup": MYSQL_UID, "fsGroup": MYSQL_UID}
    return {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {**who, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [_container(design)],
    }


def _container(design: Design) -> dict[str, Any]:
    return {
        "name": "mariadb",
        "image": design.settings.database.image,
        "args": list(SERVER_OPTIONS),
        "env": _environment(design),
        "ports": [{"name": "mysql", "containerPort": PORT, "protocol": "TCP"}],
        "readinessProbe": {"tcpSocket": {"port": PORT}},
        "resources": {"requests": {"memory": MEMORY}, "limits": {"memory": MEMORY}},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [{"name": "data", "mountPath": "/var/lib/mysql"}],
    }


def _environment(design: Design) -> list[dict[str, Any]]:
    password = {"secretKeyRef": secret_ref(design.names.database, PASSWORD)}
    return [
        {"name": "MARIADB_DATABASE", "value": database_name(design)},
        {"name": "MARIADB_USER", "value": design.settings.database.username},
        {"name": "MARIADB_PASSWORD", "valueFrom": password},
        {"name": "MARIADB_RANDOM_ROOT_PASSWORD", "value": "1"},
    ]


def _claim(design: Design) -> dict[str, Any]:
    return {
        "metadata": {"name": "data"},
        "spec": volume_claim(design.settings, design.settings.database.size),
    }
