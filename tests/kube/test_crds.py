"""The definitions of slurm-operator's kinds that are installed: our reduced ones must refuse what its own refuse."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.kube.rig.admin import OUR_CRDS, Admin
from tests.kube.rig.api import Refused

KEY = {"name": "keys", "key": "slurm.key"}
KEYS = {"slurmKeyRef": KEY, "jwtKeyRef": KEY}
OWNER = {"controllerRef": {"name": "c"}}
STORAGE = {"host": "db", "passwordKeyRef": KEY}
# plural, spec, and what the refusal names.
REFUSED = (
    ("controllers", {"slurmKeyRef": KEY}, "jwtKeyRef"),
    ("controllers", {"jwtKeyRef": KEY}, "slurmKeyRef must be set"),
    ("controllers", {**KEYS, "external": True}, "externalConfig must be set"),
    ("controllers", {**KEYS, "slurmKeyRef": {"name": "keys"}}, "spec.slurmKeyRef.key"),
    ("controllers", {**KEYS, "persistence": {"resources": {"requests": {"storage": "much"}}}}, "storage"),
    ("accountings", {**KEYS, "storageConfig": {"host": "db"}}, "spec.storageConfig.passwordKeyRef"),
    ("accountings", {**KEYS, "storageConfig": {**STORAGE, "port": "3306"}}, "spec.storageConfig.port"),
    ("restapis", {"replicas": 1}, "spec.controllerRef"),
    ("nodesets", {"replicas": 1}, "spec.controllerRef"),
    ("nodesets", {**OWNER, "replicas": "two"}, "spec.replicas"),
    (
        "nodesets",
        {**OWNER, "partition": {"enabled": True, "config": "State=UP\nX=Y"}},
        "spec.partition.config",
    ),
    ("nodesets", {**OWNER, "scalingMode": "Guess"}, "spec.scalingMode"),
    ("nodesets", {**OWNER, "updateStrategy": {"type": "Guess"}}, "spec.updateStrategy.type"),
    ("nodesets", {**OWNER, "ssh": {"enabled": True}}, "spec.ssh.sssdConfRef"),
    ("loginsets", OWNER, "spec.sssdConfRef"),
    ("tokens", {"username": "slurm"}, "jwtKeyRef"),
)
KINDS = {
    "controllers": "Controller", "accountings": "Accounting", "restapis": "RestApi", "nodesets": "NodeSet",
    "loginsets": "LoginSet", "tokens": "Token",
}  # fmt: skip


def create(admin: Admin, namespace: str, plural: str, spec: Mapping[str, Any]) -> Any:
    thing = {
        "apiVersion": "slinky.slurm.net/v1beta1",
        "kind": KINDS[plural],
        "metadata": {"name": "x"},
        "spec": spec,
    }
    return admin.api.create(f"/apis/slinky.slurm.net/v1beta1/namespaces/{namespace}/{plural}", thing)


@pytest.mark.parametrize(
    ("plural", "spec", "named"), REFUSED, ids=lambda value: value if isinstance(value, str) else ""
)
def test_what_is_wrong_is_refused_by_name(
    kubernetes: Admin, namespace: str, plural: str, spec: Mapping[str, Any], named: str
) -> None:
    with pytest.raises(Refused, match=named) as refusal:
        create(kubernetes, namespace, plural, spec)
    assert refusal.value.status == 422


def test_a_node_set_is_scaled_by_its_own_door(kubernetes: Admin, namespace: str) -> None:
    made = create(kubernetes, namespace, "nodesets", OWNER)
    assert made["spec"]["replicas"] == 1
    path = f"/apis/slinky.slurm.net/v1beta1/namespaces/{namespace}/nodesets/x"
    kubernetes.api.merge(f"{path}/scale", {"spec": {"replicas": 3}})
    kubernetes.api.merge(path, {"status": {"replicas": 9}})
    seen = kubernetes.api.get(path)
    assert seen["spec"]["replicas"] == 3 and "replicas" not in seen.get("status", {})


def test_containers_are_kept_as_they_are(kubernetes: Admin, namespace: str) -> None:
    slurmd = {"image": "slurmd:26.05", "volumeMounts": [{"name": "shared", "mountPath": "/shared"}]}
    template = {
        "metadata": {"annotations": {"a": "b"}},
        "spec": {"hostname": "slinky-", "volumes": [{"name": "shared"}]},
    }
    made = create(kubernetes, namespace, "nodesets", {**OWNER, "slurmd": slurmd, "template": template})
    assert made["spec"]["slurmd"] == slurmd and made["spec"]["template"] == template


def test_ours_know_nothing_that_the_operators_do_not() -> None:
    real = os.environ.get("SLINKY_CRDS")
    if not real:
        pytest.skip("SLINKY_CRDS names no directory with the operator's own definitions")
    theirs = {kind: dict(fields(schema)) for kind, schema in schemas(Path(real))}
    assert [*unknown_to(theirs)] == []


def unknown_to(theirs: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Fields of ours that the operator's definitions lack, or have of another type or with fewer demands."""
    for kind, schema in schemas(OUR_CRDS):
        for path, field in fields(schema):
            other = theirs[kind].get(path)
            if other is None or field.get("type") != other.get("type"):
                yield f"{kind}{path}: {field.get('type')}"
            elif not set(other.get("required", ())) <= set(field.get("required", ())):
                yield f"{kind}{path} requires {other['required']}"


def schemas(directory: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for file in sorted(directory.glob("*.yaml")):
        spec = yaml.safe_load(file.read_text())["spec"]
        yield spec["names"]["kind"], spec["versions"][0]["schema"]["openAPIV3Schema"]


def fields(schema: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield path, schema
    for name, below in schema.get("properties", {}).items():
        yield from fields(below, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), Mapping):
            yield from fields(schema[key], f"{path}[]")
