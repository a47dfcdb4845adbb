"""What all children of the operator's resources share: labels, owners, pod templates, merged containers. Pure."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from slurm.kube.kinds import SERVICE, Kind, Thing

ALPINE_LOG = 'while true; do cat "$SOCKET" || true; sleep 1; done'


def labels(component: str, daemon: str, instance: str) -> dict[str, str]:
    return {
        "app.kubernetes.io/component": component,
        "app.kubernetes.io/instance": instance,
        "app.kubernetes.io/name": daemon,
    }


def selector(daemon: str, instance: str) -> dict[str, str]:
    return {"app.kubernetes.io/instance": instance, "app.kubernetes.io/name": daemon}


def owner(of: Thing, *, controls: bool = True) -> dict[str, Any]:
    """v1.2.1 was seen to own all its children so, and to leave `controller` out on what NodeSets share."""
    reference: dict[str, Any] = {
        "apiVersion": of["apiVersion"],
        "kind": of["kind"],
        "name": of["metadata"]["name"],
        "uid": of["metadata"]["uid"],
        "blockOwnerDeletion": True,
    }
    return {**reference, "controller": True} if controls else reference


def child(kind: Kind, name: str, of: Thing, marks: Mapping[str, str], **body: Any) -> dict[str, Any]:
    """An object of the operator's making, owned by the resource `of`."""
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": of["metadata"]["namespace"],
        "ownerReferences": [owner(of)],
    }
    if marks:
        metadata["labels"] = dict(marks)
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata, **body}


def template_metadata(
    of: Thing, name: str, marks: Mapping[str, str], own: Mapping[str, str], *, templated: bool = True
) -> dict[str, Any]:
    """v1.2.1 was seen to replace the pods of Controller, RestApi and LoginSet within 8 s of an annotation on them: a
    resource's labels and annotations are copied, unfiltered, onto its pod template. `templated` says whether the
    resource's own `template.metadata` counts too; for Accounting it does not."""
    about = of["metadata"]
    more = ((of["spec"].get("template") or {}).get("metadata") or {}) if templated else {}
    return {
        "name": name,
        "namespace": about["namespace"],
        "annotations": {**(about.get("annotations") or {}), **(more.get("annotations") or {}), **own},
        "labels": {**(about.get("labels") or {}), **(more.get("labels") or {}), **marks},
    }


def pod_spec(of: Thing, base: Mapping[str, Any]) -> dict[str, Any]:
    """`template.spec` merged over the operator's: containers are added, volumes merged by name, the rest replaced."""
    extra = dict((of["spec"].get("template") or {}).get("spec") or {})
    merged = {**base, **{key: value for key, value in extra.items() if key not in _LISTS}}
    for key, by in _LISTS.items():
        together = merged_list(extra.get(key) or [], base.get(key) or [], by)
        if together:
            merged[key] = together
    return merged


_LISTS = {"containers": "name", "initContainers": "name", "volumes": "name", "tolerations": "key"}


def container(base: Mapping[str, Any], override: Mapping[str, Any] | None) -> dict[str, Any]:
    """The user's fields merged over the operator's: `args` are added, keyed lists merged by key, the rest replaced."""
    override = override or {}
    merged = {**base, **override}
    if "args" in base and "args" in override:
        merged["args"] = [*base["args"], *override["args"]]
    for key, by in (("env", "name"), ("ports", "name"), ("volumeMounts", "mountPath")):
        if together := merged_list(override.get(key) or [], base.get(key) or [], by):
            merged[key] = together
    merged.setdefault("imagePullPolicy", "IfNotPresent")
    return merged


def merged_list(first: Sequence[Any], then: Sequence[Any], by: str) -> list[Any]:
    """Those of `first`, and of `then` what has a key of its own."""
    taken = {each.get(by) for each in first}
    return [*first, *(each for each in then if each.get(by) not in taken)]


def log_container(of: Thing, path: str) -> dict[str, Any]:
    """The side container that prints a daemon's log file. Its script is longer in v1.2.1."""
    base = {
        "name": "logfile",
        "command": ["sh", "-c", ALPINE_LOG],
        "env": [{"name": "SOCKET", "value": path}],
        "restartPolicy": "Always",
        "volumeMounts": [{"name": "slurm-logfile", "mountPath": "/var/log/slurm"}],
    }
    return container(base, of["spec"].get("logfile"))


def memory_volume(name: str) -> dict[str, Any]:
    return {"name": name, "emptyDir": {"medium": "Memory"}}


def projected(name: str, sources: Iterable[Mapping[str, Any]], mode: int = 0o600) -> dict[str, Any]:
    return {"name": name, "projected": {"defaultMode": mode, "sources": list(sources)}}


def from_secret(name: str, *keys: str, modes: Mapping[str, int] | None = None) -> dict[str, Any]:
    items = [{"key": key, "path": key, **({"mode": modes[key]} if modes else {})} for key in keys]
    return {"secret": {"name": name, "items": items}}


def service(
    of: Thing, name: str, component: str, daemon: str, port: int, *, instance: str = ""
) -> dict[str, Any]:
    """`service.spec`, `service.port` and `service.nodePort` of the resource are taken over."""
    instance = instance or of["metadata"]["name"]
    wanted = of["spec"].get("service") or {}
    entry = {"name": daemon, "port": wanted.get("port") or port, "protocol": "TCP", "targetPort": daemon}
    if wanted.get("nodePort"):
        entry["nodePort"] = wanted["nodePort"]
    spec = {"type": "ClusterIP", **(wanted.get("spec") or {})}
    spec |= {"selector": selector(daemon, instance), "ports": [entry]}
    return child(SERVICE, name, of, labels(component, daemon, instance), spec=spec)


def digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
