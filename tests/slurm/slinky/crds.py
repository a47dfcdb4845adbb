"""The schemas of the operator's resources: those of `SLINKY_CRDS`, else the reduced set that the rig installs."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

# Every object has them; a schema need not say so.
OF_ALL: Mapping[str, Any] = {
    "apiVersion": {},
    "kind": {},
    "metadata": {"x-kubernetes-preserve-unknown-fields": True},
}
OURS = Path(__file__).parents[2] / "kube/crds"
Schema = Mapping[str, Any]


def schemas() -> Mapping[str, Schema]:
    """By kind."""
    place = Path(os.environ.get("SLINKY_CRDS") or OURS)
    found = [yaml.safe_load(path.read_text()) for path in sorted(place.glob("*.y*ml"))]
    assert found, f"no CRDs in {place}"
    return {
        crd["spec"]["names"]["kind"]: crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] for crd in found
    }


def faults(schema: Schema, value: Any, path: str = "") -> Iterator[str]:
    """What an API server would refuse, or silently drop, of `value`. Rules in CEL are left to the real one."""
    if isinstance(value, dict):
        yield from _object(schema, value, path)
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from faults(schema.get("items", {}), item, f"{path}[{at}]")
    if (kind := schema.get("type")) and not isinstance(value, TYPES[kind]):
        yield f"{path} is no {kind}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path} is none of {schema['enum']}"


TYPES: Mapping[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
}


def _object(schema: Schema, value: Mapping[str, Any], path: str) -> Iterator[str]:
    known = {**schema.get("properties", {}), **({} if path else OF_ALL)}
    others = schema.get("additionalProperties")
    is_open = schema.get("x-kubernetes-preserve-unknown-fields") or others
    yield from (f"{path}.{name} is missing" for name in schema.get("required", ()) if name not in value)
    for name, item in value.items():
        if name in known:
            yield from faults(known[name], item, f"{path}.{name}")
        elif isinstance(others, Mapping):
            yield from faults(others, item, f"{path}.{name}")
        elif not is_open:
            yield f"{path}.{name} is unknown"
