"""The team's volumes in the pods of workers and login node: the same claims at the same paths. Pure.

Fields are Kubernetes' own (core/v1 Volume and VolumeMount). The operator merges `template.spec.volumes` and a
container's `volumeMounts` into what it makes itself, and starts new pods when they change (slurm-operator 1.2: both are
part of what a NodeSet's revision is made of).
"""

from typing import Any

from clusters.spec import Mount
from slurm.provisioners.slinky.design import Design
from slurm.provisioners.slinky.names import claim_of


def pod_volumes(design: Design) -> list[dict[str, Any]]:
    return [_volume(mount) for mount in design.spec.mounts]


def volume_mounts(design: Design) -> list[dict[str, Any]]:
    return [_mount(mount) for mount in design.spec.mounts]


def _volume(mount: Mount) -> dict[str, Any]:
    claim = {"claimName": claim_of(mount.volume), **_read_only(mount)}
    return {"name": claim_of(mount.volume), "persistentVolumeClaim": claim}


def _mount(mount: Mount) -> dict[str, Any]:
    return {"name": claim_of(mount.volume), "mountPath": mount.path, **_read_only(mount)}


def _read_only(mount: Mount) -> dict[str, bool]:
    return {"readOnly": True} if mount.read_only else {}
