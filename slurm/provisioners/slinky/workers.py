"""The NodeSets: one for each group of workers. Pure."""

import re
from typing import Any

from clusters.life_scripts import Hook
from clusters.spec import NodeGroup, Shape
from slurm.kube.kinds import NODE_SET, Thing
from slurm.provisioners.slinky.design import Design, template
from slurm.provisioners.slinky.mounts import pod_volumes, volume_mounts
from slurm.provisioners.slinky.region import Toleration
from slurm.provisioners.slinky.scripts import init_container, init_mounts, init_volumes

# What stands in the operator's `slurmd --conf '...'`, which goes through a shell in the image.
_MODEL = re.compile(r"[A-Za-z0-9_.@-]+")
# The share of a group that a rollout may have out of service at once.
AT_ONCE = 4


def node_set(design: Design, group: NodeGroup) -> Thing:
    """Slurm calls its nodes `<group>-<ordinal>`, by the host name's prefix, and the NodeSet itself `<group>`.

    Which ordinals they have is for the stages of a change to bring about.
    """
    return design.thing(
        NODE_SET,
        design.names.node_set(group.name),
        spec={
            "controllerRef": design.controller_ref,
            "replicas": design.replicas.get(group.name, len(group.ordinals)),
            "scalingMode": "StatefulSet",
            **_extra_conf(group.shape),
            "partition": {"enabled": False},
            "updateStrategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxUnavailable": max(1, len(group.ordinals) // AT_ONCE)},
            },
            "workloadDisruptionProtection": True,
            "slurmd": {
                "image": design.image("slurmd"),
                "resources": {"limits": _limits(design, group.shape)},
                **init_container(design, Hook.WORKER_INIT),
                **({"volumeMounts": mounts} if (mounts := _mounts(design)) else {}),
            },
            "logfile": {"image": design.settings.log_image},
            "template": template(design.restarted(group.name), _pod(design, group)),
        },
    )


def _mounts(design: Design) -> list[dict[str, Any]]:
    return [*init_mounts(design, Hook.WORKER_INIT), *volume_mounts(design)]


def _extra_conf(shape: Shape) -> dict[str, str]:
    """One line of single blanks, each token Key=Value: anything else stops the operator's reconcile (1.2.1)."""
    if not shape.gpus:
        return {}
    if shape.gpu_model and not _MODEL.fullmatch(shape.gpu_model):
        raise ValueError(f"a GPU model that a shell would misread: {shape.gpu_model!r}")
    kind = f"{shape.gpu_model.lower()}:" if shape.gpu_model else ""
    return {"extraConf": f"Gres=gpu:{kind}{shape.gpus}"}


def _limits(design: Design, shape: Shape) -> dict[str, Any]:
    """The operator tells slurmd of CPUs and memory from here."""
    gpus = {design.settings.gpu_resource: shape.gpus} if shape.gpus else {}
    return {"cpu": str(shape.cpus), "memory": f"{shape.memory_mib}Mi", **gpus}


def _pod(design: Design, group: NodeGroup) -> dict[str, Any]:
    pod: dict[str, Any] = {"hostname": f"{group.name}-"}
    if volumes := [*init_volumes(design, Hook.WORKER_INIT), *pod_volumes(design)]:
        pod["volumes"] = volumes
    if not group.shape.gpus:
        return {**pod, "affinity": {"nodeAffinity": _away_from_gpus(design)}}
    if design.settings.gpu_selector:
        pod["nodeSelector"] = dict(design.settings.gpu_selector)
    if design.settings.gpu_tolerations:
        pod["tolerations"] = [_toleration(one) for one in design.settings.gpu_tolerations]
    return pod


def _away_from_gpus(design: Design) -> dict[str, Any]:
    """A wish, not a rule: a machine takes one worker of a namespace, and its GPUs would be lost to the others. Without
    labels of the settings' own it goes by the one that NVIDIA's GPU feature discovery sets."""
    labels = design.settings.gpu_selector or {f"{design.settings.gpu_resource}.present": "true"}
    others = [{"key": key, "operator": "NotIn", "values": [value]} for key, value in labels.items()]
    wish = {"weight": 100, "preference": {"matchExpressions": others}}
    return {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}


def _toleration(one: Toleration) -> dict[str, str]:
    """Fields that say nothing are left out: `value` may not stand beside `Exists`."""
    fields = {"key": one.key, "operator": one.operator, "value": one.value, "effect": one.effect}
    return {name: value for name, value in fields.items() if value}
