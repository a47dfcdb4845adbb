"""Machines with GPUs: how many there are, and how much of them other pods leave free."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from clusters.finding import Finding, State
from console.words import count, listed, memory
from slurm.kube.kinds import Thing
from slurm.provisioners.slinky.ready.quantity import amount, mib, whole
from slurm.provisioners.slinky.region import RegionSettings, Toleration

MODEL = "nvidia.com/gpu.product"
MOST_DETAILS = 12


@dataclass(frozen=True)
class Machine:
    """`why_not` says why no worker would be put there now; `free` counts GPUs that no pod has asked for."""

    name: str
    model: str
    gpus: int
    free: int
    cpus: int
    memory_mib: int
    why_not: str


@dataclass(frozen=True)
class Shape:
    """A plan, as far as a machine must offer it."""

    plan: str
    gpus: int
    cpus: int
    memory_mib: int


def machines_of(nodes: Iterable[Thing], pods: Iterable[Thing], settings: RegionSettings) -> list[Machine]:
    """Those that the selector picks, all others too when they have a GPU. `pods` are those that have not ended."""
    taken = _taken(pods, settings.gpu_resource)
    found = [_machine(node, taken, settings) for node in nodes]
    return [machine for machine in found if machine.gpus or not machine.why_not]


def gpus_finding(machines: Sequence[Machine], settings: RegionSettings) -> Finding:
    title, key, resource = "GPUs", "gpus", settings.gpu_resource
    with_gpus = [machine for machine in machines if machine.gpus]
    if not with_gpus:
        return Finding(
            key,
            title,
            State.WARN,
            f"No machine offers {resource}.",
            "Install the GPU operator or the device plugin, or correct the resource's name in the settings.",
            commands=(f"kubectl get nodes -o custom-columns=NAME:.metadata.name,GPUS:{_path(resource)}",),
        )
    usable = [machine for machine in with_gpus if not machine.why_not]
    free, most = sum(machine.free for machine in usable), max((machine.free for machine in usable), default=0)
    total = sum(machine.gpus for machine in with_gpus)
    lead = f"{count(len(with_gpus), 'machine')} with {count(total, 'GPU')}"
    details = _details(with_gpus)
    if not usable:
        why = f"{lead}, and no worker could be put on any."
        return Finding(key, title, State.BAD, why, "The lines below say why of each.", details)
    if not free:
        hint = "A new GPU worker waits until another pod ends."
        return Finding(key, title, State.WARN, f"{lead}; none is free.", hint, details)
    return Finding(
        key, title, State.OK, f"{lead}; {free} are free, at most {most} on one machine.", "", details
    )


def plans_finding(shapes: Sequence[Shape], machines: Sequence[Machine]) -> Finding:
    """Whether each plan fits on a machine at all, whatever is free on it now."""
    title, key = "Plans", "plans"
    if not shapes:
        hint = "Add one on the admin site: clusters are made of plans."
        return Finding(key, title, State.BAD, "The region has no plan.", hint)
    fits = {shape: sum(_fits(shape, machine) for machine in machines) for shape in shapes}
    details = tuple(f"{shape.plan}: fits on {count(number, 'machine')}" for shape, number in fits.items())
    unfit = [shape for shape, number in fits.items() if not number]
    if unfit:
        first = unfit[0]
        asks = f"{first.plan} asks {first.gpus} GPUs, {first.cpus} CPUs and {memory(first.memory_mib)}"
        sentence = f"{listed([shape.plan for shape in unfit])} fits on no machine: {asks}."
        hint = "Kubernetes keeps some CPU and memory for itself: ask for a little less than the machine has."
        return Finding(key, title, State.WARN, sentence, hint, details)
    return Finding(key, title, State.OK, "Each fits on a machine.", "", details)


def _machine(node: Thing, taken: Mapping[str, int], settings: RegionSettings) -> Machine:
    name, labels = node["metadata"]["name"], node["metadata"].get("labels", {})
    has = node.get("status", {}).get("allocatable", {})
    gpus = whole(has.get(settings.gpu_resource, 0))
    return Machine(
        name,
        str(labels.get(MODEL, "")),
        gpus,
        max(0, gpus - taken.get(name, 0)),
        int(amount(has.get("cpu", 0))),
        mib(has.get("memory", 0)),
        _why_not(node, labels, gpus, settings),
    )


def _why_not(node: Thing, labels: Mapping[str, str], gpus: int, settings: RegionSettings) -> str:
    conditions = {one.get("type"): one.get("status") for one in node.get("status", {}).get("conditions", ())}
    if conditions.get("Ready") != "True":
        return "it is not ready"
    if node.get("spec", {}).get("unschedulable"):
        return "it is cordoned"
    unlike = [key for key, value in settings.gpu_selector.items() if labels.get(key) != value]
    if gpus and unlike:
        return f"it has not the label {unlike[0]}={settings.gpu_selector[unlike[0]]} of the settings"
    taints = [
        one for one in node.get("spec", {}).get("taints", ()) if one.get("effect") != "PreferNoSchedule"
    ]
    tolerated = settings.gpu_tolerations if gpus else ()
    bad = [one["key"] for one in taints if not any(_tolerates(t, one) for t in tolerated)]
    return f"its taint {bad[0]} is not tolerated by the settings" if bad else ""


def _tolerates(toleration: Toleration, taint: Mapping[str, str]) -> bool:
    """As the scheduler reads them (kubernetes.io, Taints and Tolerations)."""
    if toleration.effect and toleration.effect != taint.get("effect"):
        return False
    if toleration.operator == "Exists":
        return toleration.key in ("", taint["key"])
    return toleration.key == taint["key"] and toleration.value == taint.get("value", "")


def _taken(pods: Iterable[Thing], resource: str) -> Counter[str]:
    """What pods ask of each node, as the scheduler counts: containers and sidecars together, or the largest of the
    init containers beside the sidecars that run by then."""
    taken: Counter[str] = Counter()
    for pod in pods:
        spec = pod.get("spec", {})
        if node := spec.get("nodeName"):
            taken[node] += _asked(spec, resource)
    return taken


def _asked(spec: Mapping[str, object], resource: str) -> int:
    containers: list[Mapping[str, object]] = spec.get("containers", [])  # type: ignore[assignment]  # JSON
    starters: list[Mapping[str, object]] = spec.get("initContainers", [])  # type: ignore[assignment]  # JSON
    sidecars = largest = 0
    for one in starters:
        if one.get("restartPolicy") == "Always":
            sidecars += _limit(one, resource)
            largest = max(largest, sidecars)
        else:
            largest = max(largest, sidecars + _limit(one, resource))
    return max(largest, sidecars + sum(_limit(one, resource) for one in containers))


def _limit(container: Mapping[str, object], resource: str) -> int:
    resources: Mapping[str, Mapping[str, object]] = container.get("resources") or {}  # type: ignore[assignment]  # JSON
    asked = resources.get("requests") or {}
    limited = resources.get("limits") or {}
    return whole(asked.get(resource, limited.get(resource, 0)))


def _details(machines: Sequence[Machine]) -> tuple[str, ...]:
    """First a line for each machine that no worker can use, then one for each model and size."""
    barred = [f"{machine.name}: {machine.why_not}" for machine in machines if machine.why_not]
    sizes = Counter((m.model, m.gpus) for m in machines if not m.why_not)
    free = Counter[tuple[str, int]]()
    for machine in machines:
        free[(machine.model, machine.gpus)] += 0 if machine.why_not else machine.free
    lines = [
        f"{count(number, 'machine')} of {gpus} {model or 'GPUs'}: {free[(model, gpus)]} of {number * gpus} free"
        for (model, gpus), number in sorted(sizes.items())
    ]
    rest = len(barred) - MOST_DETAILS
    return (
        *lines,
        *barred[:MOST_DETAILS],
        *([f"and {rest} more that no worker can use"] if rest > 0 else ()),
    )


def _fits(shape: Shape, machine: Machine) -> bool:
    has = (machine.gpus, machine.cpus, machine.memory_mib)
    return all(
        own >= asked for own, asked in zip(has, (shape.gpus, shape.cpus, shape.memory_mib), strict=True)
    )


def _path(resource: str) -> str:
    return ".status.allocatable." + resource.replace(".", "\\.")
