"""Nodes that a life script of the cluster has drained, and the way back to the script before it.

Slurm drains a node on which the prolog or the epilog fails, with no other word than which of both it was (slurmd's
req.c, 22.05 to 26.05). A bad script so takes one node after another out of service.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from clusters import changes
from clusters.access import Door
from clusters.acts import Edit
from clusters.file_diff import FileDiff, file_diffs
from clusters.life_scripts import ABOUT, About, Hook, script_of, version_of
from clusters.machine import ChangeStatus
from clusters.models import Change, Cluster, Node
from clusters.nodes import Health
from clusters.when import When
from console.errors import Conflict
from slurm.drains import Owner, drain_owner

# Slurm holds a batch job whose prolog failed, unless SchedulerParameters has nohold_on_prolog_fail.
HELD_FOR_IT = "launch failed requeued held"
REASONS = {"prolog error": Hook.WORKER_PROLOG, "epilog error": Hook.WORKER_EPILOG}


@dataclass(frozen=True)
class Failure:
    """One hook whose script has drained `nodes`. `now` is the script that the cluster has, `before` the one that it had
    before that, each empty for none; `is_past` says that the nodes are out since before it came."""

    hook: Hook
    nodes: tuple[Node, ...]
    now: str
    before: str
    is_past: bool

    @property
    def about(self) -> About:
        return ABOUT[self.hook]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(node.name for node in self.nodes)

    @property
    def version(self) -> str:
        return version_of(self.now)

    @property
    def version_before(self) -> str:
        return version_of(self.before)

    @property
    def diff(self) -> FileDiff | None:
        texts = ({self.about.title: text} if text else {} for text in (self.now, self.before))
        return next(iter(file_diffs(*texts)), None)


def failed_hook(reason: str, reason_by: str) -> Hook | None:
    """Whose failure a node's reason tells, if Slurm itself gave it."""
    hook = REASONS.get(reason.strip().lower())
    return hook if hook and drain_owner(reason, reason_by).owner is Owner.SLURM else None


def failures(cluster: Cluster) -> tuple[Failure, ...]:
    """From rows: what was last seen. Three queries where something failed, else one."""
    found: dict[Hook, list[Node]] = {}
    for node in cluster.nodes.filter(health__in=[Health.DRAINING, Health.DOWN]).exclude(reason=""):
        if hook := failed_hook(node.reason, node.reason_by):
            found.setdefault(hook, []).append(node)
    return tuple(_failure(cluster, hook, tuple(nodes)) for hook, nodes in found.items())


def held_jobs(cluster: Cluster) -> int:
    """How many waiting jobs could not be started on a node, and start only when somebody releases them."""
    return cluster.jobs.filter(state="PENDING", reason__contains=HELD_FOR_IT).count()


def failure_of(cluster: Cluster, name: str) -> Failure:
    """Raises Conflict when no node is out of service because of that hook."""
    found = next((one for one in failures(cluster) if one.hook == name), None)
    if found is None:
        raise Conflict(
            f"No node of {cluster.slug} is out of service because of a script.",
            "The Nodes tab shows them all.",
        )
    return found


def reverting(cluster: Cluster, failure: Failure) -> Edit:
    spec = cluster.spec
    scripts = replace(spec.scripts, **{failure.hook.value: failure.before})
    return Edit(spec, spec.with_scripts(scripts))


def revert(door: Door, name: str, base: int | None, *, start_at: When = None) -> Change:
    """Ask for the script before the failing one; when the cluster runs with it, the nodes take jobs again: those that
    are still out for the same reason by then. Raises Conflict, and what `clusters.changes.propose` raises."""
    failure = failure_of(door.cluster, name)
    if failure.is_past:
        raise Conflict("The script that failed is no longer in force.", "Resume the nodes.")
    resumes: Mapping[str, str] = {node.name: node.reason for node in failure.nodes}
    return changes.propose(
        door.cluster,
        reverting(door.cluster, failure).after,
        base=base,
        by=door.membership,
        summary=_summary(failure),
        start_at=start_at,
        resumes=resumes,
    )


def _summary(failure: Failure) -> str:
    back = f"back to {failure.version_before}" if failure.before else "taken away"
    count = len(failure.nodes)
    return f"{failure.about.title}: {back}, and {count} node{'s' if count != 1 else ''} resumed"


def _failure(cluster: Cluster, hook: Hook, nodes: tuple[Node, ...]) -> Failure:
    now = script_of(cluster.spec.scripts, hook)
    before, since = "", None
    done = cluster.changes.filter(status=ChangeStatus.COMMITTED, revision__isnull=False)
    for change in done.select_related("base").order_by("-number"):
        before = script_of(change.base.parsed.scripts, hook) if change.base else ""
        if before != now:
            since = change.begun_at
            break
    is_past = not now or all(since and node.reason_at and node.reason_at < since for node in nodes)
    return Failure(hook, nodes, now, before, is_past)
