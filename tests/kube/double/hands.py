"""The double's writes: children brought to what they should be, events counted up, statuses patched."""

import threading
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from slurm.kube.kinds import EVENT, Thing
from tests.kube.double.api import Api, Refused
from tests.kube.double.kinds import kind_of
from tests.kube.double.store import Store

# Maps of which the operator owns every key, so that one it no longer wants goes.
WHOLE = (
    ("data",),
    ("spec", "template", "metadata", "annotations"),
    ("spec", "template", "metadata", "labels"),
)
# Never patched: StatefulSets refuse it, and a Service keeps what the API gave it.
FIXED = ("volumeClaimTemplates",)


class Hands:
    def __init__(self, api: Api, store: Store) -> None:
        self.api = api
        self.store = store
        self._made: dict[tuple[str, str, str], tuple[object, object]] = {}
        self._events: dict[tuple[str, str, str], tuple[Thing, int]] = {}
        self._lock = threading.Lock()

    def ensure(self, of: Thing, child: Mapping[str, Any], *, once: bool = False) -> Thing | None:
        """Make `child`, or patch it where it differs; `once` leaves one that exists alone.

        v1.2.1 was seen to say `Created *v1.Service: ns/name` on the owner. Returns None when the API refused, which
        is said in an event as well.
        """
        about = child["metadata"]
        kind = kind_of(child)
        known = self.store.find(kind, about["namespace"], about["name"])
        try:
            if known is None:
                made = self._create(child)
                if made is not None:
                    self._remember(child, made)
                if made is not None and of["kind"] != "Pod":
                    self.event(of, "Normal", "CreateSucceeded", _said("Created", child), "Create")
                return made
            return known if once or not self._differs(child, known) else self._patch(child, known)
        except Refused as refusal:
            reason = "CreateFailed" if known is None else "PatchFailed"
            self.event(of, "Warning", reason, f"{_said('Failed to change', child)}: {refusal}", "Sync")
            return None

    def create(self, thing: Mapping[str, Any]) -> Thing | None:
        """None when there is one already. Raises `Refused`."""
        return self._create(thing)

    def delete(self, thing: Thing) -> None:
        """It stays in the store until the API says that it went."""
        self.api.delete(thing)

    def annotate(self, pod: Thing, **notes: str | None) -> None:
        """By merge patch of metadata; None removes. A pod that is gone is no error."""
        self.change(pod, {"metadata": {"annotations": notes}})

    def change(self, thing: Thing, merge: Mapping[str, Any], part: str = "") -> None:
        """A merge patch. A thing that is gone, or just changed by another, is no error: the next look settles it."""
        try:
            self.store.put(self.api.patch(thing, merge, part))
        except Refused as refusal:
            if refusal.status not in (404, 409):
                raise

    def event(self, about: Thing, kind: str, reason: str, note: str, action: str) -> None:
        """A repeated one is counted up, as the API server's clients do."""
        key = (about["metadata"]["uid"], reason, note)
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        with self._lock:
            known = self._events.get(key)
        try:
            if known:
                made = self.api.patch(known[0], {"count": known[1] + 1, "lastTimestamp": now})
            else:
                made = self.api.create(_event(about, kind, reason, note, action, now))
        except Refused as refusal:
            # Its namespace goes, or the event was forgotten after an hour.
            if refusal.status in (403, 404):
                self._events.pop(key, None)
                return
            raise
        with self._lock:
            self._events[key] = (made, (known[1] if known else 0) + 1)

    def _create(self, thing: Mapping[str, Any]) -> Thing | None:
        try:
            made = self.api.create(thing)
        except Refused as refusal:
            if refusal.status == 409:
                return None
            raise
        self.store.put(made)
        return made

    def _differs(self, child: Mapping[str, Any], known: Thing) -> bool:
        """Defaults make every object unlike what was asked for, so a thing with a generation is compared by it."""
        made = self._made.get(_key(child))
        if made is None or "spec" not in child:
            return not _contains(known, child) or made is None and "spec" in child
        return made != (child, known["metadata"].get("generation") or _essence(known))

    def _patch(self, child: Mapping[str, Any], known: Thing) -> Thing:
        made = self.api.patch(known, _merge(known, child, ()))
        self.store.put(made)
        self._remember(child, made)
        return made

    def _remember(self, child: Mapping[str, Any], made: Thing) -> None:
        self._made[_key(child)] = (child, made["metadata"].get("generation") or _essence(made))


def _key(thing: Mapping[str, Any]) -> tuple[str, str, str]:
    return thing["kind"], thing["metadata"]["namespace"], thing["metadata"]["name"]


def _essence(thing: Thing) -> object:
    """What a Service, which has no generation, is compared by."""
    return {key: value for key, value in thing.items() if key not in ("metadata", "status")}


def _contains(actual: object, wanted: object) -> bool:
    if isinstance(wanted, Mapping):
        return isinstance(actual, Mapping) and all(_contains(actual.get(key), wanted[key]) for key in wanted)
    return actual == wanted


def _merge(actual: Mapping[str, Any], wanted: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    change: dict[str, Any] = {}
    for key, value in wanted.items():
        if key in FIXED or key in ("kind", "apiVersion"):
            continue
        inner = actual.get(key)
        change[key] = _merge(inner or {}, value, (*path, key)) if isinstance(value, Mapping) else value
    if path in WHOLE:
        change |= dict.fromkeys(set(actual) - set(wanted))
    return change


def _said(verb: str, child: Mapping[str, Any]) -> str:
    about = child["metadata"]
    return f"{verb} *v1.{child['kind']}: {about['namespace']}/{about['name']}"


def _event(about: Thing, kind: str, reason: str, note: str, action: str, now: str) -> dict[str, Any]:
    metadata = about["metadata"]
    reference = {
        "apiVersion": about["apiVersion"],
        "kind": about["kind"],
        "name": metadata["name"],
        "namespace": metadata["namespace"],
        "uid": metadata["uid"],
        "resourceVersion": metadata["resourceVersion"],
    }
    return {
        "apiVersion": EVENT.api_version,
        "kind": EVENT.name,
        "metadata": {
            "name": f"{metadata['name']}.{uuid.uuid4().hex[:16]}",
            "namespace": metadata["namespace"],
        },
        "involvedObject": reference,
        "type": kind,
        "reason": reason,
        "message": note[:1024],
        "action": action,
        "count": 1,
        "firstTimestamp": now,
        "lastTimestamp": now,
        "reportingComponent": "slurm-operator",
        "reportingInstance": "double",
        "source": {"component": "slurm-operator"},
    }
