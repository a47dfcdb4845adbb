"""The children of a LoginSet. Pure but for new host keys; shaped as v1.2.1 was seen to make them."""

import base64
from collections.abc import Mapping
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from slurm.kube.kinds import CONFIG_MAP, DEPLOYMENT, SECRET, Thing
from tests.kube.double import parts

KEY_FILES = tuple(f"ssh_host_{kind}_key{end}" for kind in ("rsa", "ed25519", "ecdsa") for end in ("", ".pub"))
SSHD_HEAD = """\
#
### GENERAL ###
Include /etc/ssh/sshd_config.d/*.conf
UsePAM yes
X11Forwarding yes
Subsystem sftp internal-sftp
#
### EXTRA CONFIG ###
"""


def host_keys(login: Thing) -> dict[str, Any]:
    """The Secret `<login>-ssh-host-keys`. v1.2.1 was seen to make it once, immutable; one that exists is left alone."""
    name = login["metadata"]["name"]
    data = {file: base64.b64encode(text).decode() for file, text in _new_keys().items()}
    marks = parts.labels("login", "login", name)
    return parts.child(
        SECRET, f"{name}-ssh-host-keys", login, marks, type="Opaque", data=data, immutable=True
    )


def _new_keys() -> dict[str, bytes]:
    keys: dict[str, Any] = {
        "rsa": rsa.generate_private_key(65537, 2048),
        "ed25519": ed25519.Ed25519PrivateKey.generate(),
        "ecdsa": ec.generate_private_key(ec.SECP256R1()),
    }
    found = {}
    for kind, key in keys.items():
        form = serialization.PrivateFormat.OpenSSH
        found[f"ssh_host_{kind}_key"] = key.private_bytes(
            serialization.Encoding.PEM, form, serialization.NoEncryption()
        )
        found[f"ssh_host_{kind}_key.pub"] = key.public_key().public_bytes(
            serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
        )
    return found


def login_children(
    login: Thing, cluster: str, slurm_key: Mapping[str, str], hashes: Mapping[str, str]
) -> list[Any]:
    """ConfigMap with sshd_config and authorized_keys, Service, Deployment; the host keys apart (`host_keys`).

    v1.2.1 was seen to write a changed `rootSshAuthorizedKeys` into the ConfigMap and to replace no pod: the file is
    mounted by sub-path and is no part of the template's hashes. `hashes` are of the host keys and sssd.conf.
    """
    name, spec = login["metadata"]["name"], login["spec"]
    marks = parts.labels("login", "login", name)
    sshd = f"{SSHD_HEAD}{spec.get('extraSshdConfig') or ''}\n"
    keys = f"#\n### SLINKY ###\n{spec.get('rootSshAuthorizedKeys') or ''}\n"
    config = parts.child(
        CONFIG_MAP,
        f"{name}-ssh-config",
        login,
        marks,
        data={"authorized_keys": keys, "sshd_config": sshd},
        immutable=False,
    )
    own = {
        "kubectl.kubernetes.io/default-container": "login",
        "slinky.slurm.net/sshd-conf-hash": parts.digest(sshd),
        **hashes,
    }
    deployment = {
        "replicas": spec.get("replicas", 1),
        "revisionHistoryLimit": 0,
        "selector": {"matchLabels": parts.selector("login", name)},
        "template": {
            "metadata": parts.template_metadata(login, name, marks, own),
            "spec": _pod(login, cluster, slurm_key),
        },
        **({"strategy": spec["strategy"]} if spec.get("strategy") else {}),
    }
    return [
        config,
        parts.service(login, name, "login", "login", 22),
        parts.child(DEPLOYMENT, name, login, marks, spec=deployment),
    ]


def _pod(login: Thing, cluster: str, slurm_key: Mapping[str, str]) -> dict[str, Any]:
    spec, name, namespace = login["spec"], login["metadata"]["name"], login["metadata"]["namespace"]
    base = {
        "name": "login",
        "env": [{"name": "SACKD_OPTIONS", "value": f"--conf-server {cluster}-controller.{namespace}:6817"}],
        "ports": [{"name": "login", "containerPort": 22, "protocol": "TCP"}],
        "readinessProbe": {"exec": {"command": ["test", "-S", "/run/slurm/sack.socket"]}},
        "volumeMounts": _mounts(bool(spec.get("sssdConfRef"))),
    }
    init = {
        "name": "initconf",
        "command": ["sh", "-c", "install -m 600 -t /mnt/etc/slurm /mnt/slurm/*"],
        "env": [{"name": "SLURM_USER", "value": "slurm"}],
        "volumeMounts": [
            {"name": "slurm-etc", "mountPath": "/mnt/etc/slurm"},
            {"name": "slurm-config", "mountPath": "/mnt/slurm", "readOnly": True},
        ],
    }
    pod = {
        "automountServiceAccountToken": False,
        "containers": [parts.container(base, spec.get("login"))],
        "dnsConfig": {"searches": [f"slurm-workers-{cluster}.{namespace}.svc.cluster.local"]},
        "enableServiceLinks": False,
        "initContainers": [parts.container(init, spec.get("initconf"))],
        "volumes": _volumes(name, slurm_key, spec.get("sssdConfRef")),
    }
    return parts.pod_spec(login, pod)


def _mounts(with_sssd: bool) -> list[dict[str, Any]]:
    files = [("ssh-host-keys", f"/etc/ssh/{file}", file) for file in KEY_FILES]
    files.append(("ssh-config", "/etc/ssh/sshd_config", "sshd_config"))
    files.append(("ssh-config", "/root/.ssh/authorized_keys", "authorized_keys"))
    if with_sssd:
        files.append(("sssd-conf", "/etc/sssd/sssd.conf", "sssd.conf"))
    return [
        {"name": "slurm-etc", "mountPath": "/etc/slurm", "readOnly": True},
        {"name": "sackd-dir", "mountPath": "/run/slurm"},
        *({"name": name, "mountPath": path, "subPath": sub, "readOnly": True} for name, path, sub in files),
    ]


def _volumes(name: str, slurm_key: Mapping[str, str], sssd: Mapping[str, str] | None) -> list[dict[str, Any]]:
    modes = {file: 0o644 if file.endswith(".pub") else 0o600 for file in KEY_FILES}
    items = [{"key": key, "path": key, "mode": 0o600} for key in ("sshd_config", "authorized_keys")]
    config = {"configMap": {"name": f"{name}-ssh-config", "items": items}}
    keys = parts.from_secret(f"{name}-ssh-host-keys", *KEY_FILES, modes=modes)
    volumes = [
        *(parts.memory_volume(volume) for volume in ("slurm-etc", "sackd-dir")),
        parts.projected("slurm-config", [parts.from_secret(slurm_key["name"], slurm_key["key"])]),
        parts.projected("ssh-host-keys", [keys]),
        parts.projected("ssh-config", [config]),
    ]
    if sssd:
        volumes.append(parts.projected("sssd-conf", [parts.from_secret(sssd["name"], sssd["key"])]))
    return volumes
