"""Restarts of the cluster's services and of its nodes.

What is done at once, and what each node does by itself when its jobs have ended, is an operation like those of
`slurm.operations`: one direct call, audited. What takes its course, some at a time or at a time to come, is a change
without a revision (`clusters.rolling`): it has a log and can be stopped. Called by pages and the API, outside of any
transaction.
"""

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from clusters import changes, lasting
from clusters.access import Door
from clusters.acts import PartKind, Reboot, RestartPart, sort_of
from clusters.lifecycle import Step
from clusters.machine import LIVE
from clusters.models import Change, Cluster
from clusters.opening import held_up
from clusters.spec import ClusterSpec
from console.errors import Missing
from console.roles import Action
from slurm import operations
from slurm.operations import perform

# What each is called on screen.
PARTS = {PartKind.CONTROLLER: "controller", PartKind.LOGIN: "login node", PartKind.WORKERS: "workers"}

# The kind of its parts, as the watcher sees them.
PARTS_SEEN = {PartKind.CONTROLLER: "controller", PartKind.LOGIN: "login", PartKind.WORKERS: "worker"}


@dataclass(frozen=True)
class Order:
    """A restart as somebody wants it: of a service or all workers (`part`), or of `nodes`. `at_once` is 0 for all of
    them together, `start_at` None for now."""

    part: PartKind | None = None
    nodes: tuple[str, ...] = ()
    when_idle: bool = False
    at_once: int = 0
    start_at: datetime | None = None

    @property
    def takes_its_course(self) -> bool:
        return self.at_once > 0 or self.start_at is not None

    def targets(self, spec: ClusterSpec) -> tuple[str, ...]:
        if self.part is PartKind.WORKERS:
            return spec.node_names
        return (self.part.value,) if self.part else self.nodes

    def act(self, spec: ClusterSpec) -> RestartPart | Reboot:
        """Workers in their course restart one by one, and not as the platform would restart them all."""
        if self.part is None or (self.part is PartKind.WORKERS and self.takes_its_course):
            return Reboot(spec, self.targets(spec), self.when_idle, self.at_once)
        return RestartPart(spec, self.part, self.when_idle)


def carry_out(door: Door, order: Order) -> Change | None:
    """Do it, or have it done in its course: then it is a change. Raises what `restart`, `slurm.operations.reboot` and
    `clusters.changes.restart` raise."""
    if order.takes_its_course:
        return changes.restart(
            door.cluster,
            order.targets(door.cluster.spec),
            by=door.membership,
            at_once=order.at_once,
            when_idle=order.when_idle,
            start_at=order.start_at,
        )
    if order.part is None:
        operations.reboot(door, order.nodes, when_idle=order.when_idle)
    else:
        restart(door, order.part, when_idle=order.when_idle)
    return None


def restart(door: Door, part: str, *, when_idle: bool = False) -> None:
    """Restart one service now, or, `when_idle`, each worker when its jobs have ended.

    Raises Missing for a part that no cluster has, Busy while a change is on its way.

    Returns when the platform has taken the order; the watcher sees the service start.
    """
    which = named(door.cluster, part)

    def act() -> None:
        if live := door.cluster.changes.filter(status__in=LIVE).first():
            raise held_up(live, door.membership)
        cluster, begun = door.cluster, timezone.now()
        cluster.provisioner.restart(part, lambda sentence: None, when_idle=when_idle)
        if not when_idle:
            lasting.begin(cluster, sort_of(RestartPart(cluster.spec, which)), [PARTS_SEEN[which]], at=begun)

    detail = {"when": "idle" if when_idle else "now"}
    perform(door, "cluster.restart", [part], Action.RESTART_CLUSTER, act, detail, step=Step.RESTART)


def named(cluster: Cluster, part: str) -> PartKind:
    """Raises Missing for what is no part, or none that is restarted by itself."""
    found = next((one for one in PARTS if one == part), None)
    if found is None:
        raise Missing(
            f"{cluster.slug} has no {part[:40]} to restart.", f"What can be restarted: {', '.join(PARTS)}."
        )
    return found
