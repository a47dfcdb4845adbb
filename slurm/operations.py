"""What people do to nodes and jobs at once: one direct call each, audited, no revision.

The one place where a person's wish becomes a Slurm command. Each asks the door for the right (a member's own jobs
count), asks whether the cluster's status allows it, checks names and ids, calls, and writes an event whether it was
done, refused or failed. Blocking (10 s at most, a reboot longer); raises ConsoleErrors only. Called by pages and the
API, outside of any transaction.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from django.utils import timezone

from clusters import identities, lasting
from clusters.access import Door
from clusters.lifecycle import Status, Step, refusal
from clusters.nodes import Health
from console import events
from console.errors import Conflict, ConsoleError, Forbidden, Missing, Problem, Rejected
from console.roles import Action
from console.words import listed
from slurm.client import Slurm
from slurm.drains import Owner, drain_owner
from slurm.jobs.ids import key_of, number, valid
from slurm.models import Job, Submission

MOST_AT_ONCE = 1000
MOST_SCRIPT_BYTES = 2**20
MOST_REASON = 200
T = TypeVar("T")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def drain(door: Door, nodes: Sequence[str], reason: str) -> None:
    """No new jobs on these nodes; running ones go on. Slurm keeps the reason with the person's name."""
    why = _reason(reason)
    text = f"{why} (by {door.membership.user.username})"

    def act() -> None:
        _slurm(door).drain(_known_nodes(door, nodes), text)

    perform(door, "node.drain", nodes, Action.OPERATE_NODE, act, {"reason": why})


def resume(door: Door, nodes: Sequence[str]) -> None:
    """Give nodes back to the scheduler."""
    perform(
        door,
        "node.resume",
        nodes,
        Action.OPERATE_NODE,
        lambda: _slurm(door).resume(_known_nodes(door, nodes)),
    )


def reboot(door: Door, nodes: Sequence[str], *, when_idle: bool = False) -> None:
    """Restart these nodes: their local files are lost, and now, one after the other, their jobs end too; `when_idle`
    each restarts by itself when its jobs have ended, and is drained until then."""

    def act() -> None:
        provisioner = door.cluster.provisioner
        names = _known_nodes(door, nodes)
        if when_idle:
            _refuse_drained(door, names)
        begun = timezone.now()
        for name in names:
            provisioner.restart(name, lambda sentence: None, when_idle=when_idle)
        if not when_idle:
            lasting.begin(door.cluster, "reboot", names, at=begun)

    perform(door, "node.reboot", nodes, Action.OPERATE_NODE, act, {"when": "idle" if when_idle else "now"})


def cancel(door: Door, job_ids: Sequence[str]) -> None:
    _control(door, "job.cancel", job_ids, lambda slurm, ids: slurm.cancel(ids))


def hold(door: Door, job_ids: Sequence[str]) -> None:
    """Keep waiting jobs from starting until they are released."""
    _control(door, "job.hold", job_ids, lambda slurm, ids: slurm.hold(ids))


def release(door: Door, job_ids: Sequence[str]) -> None:
    _control(door, "job.release", job_ids, lambda slurm, ids: slurm.release(ids))


def requeue(door: Door, job_ids: Sequence[str]) -> None:
    """Start over: running jobs lose what they did not save."""
    _control(door, "job.requeue", job_ids, lambda slurm, ids: slurm.requeue(ids))


def submit(door: Door, script: str, options: Sequence[str] = ()) -> int:
    """Submit a batch script; the job's number, which is the person's from now on. It runs as their login user where the
    cluster has such. Raises NoLogin for who has none there.

    `options` are sbatch's own and come from code, never from a form: a person's options are the script's `#SBATCH`
    lines.
    """

    def act() -> int:
        login = identities.login_of(door.cluster, door.membership.user)
        job = Slurm(door.cluster.provisioner.executor(login)).submit(_script(script), options)
        Submission.objects.create(cluster=door.cluster, number=job, by=door.membership.user)
        return job

    return perform(door, "job.submit", (), Action.SUBMIT_JOB, act)


def is_own(door: Door, job_ids: Sequence[str]) -> bool:
    """Whether every one of these jobs is the person's: submitted through the console, or run by a Slurm user who is
    linked to them. At most four queries.

    22.05 gives numbers out again: of two jobs with one number a Submission can only mean the newer one if it is younger
    than the older job.
    """
    newest: dict[int, Submission] = {}
    for submission in Submission.objects.filter(
        cluster=door.cluster, number__in={number(job_id) for job_id in job_ids}
    ).order_by("pk"):
        newest[submission.number] = submission
    earlier = _earlier_lives(door, job_ids)
    linked = _run_by_linked_users(door, job_ids)
    return all(
        job_id in linked
        or (mine := newest.get(number(job_id))) is not None
        and mine.by_id == door.membership.user_id
        and (job_id not in earlier or mine.at > earlier[job_id])
        for job_id in job_ids
    )


def _run_by_linked_users(door: Door, job_ids: Sequence[str]) -> frozenset[str]:
    """Those whose newest record says one of the person's Slurm users."""
    users = identities.slurm_users_of(door.membership.team_id, door.membership.user_id)
    if not users:
        return frozenset()
    keys = {job_id: key_of(job_id) for job_id in job_ids}
    newest = Job.objects.filter(cluster=door.cluster, key__in=set(keys.values()))
    runs_as = dict(newest.order_by("key", "-submit_at").distinct("key").values_list("key", "user"))
    return frozenset(job_id for job_id, key in keys.items() if runs_as.get(key) in users)


def _earlier_lives(door: Door, job_ids: Sequence[str]) -> Mapping[str, datetime]:
    """For ids that two jobs had: a minute after the older one was submitted, by which its Submission was written."""
    lives: dict[str, list[datetime]] = {}
    keys = {key_of(job_id) for job_id in job_ids}
    rows = Job.objects.filter(cluster=door.cluster, key__in=keys).order_by("-submit_at")
    for key, submitted in rows.values_list("key", "submit_at"):
        lives.setdefault(key, []).append(submitted + timedelta(minutes=1))
    return {job_id: found[1] for job_id in job_ids if len(found := lives.get(key_of(job_id), [])) > 1}


def _control(
    door: Door, verb: str, job_ids: Sequence[str], act: Callable[[Slurm, Sequence[str]], None]
) -> None:
    ids = [valid(job_id) for job_id in job_ids]
    _some(ids, "job")
    own = is_own(door, ids)
    perform(door, verb, ids, Action.CONTROL_JOB, lambda: act(_slurm(door), ids), own=own)


def perform(
    door: Door,
    verb: str,
    targets: Sequence[str],
    action: Action,
    act: Callable[[], T],
    detail: Mapping[str, object] | None = None,
    *,
    own: bool = False,
    step: Step = Step.OPERATE,
) -> T:
    """Rights, status, the call, the event. The event of a refusal says by what it was refused.

    For the operations here and in `slurm.restarts`; `step` is what the cluster's status must allow.
    """
    try:
        door.require(action, own=own)
        why_not = refusal(Status(door.cluster.status), step)
        if why_not:
            raise Conflict(why_not, "See the cluster's page for what it is waiting for.")
        done = act()
    except ConsoleError as error:
        outcome = "refused" if isinstance(error, Forbidden | Conflict | Rejected) else "failed"
        _record(door, verb, targets, {**(detail or {}), "error": error.message}, outcome)
        raise
    _record(door, verb, targets or [str(done)], detail or {}, "done")
    return done


def _record(
    door: Door, verb: str, targets: Sequence[str], detail: Mapping[str, object], outcome: str
) -> None:
    """All targets are kept in the detail; the event's own field holds what a list shows."""
    shown = ", ".join(targets[:5]) + (f" and {len(targets) - 5} more" if len(targets) > 5 else "")
    events.record(
        verb,
        by=door.membership.user,
        team=door.cluster.team,
        cluster=door.cluster.slug,
        target=shown,
        outcome=outcome,
        detail={**detail, **({"all": list(targets)} if len(targets) > 5 else {})},
    )


def _refuse_drained(door: Door, names: Sequence[str]) -> None:
    """A node that waits for its restart keeps the reason for that in place of its own, so it would be forgotten why it
    was drained."""
    drained = door.cluster.nodes.filter(name__in=names, health=Health.DRAINING).exclude(reason="")
    if held := [
        node for node in drained if drain_owner(node.reason, node.reason_by).owner is not Owner.CONSOLE
    ]:
        names = [node.name for node in held]
        raise Conflict(
            f"{listed(names)} {'is' if len(names) == 1 else 'are'} drained already.",
            "No new job starts there: reboot now once the running ones have ended, or resume first.",
        )


def _slurm(door: Door) -> Slurm:
    return Slurm(door.cluster.provisioner.executor())


def _known_nodes(door: Door, names: Sequence[str]) -> list[str]:
    """The names, if all are nodes of this cluster: `ALL`, sets and ranges would mean more than what was confirmed."""
    _some(names, "node")
    known = set(door.cluster.nodes.filter(name__in=names).values_list("name", flat=True))
    unknown = [name for name in names if name not in known]
    if unknown:
        raise Missing(
            f"{door.cluster.slug} has no node {', '.join(unknown)[:100]}.",
            "The cluster may have been scaled down.",
        )
    return list(dict.fromkeys(names))


def _some(names: Sequence[str], noun: str) -> None:
    if not names or len(names) > MOST_AT_ONCE:
        chosen = f"Choose between 1 and {MOST_AT_ONCE} {noun}s; {len(names)} are chosen."
        raise Rejected("Nothing was done.", (Problem(f"{noun}s", chosen),))


def _reason(text: str) -> str:
    """One line, with nothing in it that Slurm or a terminal would take for more than text."""
    reason = " ".join(_CONTROL.sub(" ", text).split())
    if not reason:
        missing = "Say why: the reason is shown wherever the node is."
        raise Rejected("Nothing was done.", (Problem("reason", missing, "For example: XID 79 on GPU 2."),))
    if len(reason) > MOST_REASON:
        long = f"The reason has {len(reason)} characters; at most {MOST_REASON} are kept."
        raise Rejected("Nothing was done.", (Problem("reason", long),))
    return reason


def _script(text: str) -> str:
    """With Unix line ends, as browsers do not send them and sbatch insists on them."""
    script = text.replace("\r\n", "\n")
    if "\0" in script or len(script.encode("utf-8", "replace")) > MOST_SCRIPT_BYTES:
        rule = f"A script is text of at most {MOST_SCRIPT_BYTES >> 20} MiB."
        raise Rejected("Nothing was submitted.", (Problem("script", rule),))
    return script
