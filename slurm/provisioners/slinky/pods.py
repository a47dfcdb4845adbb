"""What a pod says of itself: which part of the cluster it is, whether it is ready, and why not, in words. Pure.

Labels, annotations and conditions are the operator's (slurm-operator 1.2, internal/builder and nodeset/utils); the rest
is Kubernetes' own (k8s.io/api core/v1, PodStatus).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from clusters.life_scripts import version_in
from slurm.kube.kinds import Thing

PREFIX = "nodeset.slinky.slurm.net/"
SLURM_NAME = f"{PREFIX}pod-hostname"
INDEX = f"{PREFIX}pod-index"
CORDON = f"{PREFIX}pod-cordon"
DELETION_COST = f"{PREFIX}pod-deletion-cost"
DEADLINE = f"{PREFIX}pod-deadline"
COMPONENT = "app.kubernetes.io/component"
INSTANCE = "app.kubernetes.io/instance"
WORKER = "worker"
# The main container of each component has the name of its daemon.
CONTAINERS = {
    "controller": "slurmctld",
    "accounting": "slurmdbd",
    "restapi": "slurmrestd",
    "worker": "slurmd",
    "login": "login",
}
WORDS = {
    "controller": "the controller",
    "accounting": "accounting",
    "restapi": "the REST service",
    "login": "the login node",
    "database": "the database",
}
CRASH = "CrashLoopBackOff"
IMAGE_REASONS = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable"}
)
CONFIG_REASONS = frozenset({"CreateContainerConfigError", "CreateContainerError", "RunContainerError"})
_MOST_TEXT = 300


@dataclass(frozen=True)
class Worker:
    """A worker pod. `slurm` is its node's name in Slurm, `node_set` the NodeSet that it belongs to.

    `knows_slurm` says that the operator has seen the node in Slurm (it mirrors Slurm's state into conditions).
    """

    pod: str
    slurm: str
    node_set: str
    ordinal: int
    machine: str
    ready: bool
    leaving: bool
    cordoned: bool
    cost: int
    deadline: datetime | None
    knows_slurm: bool
    uid: str


def labels(thing: Thing) -> Mapping[str, str]:
    found: Mapping[str, str] = thing.get("metadata", {}).get("labels") or {}
    return found


def annotations(thing: Thing) -> Mapping[str, str]:
    found: Mapping[str, str] = thing.get("metadata", {}).get("annotations") or {}
    return found


def name_of(thing: Thing) -> str:
    return str(thing.get("metadata", {}).get("name", ""))


def component_of(pod: Thing) -> str:
    return labels(pod).get(COMPONENT, "")


def words_for(pod: Thing) -> str:
    """`slinky-3`, `the controller`."""
    component = component_of(pod)
    if component == WORKER:
        return labels(pod).get(SLURM_NAME) or name_of(pod)
    return WORDS.get(component, name_of(pod))


def worker_of(pod: Thing) -> Worker:
    """Of a pod that the operator labelled as a worker."""
    marks, notes = labels(pod), annotations(pod)
    return Worker(
        pod=name_of(pod),
        slurm=marks.get(SLURM_NAME) or name_of(pod),
        node_set=marks.get(INSTANCE, ""),
        ordinal=_number(marks.get(INDEX) or name_of(pod).rpartition("-")[2]),
        machine=machine_of(pod),
        ready=is_ready(pod),
        leaving=is_leaving(pod),
        cordoned=notes.get(CORDON) == "true",
        cost=_number(notes.get(DELETION_COST, "0")),
        deadline=parse_moment(notes.get(DEADLINE, "")),
        knows_slurm=any(kind.startswith("SlurmNodeState") for kind in _true_conditions(pod)),
        uid=str(pod.get("metadata", {}).get("uid", "")),
    )


def machine_of(pod: Thing) -> str:
    """The Kubernetes node that it was put on; empty while it waits for one."""
    return str(pod.get("spec", {}).get("nodeName") or "")


def is_leaving(pod: Thing) -> bool:
    return bool(pod.get("metadata", {}).get("deletionTimestamp"))


def is_ready(pod: Thing) -> bool:
    return "Ready" in _true_conditions(pod) and not is_leaving(pod)


def restarts_of(pod: Thing) -> int:
    return sum(int(status.get("restartCount", 0)) for status in _container_statuses(pod))


def ready_since(pod: Thing) -> datetime | None:
    """When it became ready, or not ready."""
    for condition in _conditions(pod):
        if condition.get("type") == "Ready":
            return parse_moment(str(condition.get("lastTransitionTime") or ""))
    return None


def touched_at(pod: Thing) -> datetime | None:
    """When the operator last did something about a worker: made it, or mirrored a state of Slurm's into it."""
    mirrored = (c for c in _conditions(pod) if str(c.get("type")).startswith("SlurmNodeState"))
    moments = [
        pod.get("metadata", {}).get("creationTimestamp"),
        *(c.get("lastTransitionTime") for c in mirrored),
    ]
    return max((at for text in moments if (at := parse_moment(str(text or "")))), default=None)


def waiting_reason(pod: Thing, container: str = "") -> str:
    """`CrashLoopBackOff`, `ImagePullBackOff` ... of the first container (or the named one) that waits."""
    return next((reason for name, reason, _ in _waits(pod) if not container or name == container), "")


def last_exit(pod: Thing, container: str) -> int | None:
    """With which status the container's last run ended; None when none has ended."""
    for status in _container_statuses(pod):
        if status.get("name") == container:
            for state in (status.get("state") or {}, status.get("lastState") or {}):
                if ended := state.get("terminated"):
                    return int(ended.get("exitCode", 0))
    return None


def state_words(pod: Thing) -> str:
    """The pod's half of a node's machine state: empty when it is as it should be."""
    if is_leaving(pod):
        return "Pod is going"
    if is_ready(pod):
        return ""
    phase = str((pod.get("status") or {}).get("phase") or "Unknown")
    why = trouble_of(pod)
    return f"Pod {phase}: {why}" if why else f"Pod {phase}, not ready"


def trouble_of(pod: Thing) -> str:
    """Why the pod is not ready, as far as its own status says; empty when it says nothing."""
    return _unscheduled(pod) or next((_wait_words(*wait) for wait in _waits(pod)), "") or _ended(pod)


def _unscheduled(pod: Thing) -> str:
    for condition in _conditions(pod):
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return no_machine(str(condition.get("message") or ""))
    return ""


def no_machine(message: str) -> str:
    """The scheduler's message (`0/5 nodes are available: 3 Insufficient nvidia.com/gpu, ... preemption: ...`)."""
    text = tidy(message)
    if "unbound immediate PersistentVolumeClaims" in text:
        return "its volume is not bound yet"
    if "persistentvolumeclaim" in text and "not found" in text:
        return f"its volume is not there ({text})"
    why = text.partition("are available: ")[2].partition(" preemption:")[0].strip(" .")
    if not why:
        return f"it finds no machine{f' ({text})' if text else ''}"
    return f"no machine takes it: {why.replace('Insufficient', 'with too little')}"


def _waits(pod: Thing) -> Iterator[tuple[str, str, str]]:
    """(container, reason, message) of each container that waits, but for those that are only being made."""
    for status in _container_statuses(pod):
        waiting = (status.get("state") or {}).get("waiting") or {}
        reason = str(waiting.get("reason") or "")
        if reason and reason not in ("ContainerCreating", "PodInitializing"):
            yield str(status.get("name", "")), reason, tidy(str(waiting.get("message") or ""))


def _wait_words(container: str, reason: str, message: str) -> str:
    said = f" ({message})" if message else ""
    if reason in IMAGE_REASONS:
        return f"the image of {container} cannot be pulled{said}"
    if reason == CRASH:
        return f"{container} ends as soon as it is started"
    if reason in CONFIG_REASONS:
        return f"{container} cannot be set up{said}"
    return f"{container} waits: {reason}{said}"


def _ended(pod: Thing) -> str:
    status = pod.get("status") or {}
    if status.get("phase") == "Failed":
        return tidy(f"{status.get('reason') or 'it failed'} {status.get('message') or ''}")
    if status.get("reason") == "NodeLost" or status.get("phase") == "Unknown":
        return "its machine does not answer"
    return ""


def _conditions(thing: Thing) -> list[Mapping[str, Any]]:
    return (thing.get("status") or {}).get("conditions") or []


def _true_conditions(thing: Thing) -> set[str]:
    return {str(c.get("type")) for c in _conditions(thing) if c.get("status") == "True"}


def _container_statuses(pod: Thing) -> list[Mapping[str, Any]]:
    status = pod.get("status") or {}
    return [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]


def node_is_ready(node: Thing) -> bool:
    return "Ready" in _true_conditions(node)


def tidy(text: str) -> str:
    """One line of other people's words, cut."""
    line = " ".join(text.split())
    return line if len(line) <= _MOST_TEXT else f"{line[: _MOST_TEXT - 1]}…"


def parse_moment(text: str) -> datetime | None:
    """RFC 3339, with or without parts of a second."""
    try:
        return datetime.fromisoformat(text) if text else None
    except ValueError:
        return None


def _number(text: str) -> int:
    return int(text) if text.removeprefix("-").isdigit() else 0


def init_of(pod: Thing) -> str:
    """The version of the init script that its main container starts with; empty where it has none."""
    for container in (pod.get("spec") or {}).get("containers") or ():
        hook = ((container.get("lifecycle") or {}).get("postStart") or {}).get("exec") or {}
        for word in hook.get("command") or ():
            if version := version_in(str(word)):
                return version
    return ""
