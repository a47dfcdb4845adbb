"""Creating's steps and a cluster's services, from what the watcher saw (`Cluster.parts`)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.dateparse import parse_datetime

from clusters.lifecycle import Status
from clusters.models import Cluster

STALLED_AFTER_S = 60
NEWS_FOR = timedelta(minutes=10)
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
    """One line of Creating. `took_s` counts from the cluster's beginning to the step's being up.

    `again` is the part that ended last and was started again, `again_at` when; both for a while after it only.
    """

    kind: str
    label: str
    state: str
    up: int
    of: int
    detail: str
    took_s: float | None
    is_stalled: bool = False
    again: str = ""
    again_at: datetime | None = None

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
    again_at, again = _last_restart(up)
    return Step(
        kind=kind,
        label=label,
        state=state,
        up=len(up),
        of=wanted,
        detail=_detail(parts),
        took_s=(ready_at - cluster.status_at).total_seconds() if ready_at else None,
        again=again,
        again_at=again_at,
    )


def _last_restart(up: Iterable[Mapping[str, object]]) -> tuple[datetime | None, str]:
    restarted = [(_moment(part.get("since")), str(part.get("name"))) for part in up if part.get("restarts")]
    recent = [(at, name) for at, name in restarted if at and timezone.now() - at < NEWS_FOR]
    return max(recent, default=(None, ""))


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
