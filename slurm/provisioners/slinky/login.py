"""The LoginSet. Pure."""

import hashlib
from typing import Any

from clusters.life_scripts import Hook
from slurm.kube.kinds import LOGIN_SET, Thing
from slurm.provisioners.slinky import design as parts
from slurm.provisioners.slinky.design import Design, secret_ref, template
from slurm.provisioners.slinky.files import AUTHORITY_FILE
from slurm.provisioners.slinky.mounts import pod_volumes, volume_mounts
from slurm.provisioners.slinky.region import LoginBy
from slurm.provisioners.slinky.scripts import init_container, init_mounts, init_volumes
from slurm.provisioners.slinky.secrets import SSSD_FILE

AUTHORITY_PLACE = "/etc/quarterdeck/ssh"
AUTHORITY_VOLUME = "ssh-authority"
KEYS_HASH = "quarterdeck.dev/keys-hash"
SSHD_CONFIG = f"""\
TrustedUserCAKeys {AUTHORITY_PLACE}/{AUTHORITY_FILE}
AcceptEnv LANG LC_* COLORTERM
ClientAliveInterval 30
"""
SERVICE_TYPES = {
    LoginBy.LOAD_BALANCER: "LoadBalancer",
    LoginBy.NODE_PORT: "NodePort",
    LoginBy.PORT_FORWARD: "ClusterIP",
}
PORT = 22


def login_set(design: Design) -> Thing:
    """People sign in as root with the spec's keys, the console with a certificate of the cluster's authority."""
    names = design.names
    return design.thing(
        LOGIN_SET,
        names.login,
        spec={
            "controllerRef": design.controller_ref,
            "replicas": 1,
            "rootSshAuthorizedKeys": authorized_keys(design),
            "extraSshdConfig": SSHD_CONFIG,
            "sssdConfRef": secret_ref(names.sssd, SSSD_FILE),
            "strategy": {"type": "RollingUpdate"},
            "service": {"port": PORT, "spec": {"type": SERVICE_TYPES[design.settings.login_by]}},
            "login": {
                "image": design.image("login"),
                **init_container(design, Hook.LOGIN_INIT),
                "volumeMounts": [_mount(), *init_mounts(design, Hook.LOGIN_INIT), *volume_mounts(design)],
            },
            "initconf": {"image": design.settings.log_image},
            "template": template(_annotations(design), {"volumes": _volumes(design)}),
        },
    )


def authorized_keys(design: Design) -> str:
    return "".join(f"{key.strip()}\n" for key in design.spec.ssh_keys)


def _annotations(design: Design) -> dict[str, str]:
    """The keys are mounted by sub-path and no part of what the operator hashes: running pods would never see new ones
    (slurm-operator 1.2, login_app.go). The annotation starts new pods with them."""
    digest = hashlib.sha256(authorized_keys(design).encode()).hexdigest()[:16]
    return {KEYS_HASH: digest, **design.restarted(parts.LOGIN)}


def _mount() -> dict[str, Any]:
    return {"name": AUTHORITY_VOLUME, "mountPath": AUTHORITY_PLACE, "readOnly": True}


def _volumes(design: Design) -> list[dict[str, Any]]:
    return [_volume(design), *init_volumes(design, Hook.LOGIN_INIT), *pod_volumes(design)]


def _volume(design: Design) -> dict[str, Any]:
    return {"name": AUTHORITY_VOLUME, "configMap": {"name": design.names.ssh_authority}}
