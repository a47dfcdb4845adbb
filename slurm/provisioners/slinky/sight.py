"""What a Slinky cluster looks like from outside Slurm: its parts, the machines under its nodes. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime

from clusters.observation import Part, PartState
from slurm.kube.kinds import NODE_SET, Thing
from slurm.provisioners.slinky.events import Warned, first_about, frozen_at
from slurm.provisioners.slinky.pods import (
    SLURM_NAME,
    WORKER,
    component_of,
    init_of,
    is_leaving,
    is_ready,
    labels,
    machine_of,
    name_of,
    node_is_ready,
    ready_since,
    restarts_of,
    state_words,
    touched_at,
    trouble_of,
    waiting_reason,
)
from slurm.provisioners.slinky.scene import Scene, status_written_at

# The kind that pages know, the name of the part, and the operator's word for the pods of it.
SERVICES = (
    ("accounting", "database", "database"),
    ("accounting", "slurmdbd", "accounting"),
    ("controller", "slurmctld", "controller"),
    ("rest", "slurmrestd", "restapi"),
    ("login", "sshd", "login"),
)
FROZEN = "The REST service does not answer: the operator adds, removes and updates no worker until it does."
MOST_DETAIL = 400


def parts_of(
    scene: Scene, warned: Iterable[Warned] = (), reboots: Mapping[str, str] | None = None
) -> tuple[Part, ...]:
    """Services first, then one part for each worker. `reboots` are words about workers that are being restarted."""
    told = tuple(warned)
    services = [
        part for kind, name, component in SERVICES for part in _service(scene, kind, name, component, told)
    ]
    return (*services, *_workers(scene, told, reboots or {}))


def _service(
    scene: Scene, kind: str, name: str, component: str, warned: tuple[Warned, ...]
) -> Iterator[Part]:
    """One part; none where the cluster has no such service. The newest pod speaks for it: a rollout has two."""
    owner = owner_of(scene, component)
    if owner is None:
        return
    pods = sorted((pod for pod in scene.pods if belongs(pod, component)), key=_by_age)
    if not pods:
        detail = first_about(warned, name_of(owner), *_children(scene, component))
        yield Part(kind, name, PartState.STARTING, None, detail)
        return
    frozen = FROZEN if component == "restapi" and is_frozen(scene, warned) else ""
    yield _part(kind, name, pods[-1], warned, frozen)


def is_frozen(scene: Scene, warned: Iterable[Warned]) -> bool:
    """Whether the operator is stopped by a silent REST service: it has said so, and has got no further since."""
    told = tuple(warned)
    said = frozen_at(told)
    return said is not None and all(at <= said for at in _got_further(scene, told))


def _got_further(scene: Scene, warned: tuple[Warned, ...]) -> Iterator[datetime]:
    """When the operator did what it does only while the REST service answers: it touched a worker, wrote a NodeSet's
    status, or failed at a later step of it (slurm-operator 1.2: all of that comes after `syncFinalizer`)."""
    yield from (at for pod in scene.worker_pods if (at := touched_at(pod)))
    yield from (at for node_set in scene.node_sets if (at := status_written_at(node_set)))
    yield from (w.at for w in warned if w.kind == NODE_SET.name and w.at and frozen_at([w]) is None)


def owner_of(scene: Scene, component: str) -> Thing | None:
    """What asks for these pods: one of ours, or the database's StatefulSet."""
    return {
        "database": scene.database_set,
        "accounting": scene.accounting,
        "controller": scene.controller,
        "restapi": scene.rest,
        "login": scene.login,
    }[component]


def belongs(pod: Thing, component: str) -> bool:
    if component == "database":
        return labels(pod).get("app.kubernetes.io/name") == "mariadb"
    return component_of(pod) == component


def _children(scene: Scene, component: str) -> tuple[str, ...]:
    names = scene.names
    return {
        "database": (names.database, f"{names.database}-0"),
        "accounting": (names.accounting_set, f"{names.accounting_set}-0"),
        "controller": (names.controller_set, names.controller_pod),
        "restapi": (names.rest_deployment,),
        "login": (names.login,),
    }[component]


def _by_age(pod: Thing) -> str:
    return str(pod.get("metadata", {}).get("creationTimestamp") or "")


def _part(kind: str, name: str, pod: Thing, warned: tuple[Warned, ...], else_words: str = "") -> Part:
    if is_ready(pod) and not else_words:
        return Part(kind, name, PartState.UP, ready_since(pod), "", restarts_of(pod), init_of(pod))
    words = trouble_of(pod) or first_about(warned, name_of(pod)) or else_words
    state = PartState.DOWN if is_broken(pod) else PartState.STARTING
    return Part(kind, name, state, ready_since(pod), _sentence(words), restarts_of(pod), init_of(pod))


def is_broken(pod: Thing) -> bool:
    """Ended or unable to start, rather than on its way."""
    phase = (pod.get("status") or {}).get("phase")
    return (
        phase in ("Failed", "Unknown")
        or bool(waiting_reason(pod))
        or bool(is_leaving(pod) and phase == "Failed")
    )


def _workers(scene: Scene, warned: tuple[Warned, ...], reboots: Mapping[str, str]) -> Iterator[Part]:
    for pod in sorted((p for p in scene.pods if component_of(p) == WORKER), key=_rank):
        slurm = labels(pod).get(SLURM_NAME) or name_of(pod)
        part = _part("worker", slurm, pod, warned)
        if slurm in reboots:
            part = replace(part, state=PartState.STARTING, detail=reboots[slurm])
        yield part


def _rank(pod: Thing) -> tuple[str, int, str]:
    group, _, ordinal = (labels(pod).get(SLURM_NAME) or name_of(pod)).rpartition("-")
    return group, int(ordinal) if ordinal.isdigit() else -1, name_of(pod)


def machines_of(scene: Scene) -> dict[str, str]:
    """The machine under each node, by Slurm's name."""
    return {worker.slurm: worker.machine for worker in scene.workers if worker.machine}


def machine_state_of(scene: Scene) -> Callable[[str], str]:
    """`Ready`, or what is the matter with the node's pod or with the machine under it."""
    pods = {labels(pod).get(SLURM_NAME): pod for pod in scene.pods if component_of(pod) == WORKER}

    def machine_state(node: str) -> str:
        pod = pods.get(node)
        return _machine_state(pod, scene.machines) if pod is not None else "No pod"

    return machine_state


def _machine_state(pod: Thing, machines: Mapping[str, Thing]) -> str:
    machine = machine_of(pod)
    if machine and machine not in machines:
        return "NodeLost: Kubernetes has no such machine any more"
    if machine and not node_is_ready(machines[machine]):
        return "NotReady: the machine does not answer Kubernetes"
    return state_words(pod) or "Ready"


def controller_problem(scene: Scene, warned: Iterable[Warned]) -> str:
    """Why Slurm cannot be asked; empty when the controller's pod is ready."""
    pod = scene.controller_pod
    if pod is not None and is_ready(pod):
        return ""
    part = next((part for part in parts_of(scene, warned) if part.kind == "controller"), None)
    why = f" {part.detail}" if part and part.detail else ""
    return f"The controller, slurmctld, is {part.state.value if part else 'not there'}.{why}"


def _sentence(words: str) -> str:
    text = words[:MOST_DETAIL]
    text = text[:1].upper() + text[1:]
    return text if not text or text.endswith((".", "…", ")")) else f"{text}."
