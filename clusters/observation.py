"""What was seen of a cluster at one moment, and what that says about a change.

Pure values that provisioners make and recorders turn into rows. Times are aware UTC datetimes, memory is MiB,
durations are seconds. A part that could not be read is None, which is never the same as empty.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from clusters.nodes import NodeState


class PartState(StrEnum):
    """State of one service of a cluster."""

    ABSENT = "absent"
    STARTING = "starting"
    UP = "up"
    DOWN = "down"


@dataclass(frozen=True)
class Part:
    """One service: `kind` is accounting, controller, worker or login; `name` is unique in the cluster; `init` is the
    version of the cluster's init script that it started with, empty where there was none. `prolog` and `epilog` are the
    versions in a worker's own copy of the configuration, None where the platform does not tell."""

    kind: str
    name: str
    state: PartState
    since: datetime | None = None
    detail: str = ""
    restarts: int = 0
    init: str = ""
    prolog: str | None = None
    epilog: str | None = None


@dataclass(frozen=True)
class NodeSeen:
    name: str
    machine: str
    state: NodeState
    machine_state: str
    cpus: int
    cpus_allocated: int
    memory_mib: int
    memory_allocated_mib: int
    gpus: int
    gpus_allocated: int
    partitions: tuple[str, ...]
    features: tuple[str, ...] = ()
    cpu_load: float | None = None
    reason: str = ""
    reason_by: str = ""
    reason_at: datetime | None = None
    boot_at: datetime | None = None
    version: str = ""


@dataclass(frozen=True)
class PartitionSeen:
    name: str
    state: str
    nodes: str
    is_default: bool
    total_nodes: int
    total_cpus: int
    max_time_minutes: int | None
    default_time_minutes: int | None
    priority_tier: int
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class JobSeen:
    """One row of the queue. `job_id` is squeue's %i (`12`, `12_3`, `12_[4-9%2]`); the key is it and `submit_at`."""

    job_id: str
    submit_at: datetime
    name: str
    user: str
    account: str
    partition: str
    state: str
    reason: str
    priority: int
    nodes: str
    node_count: int
    cpus: int
    gpus: int
    memory_mib: int | None
    limit_s: int | None
    start_at: datetime | None
    end_at: datetime | None
    qos: str = ""
    dependency: str = ""
    required_nodes: str = ""
    array_job_id: int | None = None
    task_count: int = 1
    comment: str = ""
    work_dir: str = ""
    exit_code: str = ""


@dataclass(frozen=True)
class Observation:
    """One look at a cluster. `problem` says in a sentence why parts are None.

    `unfinished`: `Provisioner.revive` has something to go on with although every part is up.
    """

    taken_at: datetime
    parts: tuple[Part, ...] = ()
    nodes: tuple[NodeSeen, ...] | None = None
    partitions: tuple[PartitionSeen, ...] | None = None
    jobs: tuple[JobSeen, ...] | None = None
    problem: str = ""
    drift: str | None = None
    unfinished: bool = False


class Verdict(StrEnum):
    """What an observation says about a change: unknown is waiting; hopeless only on evidence.

    `APPLY_AGAIN` is a change of several phases: what the next one needs is there now, so apply the same spec once more.
    """

    DONE = "done"
    WAITING = "waiting"
    APPLY_AGAIN = "apply again"
    HOPELESS = "hopeless"


@dataclass(frozen=True)
class Judgement:
    """A verdict with its reason in the user's words.

    `patient` is a wait that is no fault and has no deadline: jobs still run on nodes that are to go.
    """

    verdict: Verdict
    why: str = ""
    patient: bool = False
