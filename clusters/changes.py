"""Asking for a change: every act that turns what a person wants into a Change row.

Each asks the role and the lifecycle again, whoever calls; does everything in one transaction with the
cluster's row locked (the only row lock of this app); and enqueues on commit. What happens to a change
afterwards is `clusters.run`.
"""

from collections.abc import Collection

from django.db import IntegrityError, transaction
from django.db.models import Max
from django.utils import timezone

from clusters import spec as specs
from clusters.diff import FieldChange, diff, sentence
from clusters.inventory import inventory_problems, most_nodes
from clusters.lifecycle import Status, Step, refusal
from clusters.machine import CANCELLABLE, LIVE, ChangeStatus, Kind, gives_way
from clusters.models import Change, Cluster, Region, Revision
from clusters.show import show_change
from clusters.spec import ClusterSpec
from clusters.tasks import apply_change
from clusters.validate import validate
from console import events
from console.access import membership_for
from console.errors import Conflict, Missing, Problem, Rejected
from console.models import Membership, Team
from console.roles import Action


class StaleBase(Conflict):
    """The form was opened on a revision that is no longer current. Both diffs are from that revision."""

    code = "stale-base"

    def __init__(
        self,
        base: Revision,
        current: Revision,
        theirs: tuple[FieldChange, ...],
        yours: tuple[FieldChange, ...],
    ) -> None:
        super().__init__(
            f"Revision {current.number} became current while you worked on revision {base.number}"
            f" ({sentence(theirs)}).",
            "Compare the two, then make your change again on the current revision.",
        )
        self.base, self.current, self.theirs, self.yours = base, current, theirs, yours


class Busy(Conflict):
    """Another change of the cluster is on its way."""

    code = "change-live"

    def __init__(self, live: Change) -> None:
        super().__init__(
            f"Change {live.number} of {live.cluster.slug} is {live.status}: {live.summary}.",
            "One change at a time: wait until it has ended.",
        )
        self.change = live


def propose(
    cluster: Cluster,
    new_spec: ClusterSpec,
    *,
    base: int | None,
    by: Membership,
    kind: Kind = Kind.EDIT,
    summary: str | None = None,
    force: bool = False,
) -> Change:
    """Ask for `new_spec`. `base` is the number of the revision the person looked at; `force` ends jobs that the
    platform would otherwise wait for.

    Raises Forbidden, Conflict (not now), StaleBase, Busy, or Rejected with every problem found.
    """
    _authorise(cluster.team, by, Action.CHANGE_CLUSTER)
    with transaction.atomic():
        cluster = _locked(cluster, Step.CHANGE)
        _give_way(cluster, kind, by)
        current = cluster.revision
        if current is None:
            raise Conflict(f"{cluster.slug} has no revision to change yet.", "Wait until it is Running.")
        if base != current.number:
            raise _stale(cluster, base, current, new_spec)
        before = current.parsed
        _refuse(cluster.region, new_spec, before=before)
        changes = diff(before, new_spec)
        if not changes:
            raise Rejected("This changes nothing: the cluster is already so.")
        revision = _revise(cluster, new_spec, by)
        return _open(cluster, kind, by, summary or sentence(changes), revision=revision, force=force)


def create_cluster(team: Team, region: Region, spec: ClusterSpec, *, by: Membership) -> Cluster:
    """A new cluster of `team`, Creating. Raises Forbidden, or Rejected with every problem found."""
    _authorise(team, by, Action.CREATE_CLUSTER)
    taken = frozenset(team.clusters.exclude(status=Status.DELETED).values_list("slug", flat=True))
    _refuse(region, spec, taken=taken)
    try:
        with transaction.atomic():
            cluster = Cluster.objects.create(team=team, region=region, slug=spec.name)
            revision = _revise(cluster, spec, by)
            _open(cluster, Kind.CREATE, by, f"Create {spec.name}", revision=revision)
    except IntegrityError as error:
        name = Problem("name", f"The team already has a cluster {spec.name}.", "Choose another name.")
        raise Rejected(f"{spec.name} cannot be created.", (name,)) from error
    return cluster


def rollback_to(cluster: Cluster, number: int, *, base: int | None, by: Membership) -> Change:
    """Ask for an earlier revision's spec as a new revision. Raises Missing, and what `propose` raises."""
    earlier = cluster.revisions.filter(number=number).first()
    if earlier is None:
        raise Missing(f"{cluster.slug} has no revision {number}.", "The Changes page lists them all.")
    return propose(cluster, earlier.parsed, base=base, by=by, summary=f"Back to revision {number}")


def reconfigure(cluster: Cluster, *, by: Membership) -> Change:
    """Render and apply again what the cluster should already be. Raises Forbidden or Conflict."""
    _authorise(cluster.team, by, Action.CHANGE_CLUSTER)
    with transaction.atomic():
        cluster = _locked(cluster, Step.RECONFIGURE)
        kind = Kind.RECONFIGURE if cluster.revision else Kind.CREATE
        _give_way(cluster, kind, by)
        revision = cluster.revision or cluster.revisions.latest("number")
        if kind is Kind.CREATE:
            cluster.enter(Status.CREATING)
        return _open(cluster, kind, by, f"Apply revision {revision.number} again", revision=revision)


def cancel(change: Change, *, by: Membership) -> Change:
    """Ask for a live edit to be given up: what it has done is undone. Raises Forbidden, or Conflict when it is over,
    already being undone, or of a kind that cannot be cancelled."""
    cluster = change.cluster
    _authorise(cluster.team, by, Action.CHANGE_CLUSTER)
    with transaction.atomic():
        rows = Change.objects.filter(pk=change.pk, kind=Kind.EDIT, status__in=CANCELLABLE, cancelled_by=None)
        is_done = rows.update(cancelled_by=by.user)
        change.refresh_from_db()
        if not is_done:
            raise Conflict(_why_not_cancelled(change), "Its page shows how it goes on.")
        change.lines.create(text=f"{by.user.username} asked to cancel.", tone="warn")
        _tell(change, "change.cancelled", by)
    return change


def _why_not_cancelled(change: Change) -> str:
    if change.cancelled_by is not None and change.is_live:
        return f"Change {change.number} is being cancelled already."
    if change.is_live and change.kind != Kind.EDIT:
        return f"Change {change.number} is a {change.kind}: there is nothing to go back to."
    return f"Change {change.number} is {change.status}: there is nothing left to cancel."


def terminate(cluster: Cluster, *, by: Membership) -> Change:
    """Stop everything; the record and the volumes stay. Raises Forbidden or Conflict."""
    return _end(cluster, Kind.TERMINATE, by, Action.TERMINATE_CLUSTER, Step.TERMINATE, Status.TERMINATING)


def delete(cluster: Cluster, *, by: Membership) -> Change:
    """Remove what is left of a terminated or failed cluster. Raises Forbidden or Conflict."""
    return _end(cluster, Kind.DELETE, by, Action.DELETE_CLUSTER, Step.DELETE, Status.DELETING)


def _end(cluster: Cluster, kind: Kind, by: Membership, action: Action, step: Step, status: Status) -> Change:
    _authorise(cluster.team, by, action)
    with transaction.atomic():
        cluster = _locked(cluster, step)
        _give_way(cluster, kind, by)
        cluster.enter(status)
        return _open(cluster, kind, by, f"{kind.value.capitalize()} {cluster.slug}", revision=None)


def _authorise(team: Team, by: Membership, action: Action) -> None:
    """By the membership as it is now, not as it was when the page was opened."""
    membership_for(by.user, team.slug, action)


def _locked(cluster: Cluster, step: Step) -> Cluster:
    """The cluster as it is now, locked until the transaction ends. Raises Conflict when its status forbids
    `step`."""
    rows = Cluster.objects.select_for_update(of=("self",)).select_related("team", "region", "revision")
    cluster = rows.get(pk=cluster.pk)
    if why_not := refusal(Status(cluster.status), step):
        raise Conflict(why_not, f"{cluster.slug} is {cluster.status}.")
    return cluster


def _give_way(cluster: Cluster, kind: Kind, by: Membership) -> None:
    """Make room for a new change. Raises Busy unless the live one may be given up for it.

    Its lease is left alone: the worker that holds it notices at its next write, and until then the new one
    waits.
    """
    live = cluster.changes.filter(status__in=LIVE).first()
    if live is None:
        return
    if not gives_way(Kind(live.kind), kind):
        raise Busy(live)
    why = f"Given up: {by.user.username} asked to {'try again' if kind is Kind.CREATE else kind.value}."
    live.status, live.why, live.ended_at = ChangeStatus.FAILED, why, timezone.now()
    live.save(update_fields=["status", "why", "ended_at"])
    live.lines.create(text=why, tone="warn")
    show_change(live)


def _stale(cluster: Cluster, base: int | None, current: Revision, new_spec: ClusterSpec) -> Conflict:
    seen = cluster.revisions.filter(number=base).first() if base is not None else None
    if seen is None:
        return Conflict(
            f"{cluster.slug} has no revision {base}; revision {current.number} is current.",
            "Say which revision the change starts from.",
        )
    return StaleBase(seen, current, diff(seen.parsed, current.parsed), diff(seen.parsed, new_spec))


def _refuse(
    region: Region, spec: ClusterSpec, *, before: ClusterSpec | None = None, taken: Collection[str] = ()
) -> None:
    """Raise Rejected if anything is wrong with `spec`."""
    problems = (
        *(
            [Problem("name", f"A cluster keeps its name: {before.name}.")]
            if before and before.name != spec.name
            else []
        ),
        *validate(spec, taken=taken, most_nodes=most_nodes(region)),
        *inventory_problems(region, spec, before),
    )
    if any(problem.blocking for problem in problems):
        raise Rejected(f"{spec.name} cannot be made so: {problems[0].message}", problems)


def _revise(cluster: Cluster, spec: ClusterSpec, by: Membership) -> Revision:
    newest = cluster.revisions.aggregate(newest=Max("number"))["newest"] or 0
    return cluster.revisions.create(number=newest + 1, spec=specs.to_json(spec), by=by.user)


def _open(
    cluster: Cluster,
    kind: Kind,
    by: Membership,
    summary: str,
    *,
    revision: Revision | None,
    force: bool = False,
) -> Change:
    newest = cluster.changes.aggregate(newest=Max("number"))["newest"] or 0
    change = cluster.changes.create(
        number=newest + 1,
        kind=kind,
        summary=summary[:200],
        base=cluster.revision,
        revision=revision,
        by=by.user,
        force=force,
    )
    change.lines.create(text=f"{by.user.username} asked: {change.summary}.")
    _tell(change, f"change.{ChangeStatus.PROPOSED}", by)
    return change


def _tell(change: Change, verb: str, by: Membership) -> None:
    """Everybody who has to know: the audit trail, open pages, and a worker."""
    events.record(
        verb,
        by=by.user,
        team=change.cluster.team,
        cluster=change.cluster.slug,
        target=f"change {change.number}",
        detail={"kind": change.kind, "summary": change.summary},
    )
    show_change(change)
    # A lost message costs five seconds: `resume_changes` finds what nobody works on.
    transaction.on_commit(lambda: apply_change.apply_async((change.pk,), retry=False), robust=True)
