"""Creating's steps and a cluster's services, from what the watcher saw (`Cluster.parts`)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.utils import timezone
from django.utils.dateparse import parse_datetime

from clusters.lifecycle import Status
from clusters.models import Cluster

STALLED_AFTER_S = 60
KINDS = (
    ("accounting", "Accounting"),
    ("controller", "Controller"),
    ("rest", "REST service"),
    ("worker", "Workers"),
    ("login", "Login node"),
)
TONES = {"up": "ok", "starting": "busy", "down": "bad", "absent": "idle"}


@dataclass(frozen=True)
class Step:
    """One line of Creating. `took_s` counts from the cluster's beginning to the step's being up."""

    kind: str
    label: str
    state: str
    up: int
    of: int
    detail: str
    took_s: float | None
    is_stalled: bool = False

    @property
    def tone(self) -> str:
        return TONES.get(self.state, "idle")


def steps_of(cluster: Cluster) -> list[Step]:
    """In the order in which they come up; kinds that this platform never reports are left out."""
    parts = [part for part in cluster.parts if isinstance(part, dict)]
    steps = []
    for kind, label in KINDS:
        of_kind = [part for part in parts if part.get("kind") == kind]
        if of_kind or kind != "rest":
            steps.append(_step(cluster, kind, label, of_kind))
    return _with_stall(cluster, steps)


def _with_stall(cluster: Cluster, steps: list[Step]) -> list[Step]:
    """The first step that is not up holds the others: it is stalled when the whole takes too long."""
    first = next((step for step in steps if step.state != "up"), None)
    waits_s = (timezone.now() - cluster.status_at).total_seconds()
    if first is None or cluster.status != Status.CREATING or waits_s < STALLED_AFTER_S:
        return steps
    return [replace(step, is_stalled=step is first) for step in steps]


def _step(cluster: Cluster, kind: str, label: str, parts: Sequence[Mapping[str, object]]) -> Step:
    wanted = len(cluster.spec.node_names) if kind == "worker" else max(1, len(parts))
    up = [part for part in parts if part.get("state") == "up"]
    state = "up" if len(up) >= wanted and parts else _worst(parts)
    if cluster.status == Status.CREATING and state in ("down", "absent") and not _detail(parts):
        state = "waiting"  # not started yet, which is no fault
    since = [moment for part in up if (moment := _moment(part.get("since")))]
    ready_at = max(since) if state == "up" and since else None
    return Step(
        kind=kind,
        label=label,
        state=state,
        up=len(up),
        of=wanted,
        detail=_detail(parts),
        took_s=(ready_at - cluster.status_at).total_seconds() if ready_at else None,
    )


def _worst(parts: Iterable[Mapping[str, object]]) -> str:
    states = {str(part.get("state")) for part in parts}
    return next((state for state in ("down", "starting", "up") if state in states), "absent").replace(
        "up", "starting"
    )


def _detail(parts: Iterable[Mapping[str, object]]) -> str:
    """What is said of the first part that is not up."""
    return next((str(part.get("detail") or "") for part in parts if part.get("state") != "up"), "")


def _moment(value: object) -> datetime | None:
    return parse_datetime(value) if isinstance(value, str) else None
