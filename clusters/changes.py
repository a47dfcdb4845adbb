"""Asking for a change: every act that turns what a person wants into a Change row.

Each asks the role and the lifecycle again, whoever calls; does everything in one transaction with the
cluster's row locked (`clusters.locks`); and enqueues on commit. What happens to a change
afterwards is `clusters.run`; what people say to it then, `clusters.answers`.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime

from django.db import IntegrityError, transaction
from django.utils import timezone

from clusters import rolling
from clusters.acts import Delete, Edit, Reapply, Terminate
from clusters.along import take_along
from clusters.conflicts import StaleBase
from clusters.diff import diff, sentence
from clusters.impacts import promise
from clusters.inventory import inventory_problems, most_nodes
from clusters.lifecycle import Status, Step
from clusters.login_people import first_logins
from clusters.machine import ChangeStatus, Kind
from clusters.models import Change, Cluster, Region, Revision
from clusters.mountable import volume_problems
from clusters.opening import authorise, locked_for, make_room, open_change, revise, settled
from clusters.rolling import Course, act_of_course, title
from clusters.schedule import ASKS, ENTERS, STEPS, withdraw
from clusters.spec import ClusterSpec
from clusters.validate import validate
from clusters.when import When
from console.access import membership_for
from console.errors import Conflict, Missing, Problem, Rejected
from console.models import Membership, Team
from console.roles import Action

ENDS: dict[Kind, type[Terminate | Delete]] = {Kind.TERMINATE: Terminate, Kind.DELETE: Delete}


def propose(
    cluster: Cluster,
    new_spec: ClusterSpec,
    *,
    base: int | None,
    by: Membership,
    kind: Kind = Kind.EDIT,
    summary: str | None = None,
    force: bool = False,
    start_at: When = None,
    resumes: Mapping[str, str] | None = None,
) -> Change:
    """Ask for `new_spec`. `base` is the number of the revision the person looked at; `force` ends jobs that the
    platform would otherwise wait for; `start_at` is when it is to begin; `resumes` are drained nodes that
    take jobs again once it holds, by the reason that they have now. What is about who signs in alone is taken along by
    a change that waits (`clusters.along`): the answer is that one.

    Raises Forbidden, Conflict (not now), StaleBase, Busy, or Rejected with every problem found.
    """
    authorise(cluster, by, Action.CHANGE_CLUSTER)
    with transaction.atomic():
        cluster = locked_for(cluster, Step.CHANGE)
        before, words = _compared(cluster, new_spec, base)
        if start_at is None and (taken := take_along(cluster, new_spec, by=by)):
            return taken
        make_room(cluster, kind, by, start_at)
        impact = promise(cluster, Edit(before, new_spec, force))
        start_at = settled(cluster, kind, by, start_at, impact)
        return open_change(
            cluster,
            kind,
            by,
            summary or words,
            revision=revise(cluster, new_spec, by.user),
            force=force,
            impact=impact,
            start_at=start_at,
            resumes=resumes,
        )


def _compared(cluster: Cluster, new_spec: ClusterSpec, base: int | None) -> tuple[ClusterSpec, str]:
    """What is current, and what `new_spec` changes of it in words. Raises Conflict, Rejected or StaleBase."""
    current = cluster.revision
    if current is None:
        raise Conflict(f"{cluster.slug} has no revision to change yet.", "Wait until it is Running.")
    before = current.parsed
    refuse(cluster.team, cluster.region, new_spec, before=before)
    if base != current.number:
        raise _stale(cluster, base, current, new_spec)
    changes = diff(before, new_spec)
    if not changes:
        raise Rejected("This changes nothing: the cluster is already so.")
    return before, sentence(changes)


def create_cluster(team: Team, region: Region, spec: ClusterSpec, *, by: Membership) -> Cluster:
    """A new cluster of `team`, Creating. Raises Forbidden, or Rejected with every problem found."""
    membership_for(by.user, team.slug, Action.CREATE_CLUSTER)
    taken = frozenset(team.clusters.exclude(status=Status.DELETED).values_list("slug", flat=True))
    try:
        with transaction.atomic():
            if spec.logins.on and not spec.logins.users:
                spec = spec.with_logins(first_logins(team, spec.logins))
            refuse(team, region, spec, taken=taken)
            cluster = Cluster.objects.create(team=team, region=region, slug=spec.name)
            revision = revise(cluster, spec, by.user)
            open_change(cluster, Kind.CREATE, by, f"Create {spec.name}", revision=revision)
    except IntegrityError as error:
        name = Problem("name", f"The team already has a cluster {spec.name}.", "Choose another name.")
        raise Rejected(f"{spec.name} cannot be created.", (name,)) from error
    return cluster


def rollback_to(
    cluster: Cluster, number: int, *, base: int | None, by: Membership, start_at: When = None
) -> Change:
    """Ask for an earlier revision's spec as a new revision. Raises Missing, and what `propose` raises."""
    earlier = cluster.revisions.filter(number=number).first()
    if earlier is None:
        raise Missing(f"{cluster.slug} has no revision {number}.", "The Changes page lists them all.")
    summary = f"Back to revision {number}"
    return propose(cluster, restored(cluster, earlier), base=base, by=by, summary=summary, start_at=start_at)


def restored(cluster: Cluster, earlier: Revision) -> ClusterSpec:
    """What going back to a revision means: everything but who signs in. A login or a key that was taken away since must
    not come back by the way."""
    return earlier.parsed.with_logins(cluster.spec.logins)


def propose_unasked(cluster: Cluster, after: ClusterSpec) -> Change:
    """Ask for `after` on nobody's behalf, for `clusters.follow`: the cluster is locked, and no change is live. In its
    transaction. Raises Rejected."""
    before = cluster.spec
    # What was wrong already, as when the region takes fewer nodes by now, is no reason to leave a key where it was.
    known = set(_problems(cluster.team, cluster.region, before, before))
    found = _problems(cluster.team, cluster.region, after, before)
    _require_none(after, tuple(problem for problem in found if problem not in known))
    revision = revise(cluster, after, None)
    impact = promise(cluster, Edit(before, after))
    return open_change(
        cluster, Kind.EDIT, None, sentence(diff(before, after)), revision=revision, impact=impact
    )


def reconfigure(cluster: Cluster, *, by: Membership, start_at: When = None) -> Change:
    """Render and apply again what the cluster should already be; a creation is tried again now. Raises Forbidden or
    Conflict."""
    authorise(cluster, by, Action.CHANGE_CLUSTER)
    with transaction.atomic():
        cluster = locked_for(cluster, Step.RECONFIGURE)
        kind = Kind.RECONFIGURE if cluster.revision else Kind.CREATE
        start_at = start_at if kind is Kind.RECONFIGURE else None
        make_room(cluster, kind, by, start_at)
        revision = cluster.revision or cluster.revisions.latest("number")
        if kind is Kind.CREATE:
            cluster.enter(Status.CREATING)
        impact = promise(cluster, Reapply(revision.parsed)) if kind is Kind.RECONFIGURE else None
        start_at = settled(cluster, kind, by, start_at, impact)
        words = f"Apply revision {revision.number} again"
        return open_change(cluster, kind, by, words, revision=revision, impact=impact, start_at=start_at)


def restart(
    cluster: Cluster,
    targets: Sequence[str],
    *,
    by: Membership,
    at_once: int = 0,
    when_idle: bool = False,
    start_at: datetime | None = None,
) -> Change:
    """Start one service or these nodes anew, in this order, `at_once` of them at a time (0: all), now or at a time;
    `when_idle`, each when its jobs have ended. It makes no revision.

    Raises Forbidden, Conflict, Busy, Missing for what is not there, or Rejected at `at_once` or `start_at`.
    """
    authorise(cluster, by, Action.RESTART_CLUSTER)
    with transaction.atomic():
        cluster = locked_for(cluster, Step.RESTART)
        make_room(cluster, Kind.RESTART, by, start_at)
        course = _course(cluster, targets, at_once, when_idle=when_idle)
        impact = promise(cluster, act_of_course(course, cluster.spec))
        words = title(course)
        return open_change(
            cluster,
            Kind.RESTART,
            by,
            words,
            revision=None,
            impact=impact,
            start_at=start_at,
            course=rolling.to_json(course),
        )


def _course(cluster: Cluster, targets: Sequence[str], at_once: int, *, when_idle: bool) -> Course:
    names = tuple(dict.fromkeys(targets))
    known = {*rolling.SERVICES} if len(names) == 1 else set()
    if unknown := [name for name in names if name not in known and name not in cluster.spec.node_names]:
        raise Missing(f"{cluster.slug} has no {', '.join(unknown)[:100]} to restart.")
    if not names or not 0 <= at_once <= len(names):
        wrong = Problem(
            "at_once", f"Choose 1 to {len(names)} at a time.", "All at once is as many as there are."
        )
        raise Rejected("Nothing was restarted.", (wrong,))
    return Course(names, at_once or len(names), when_idle)


def terminate(cluster: Cluster, *, by: Membership, start_at: When = None) -> Change:
    """Stop everything; the record and the volumes stay. Raises Forbidden or Conflict."""
    return _end(cluster, Kind.TERMINATE, by, start_at)


def delete(cluster: Cluster, *, by: Membership, start_at: When = None) -> Change:
    """Remove what is left of a terminated or failed cluster. Raises Forbidden or Conflict."""
    return _end(cluster, Kind.DELETE, by, start_at)


def _end(cluster: Cluster, kind: Kind, by: Membership, start_at: When) -> Change:
    authorise(cluster, by, ASKS[kind])
    with transaction.atomic():
        cluster = locked_for(cluster, STEPS[kind])
        impact = promise(cluster, ENDS[kind](cluster.spec))
        make_room(cluster, kind, by, start_at)
        start_at = settled(cluster, kind, by, start_at, impact)
        words = f"{kind.value.capitalize()} {cluster.slug}"
        if start_at is None:
            for scheduled in cluster.changes.filter(status=ChangeStatus.SCHEDULED):
                why = f"{by.user.username} asked to {kind} the cluster."
                withdraw(scheduled, why, timezone.now(), status=ChangeStatus.STOPPED)
            cluster.enter(ENTERS[kind])
        return open_change(cluster, kind, by, words, revision=None, impact=impact, start_at=start_at)


def _stale(cluster: Cluster, base: int | None, current: Revision, new_spec: ClusterSpec) -> Conflict:
    seen = cluster.revisions.filter(number=base).first() if base is not None else None
    if seen is None:
        return Conflict(
            f"{cluster.slug} has no revision {base}; revision {current.number} is current.",
            "Say which revision the change starts from.",
        )
    return StaleBase(seen, current, diff(seen.parsed, current.parsed), diff(seen.parsed, new_spec))


def refuse(
    team: Team,
    region: Region,
    spec: ClusterSpec,
    *,
    before: ClusterSpec | None = None,
    taken: Collection[str] = (),
) -> None:
    """Raise Rejected if anything is wrong with `spec`."""
    _require_none(spec, tuple(_problems(team, region, spec, before, taken)))


def _problems(
    team: Team, region: Region, spec: ClusterSpec, before: ClusterSpec | None, taken: Collection[str] = ()
) -> Iterator[Problem]:
    if before and before.name != spec.name:
        yield Problem("name", f"A cluster keeps its name: {before.name}.")
    yield from validate(spec, taken=taken, most_nodes=most_nodes(region))
    yield from inventory_problems(region, spec, before)
    yield from volume_problems(team, region, spec, before)
    yield from _login_problems(region, spec)


def _require_none(spec: ClusterSpec, problems: tuple[Problem, ...]) -> None:
    if any(problem.blocking for problem in problems):
        raise Rejected(f"{spec.name} cannot be made so: {problems[0].message}", problems)


def _login_problems(region: Region, spec: ClusterSpec) -> Iterator[Problem]:
    """The platform's own reason, where it has none."""
    if spec.logins.on and (why := region.platform.logins().why_not):
        yield Problem("logins.on", f"{region.slug} has no login users. {why}")
