"""Restarts of the cluster's services: what each would end and lose, read from rows, and the restart itself.

An operation like those of `slurm.operations`: one direct call, audited, no revision. Called by pages and the API,
outside of any transaction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from asgiref.sync import async_to_sync
from django.conf import settings

from clusters.access import Door
from clusters.changes import Busy
from clusters.lifecycle import Step
from clusters.machine import LIVE
from clusters.models import Cluster
from clusters.platform import platform_kind
from console.errors import Missing, Unavailable
from console.roles import Action
from slurm.conf import parse
from slurm.models import Job
from slurm.operations import perform
from slurm.terminal.registry import Registry

PARTS: Mapping[str, str] = {"controller": "controller", "login": "login node", "workers": "workers"}
MOST_NAMED = 12


@dataclass(frozen=True)
class Impact:
    """What a restart of `part` meets. `jobs` are at most MOST_NAMED of the `job_count` that hold nodes.

    `terminals` is None when the part is not the login node, or when nobody can say how many are open.
    `is_queued_again` says what becomes of batch jobs that were submitted without a wish of their own. `spares_jobs`
    says that none ends, because workers restart some at a time and each waits for its own.
    """

    part: str
    name: str
    jobs: Sequence[Job]
    job_count: int
    waiting_count: int
    node_count: int
    terminals: int | None
    is_queued_again: bool
    spares_jobs: bool

    @property
    def is_several(self) -> bool:
        return self.part == "workers"


def restart(door: Door, part: str) -> None:
    """Restart one service now. Raises Missing for a part that no cluster has, Busy while a change is on its way.

    Returns when the platform has taken the order; the watcher sees the service start.
    """
    named(door.cluster, part)

    def act() -> None:
        if live := door.cluster.changes.filter(status__in=LIVE).first():
            raise Busy(live)
        door.cluster.provisioner.restart(part, lambda sentence: None)

    perform(door, "cluster.restart", [part], Action.RESTART_CLUSTER, act, step=Step.RESTART)


def impact_of(cluster: Cluster, part: str) -> Impact:
    """Four small queries, and one question to Redis for the login node. Raises Missing for an unknown part."""
    name = named(cluster, part)
    queue = cluster.jobs.filter(is_finished=False)
    placed = queue.exclude(nodes="")
    return Impact(
        part=part,
        name=name,
        jobs=list(placed.order_by("start_at", "number")[:MOST_NAMED]),
        job_count=placed.count(),
        waiting_count=queue.filter(nodes="").count(),
        node_count=cluster.nodes.count(),
        terminals=_terminals(cluster) if part == "login" else None,
        # slurm.conf(5): JobRequeue is 1 where the file is silent.
        is_queued_again=parse(cluster.spec.slurm_conf).get("JobRequeue") != "0",
        spares_jobs=platform_kind(cluster.region.provisioner).spares_jobs,
    )


def named(cluster: Cluster, part: str) -> str:
    """What the part is called on screen."""
    if part not in PARTS:
        raise Missing(
            f"{cluster.slug} has no {part[:40]} to restart.", f"What can be restarted: {', '.join(PARTS)}."
        )
    return PARTS[part]


def _terminals(cluster: Cluster) -> int | None:
    async def ask() -> int:
        async with Registry(settings.REDIS_URL) as registry:
            return await registry.held(cluster.key)

    try:
        return async_to_sync(ask)()
    except Unavailable:
        return None
