"""Warning events of the operator and of Kubernetes as sentences. Pure.

Reasons are those of slurm-operator 1.2 and of the kubelet, scheduler and built-in controllers. Events are hints that
are lost after an hour and repeat themselves: what a pod's own status says comes first (`pods`).
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from slurm.kube.kinds import Thing
from slurm.provisioners.slinky.names import Names
from slurm.provisioners.slinky.pods import no_machine, parse_moment, tidy

RECENT = timedelta(minutes=2)
_POD = re.compile(r"[Pp]od [\w.-]+/([\w.-]+)")


@dataclass(frozen=True)
class Warned:
    """One warning: about which object, when it was last seen, and a sentence for the page."""

    reason: str
    kind: str
    name: str
    at: datetime | None
    text: str


def warnings_in(events: Iterable[Thing], names: Names, now: datetime) -> tuple[Warned, ...]:
    """Those of this cluster that are recent, newest first, each sentence once."""
    found = [_warned(event, names) for event in events if event.get("type") == "Warning"]
    fresh = [w for w in found if is_ours(w.name, names) and (w.at is None or now - w.at < RECENT)]
    fresh.sort(key=lambda w: w.at.timestamp() if w.at else 0.0, reverse=True)
    return tuple({w.text: w for w in reversed(fresh)}.values())[::-1]


def is_ours(name: str, names: Names) -> bool:
    """Every object of a cluster is called after it, the operator's too (`slurm-workers-<base>` apart)."""
    return name == names.base or name.startswith(f"{names.base}-") or name.endswith(f"-{names.base}")


def first_about(warned: Iterable[Warned], *objects: str) -> str:
    """The newest sentence about one of these objects; empty when there is none."""
    return next((warning.text for warning in warned if warning.name in objects), "")


def frozen_at(warned: Iterable[Warned]) -> datetime | None:
    """When the operator last said that a cluster's REST service does not answer: it then does nothing for any of its
    NodeSets, and tries again after up to a minute."""
    return max((w.at for w in warned if w.reason == "SyncFinalizerFailed" and w.at), default=None)


def _warned(event: Thing, names: Names) -> Warned:
    about = event.get("involvedObject") or event.get("regarding") or {}
    reason, kind, name = (
        str(event.get("reason", "")),
        str(about.get("kind", "")),
        str(about.get("name", "")),
    )
    message = tidy(str(event.get("message") or event.get("note") or ""))
    say = SENTENCES.get(reason, _unknown)
    return Warned(reason, kind, name, _moment(event), say(Said(reason, name_in(name, names), message, names)))


@dataclass(frozen=True)
class Said:
    """What a sentence is made of: `about` is the object in our words."""

    reason: str
    about: str
    message: str
    names: Names


def name_in(name: str, names: Names) -> str:
    """`quarter-c1-slinky-3` -> `slinky-3`; what is of the operator's making in the words of the page."""
    known = {
        names.base: "the cluster",
        names.controller_set: "the controller",
        names.controller_pod: "the controller",
        names.accounting_set: "accounting",
        f"{names.accounting_set}-0": "accounting",
        names.database: "the database",
        f"{names.database}-0": "the database",
    }
    if name in known:
        return known[name]
    for start, words in ((names.login, "the login node"), (names.rest_deployment, "the REST service")):
        if name == start or name.startswith(f"{start}-"):
            return words
    return name.removeprefix(f"{names.base}-")


def _unregistered(said: Said) -> str:
    pod = _POD.search(said.message)
    worker = name_in(pod[1], said.names) if pod else said.about
    return f"Worker {worker} does not register with the controller, and the operator replaces its pod again and again."


def _frozen(said: Said) -> str:
    return (
        "The REST service does not answer, so the operator is frozen: it adds, removes and updates no worker until "
        f"it does ({said.message})."
    )


def _no_machine(said: Said) -> str:
    return f"{_capital(said.about)} is not placed: {no_machine(said.message)}."


def _not_made(said: Said) -> str:
    if "exceeded quota" in said.message:
        return f"{_capital(said.about)} is over the namespace's quota: {_after(said.message, 'exceeded quota: ')}."
    if "admission webhook" in said.message or "denied the request" in said.message:
        return f"{_capital(said.about)} was refused at admission: {said.message}."
    return f"The operator could not bring {said.about} about: {said.message}."


def _image(said: Said) -> str:
    if "image" in said.message.lower():
        return f"{_capital(said.about)} does not start: {said.message}."
    return _unknown(said)


def _volume(said: Said) -> str:
    return f"A volume of {said.about} cannot be used: {said.message}."


def _restarts(said: Said) -> str:
    return f"{_capital(said.about)} ends as soon as it is started: {said.message}."


def _machine_gone(said: Said) -> str:
    return f"The machine of {said.about} does not answer Kubernetes any more."


def _unknown(said: Said) -> str:
    return f"Kubernetes says of {said.about}: {said.reason}: {said.message}."


SENTENCES: dict[str, Callable[[Said], str]] = {
    "SlurmNodeNotRegistered": _unregistered,
    "SyncFinalizerFailed": _frozen,
    "FailedScheduling": _no_machine,
    "FailedCreate": _not_made,
    "CreateFailed": _not_made,
    "PatchFailed": _not_made,
    "SyncFailed": _not_made,
    "ControllerRefFailed": _not_made,
    "Failed": _image,
    "InspectFailed": _image,
    "FailedMount": _volume,
    "FailedAttachVolume": _volume,
    "FailedBinding": _volume,
    "ProvisioningFailed": _volume,
    "BackOff": _restarts,
    "NodeNotReady": _machine_gone,
    "TaintManagerEviction": _machine_gone,
}


def _moment(event: Thing) -> datetime | None:
    """When it was last seen: three generations of fields (core/v1 and events.k8s.io/v1)."""
    return next((at for text in _moments(event) if (at := parse_moment(text))), None)


def _moments(event: Thing) -> Iterator[str]:
    yield str((event.get("series") or {}).get("lastObservedTime") or "")
    yield str(event.get("lastTimestamp") or "")
    yield str(event.get("eventTime") or "")
    yield str((event.get("metadata") or {}).get("creationTimestamp") or "")


def _after(text: str, mark: str) -> str:
    return text.partition(mark)[2] or text


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
