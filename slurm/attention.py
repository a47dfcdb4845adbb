"""What needs a look on a cluster, from rows: nodes that are out, services that are down, jobs that cannot run."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q, QuerySet
from django.utils import timezone

from clusters.models import Cluster, Node
from clusters.nodes import Health
from console.words import count
from slurm.conf import parse
from slurm.drains import Drain, Owner, drain_owner
from slurm.models import Job
from slurm.scripts.failures import failures

MOST = 8
# Seconds that a node may be silent before Slurm says it is down (man slurm.conf, SlurmdTimeout), where the file names
# none or says for ever. A node that was silent when the controller started has as long to answer.
DEFAULT_TIMEOUT_S = 300
# What the watcher needs to see the end of that.
LATE_S = 10
# Reasons that no waiting will end by itself (squeue's REASON; man squeue, JOB REASON CODES).
NEVER = (
    "DependencyNeverSatisfied",
    "PartitionConfig",
    "PartitionNodeLimit",
    "PartitionTimeLimit",
    "BadConstraints",
    "InvalidAccount",
    "InvalidQOS",
    "AccountNotAllowed",
    "QOSNotAllowed",
    "launch failed requeued held",
)


@dataclass(frozen=True)
class Look:
    """`about` is the thing's name, `text` what is wrong and what to do; `node`, `job` or `page`, a route of the
    cluster's, is what to open. `since` is when that began of which the text tells, where it counts."""

    tone: str
    about: str
    text: str
    node: str = ""
    job: str = ""
    page: str = ""
    since: datetime | None = None


def looks_of(cluster: Cluster) -> list[Look]:
    """Worst first, at most `MOST`."""
    silent = _still_silent(cluster)
    found = [*_scripts(cluster), *_parts(cluster), *silent, *_nodes(cluster), *_jobs(cluster)]
    return sorted(found, key=lambda look: look.tone != "bad")[:MOST]


def _scripts(cluster: Cluster) -> Iterator[Look]:
    for failure in failures(cluster):
        nodes = count(len(failure.nodes), "node")
        what = "Resume what it drained." if failure.is_past else "Revert it and resume them."
        yield Look(
            "bad", failure.about.title, f"Failed on {nodes}, which Slurm drained. {what}", page="scripts"
        )


def _parts(cluster: Cluster) -> Iterator[Look]:
    for part in cluster.parts:
        if part.get("state") == "down" and part.get("kind") != "worker":
            detail = part.get("detail") or "It is being started again."
            yield Look("bad", f"{part['kind']} {part['name']}".strip(), f"Is down. {detail}")


def _still_silent(cluster: Cluster) -> Iterator[Look]:
    """After a start of the controller: nodes that it has not heard of yet, and that have time left to answer."""
    if (since := _controller_start(cluster)) and (number := _silent(cluster).count()):
        has = "has" if number == 1 else "have"
        text = f"{count(number, 'node')} {has} not answered yet. Nothing is to be done about that so far."
        yield Look("busy", "Controller restarted", text, page="nodes", since=since)


def _controller_start(cluster: Cluster) -> datetime | None:
    """When the controller came up, while its nodes may still be silent because of that."""
    moments = [part.get("since") for part in cluster.parts if part.get("kind") == "controller"]
    since = max((datetime.fromisoformat(moment) for moment in moments if moment), default=None)
    allowed = timedelta(seconds=_node_timeout_s(cluster) + LATE_S)
    return since if since and timezone.now() - since < allowed else None


def _node_timeout_s(cluster: Cluster) -> int:
    typed = parse(cluster.spec.slurm_conf).get("SlurmdTimeout") or ""
    return int(typed) if typed.isdigit() and int(typed) else DEFAULT_TIMEOUT_S


def _silent(cluster: Cluster) -> QuerySet[Node]:
    """Those that are unknown or marked as silent (`idle*`), and of which nobody has said why they are down."""
    unheard = Q(health=Health.UNKNOWN) | Q(state__endswith="*") | Q(state__startswith="down")
    return cluster.nodes.filter(unheard).exclude(state__startswith="down", reason__gt="")


def _nodes(cluster: Cluster) -> Iterator[Look]:
    out = cluster.nodes.filter(health__in=[Health.DOWN, Health.DRAINING, Health.UNKNOWN])
    if _controller_start(cluster):
        out = out.exclude(pk__in=_silent(cluster))
    for node in out.order_by("health", "group", "ordinal")[: MOST + 1]:
        drain = drain_owner(node.reason, node.reason_by)
        why = f"{drain.why} ({drain.by}). " if node.reason else ""
        if node.health == Health.DRAINING:
            left = _left(node, drain)
            yield Look("warn", str(node), f"{node.state.capitalize()}: {why}{left}", node=node.name)
        else:
            yield Look(
                "bad", str(node), f"{node.state.capitalize()}: {why}Reboot it, then resume.", node=node.name
            )


def _left(node: Node, drain: Drain) -> str:
    """What becomes of a drained node, or what somebody has to do."""
    if drain.owner in (Owner.CONSOLE, Owner.OPERATOR):
        return "This goes on by itself."
    if node.gpus_allocated or node.cpus_allocated:
        return "Jobs on it go on; it takes no new one."
    return "Nothing runs on it any more. Resume it when it is fit again."


def _jobs(cluster: Cluster) -> Iterator[Look]:
    stuck = cluster.jobs.filter(is_finished=False, state__iexact="PENDING", reason__in=NEVER)
    for job in stuck.order_by("submit_at")[:MOST]:
        yield Look("idle", f"Job {job.job_id}, {job.user}", _why(job), job=job.key)


def _why(job: Job) -> str:
    return job.why or f"Waits for {job.reason}, which will not come by itself."
