"""One cluster's objects in its region, as they were at one moment.

Read by `read_scene`, from the API itself or from the region's mirror: both answer `find` and `list`. What is made of
them is pure (`sight`, `stages`, `verdict`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Protocol

from slurm.kube.kinds import (
    ACCOUNTING,
    CONFIG_MAP,
    CONTROLLER,
    DEPLOYMENT,
    EVENT,
    LOGIN_SET,
    NODE,
    NODE_SET,
    POD,
    REST_API,
    STATEFUL_SET,
    Kind,
    Thing,
)
from slurm.provisioners.slinky.design import ACCOUNTING as ACCOUNTING_PART
from slurm.provisioners.slinky.design import CONTROLLER as CONTROLLER_PART
from slurm.provisioners.slinky.design import LOGIN as LOGIN_PART
from slurm.provisioners.slinky.design import REST_API as REST_API_PART
from slurm.provisioners.slinky.names import CLUSTER_LABEL, Names
from slurm.provisioners.slinky.pods import (
    WORKER,
    Worker,
    component_of,
    machine_of,
    name_of,
    parse_moment,
    worker_of,
)


class Found(Protocol):
    @property
    def items(self) -> tuple[Thing, ...]: ...


class Reads(Protocol):
    """The API or its mirror."""

    def find(self, kind: Kind, name: str, namespace: str = "") -> Thing | None: ...

    def list(self, kind: Kind, namespace: str = "", *, labels: str = "", fields: str = "") -> Found: ...


@dataclass(frozen=True)
class Scene:
    """What is there; what is not is None or left out. `machines` are the Kubernetes nodes under the pods, where they
    were read too (`with_machines`)."""

    names: Names
    controller: Thing | None = None
    accounting: Thing | None = None
    rest: Thing | None = None
    login: Thing | None = None
    controller_set: Thing | None = None
    accounting_set: Thing | None = None
    database_set: Thing | None = None
    rest_deployment: Thing | None = None
    login_deployment: Thing | None = None
    running_conf: Thing | None = None
    note: Thing | None = None
    node_sets: tuple[Thing, ...] = ()
    pods: tuple[Thing, ...] = ()
    events: tuple[Thing, ...] = ()
    machines: Mapping[str, Thing] = field(default_factory=dict)

    @property
    def is_there(self) -> bool:
        """Whether anything of the cluster runs or should."""
        return bool(self.controller or self.node_sets or self.pods)

    @property
    def controller_pod(self) -> Thing | None:
        return next((pod for pod in self.pods if name_of(pod) == self.names.controller_pod), None)

    @property
    def worker_pods(self) -> tuple[Thing, ...]:
        return tuple(pod for pod in self.pods if component_of(pod) == WORKER)

    @property
    def workers(self) -> tuple[Worker, ...]:
        return tuple(worker_of(pod) for pod in self.worker_pods)

    @property
    def resources(self) -> tuple[Thing, ...]:
        """The operator's resources that are there."""
        found = (self.accounting, self.controller, self.rest, self.login, *self.node_sets)
        return tuple(thing for thing in found if thing is not None)

    @property
    def workloads(self) -> dict[str, Thing]:
        """What the operator made of them, by part; of a group its NodeSet itself."""
        made = {
            ACCOUNTING_PART: self.accounting_set,
            CONTROLLER_PART: self.controller_set,
            REST_API_PART: self.rest_deployment,
            LOGIN_PART: self.login_deployment,
            **{self.group_of(name_of(one)): one for one in self.node_sets},
        }
        return {part: thing for part, thing in made.items() if thing is not None}

    def group_of(self, node_set: str) -> str:
        """The group whose NodeSet it is."""
        return node_set.removeprefix(f"{self.names.base}-")

    def replicas(self) -> dict[str, int]:
        """How many workers each NodeSet is told to have, by group."""
        return {self.group_of(name_of(one)): int(one["spec"].get("replicas", 1)) for one in self.node_sets}


def read_scene(reads: Reads, names: Names) -> Scene:
    """About a dozen requests when `reads` is the API itself. Raises what that raises."""
    space = names.namespace
    return Scene(
        names=names,
        controller=reads.find(CONTROLLER, names.base, space),
        accounting=reads.find(ACCOUNTING, names.base, space),
        rest=reads.find(REST_API, names.base, space),
        login=reads.find(LOGIN_SET, names.login, space),
        controller_set=reads.find(STATEFUL_SET, names.controller_set, space),
        accounting_set=reads.find(STATEFUL_SET, names.accounting_set, space),
        database_set=reads.find(STATEFUL_SET, names.database, space),
        rest_deployment=reads.find(DEPLOYMENT, names.rest_deployment, space),
        login_deployment=reads.find(DEPLOYMENT, names.login, space),
        running_conf=reads.find(CONFIG_MAP, names.running_conf, space),
        note=reads.find(CONFIG_MAP, names.note, space),
        node_sets=_node_sets(reads, names),
        pods=_pods(reads, names),
        events=reads.list(EVENT, space, fields="type=Warning").items,
    )


def with_machines(scene: Scene, reads: Reads) -> Scene:
    """The same with the machines under its pods: one request each when `reads` is the API itself."""
    used = sorted({machine_of(pod) for pod in scene.pods} - {""})
    found = {name: reads.find(NODE, name) for name in used}
    return replace(scene, machines={name: node for name, node in found.items() if node is not None})


def _node_sets(reads: Reads, names: Names) -> tuple[Thing, ...]:
    return _called_after(reads.list(NODE_SET, names.namespace).items, names)


def _pods(reads: Reads, names: Names) -> tuple[Thing, ...]:
    """By the cluster's label, which the operator copies from its CRs onto every pod."""
    return reads.list(POD, names.namespace, labels=f"{CLUSTER_LABEL}={names.key}").items


def _called_after(things: Iterable[Thing], names: Names) -> tuple[Thing, ...]:
    return tuple(thing for thing in things if name_of(thing).startswith(f"{names.base}-"))


def generation_seen(thing: Thing) -> bool:
    """Whether whoever looks after the object has looked at its newest spec."""
    status: Mapping[str, Any] = thing.get("status") or {}
    return int(status.get("observedGeneration") or 0) >= int(thing["metadata"].get("generation") or 1)


def status_written_at(thing: Thing) -> datetime | None:
    """When somebody last changed the object's status, by its managed fields, which a mirror leaves out."""
    fields = thing["metadata"].get("managedFields") or []
    moments = (
        parse_moment(str(entry.get("time") or "")) for entry in fields if entry.get("subresource") == "status"
    )
    return max((at for at in moments if at), default=None)
