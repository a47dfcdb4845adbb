"""The one door to a cluster: pages, the API, sockets and tasks all come through `cluster_for`."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.contrib.auth.models import AnonymousUser
from django.db.models import OuterRef, Subquery
from django.http import HttpRequest, HttpResponse

from clusters.lifecycle import Status
from clusters.models import Cluster, Grant
from console.access import declares, enter, membership_for, require, why_not
from console.errors import Missing
from console.models import Membership, User
from console.roles import Action, Role, covers, may

P = ParamSpec("P")


class Door:
    """What a person holds after the door opened: the cluster, their membership, and what else they may do there.

    `role` is what they are on this cluster: what they are in the team, or what they were given here if that is more.
    """

    def __init__(self, cluster: Cluster, membership: Membership, granted: Role | None = None) -> None:
        self.cluster = cluster
        self.membership = membership
        self.role = max(Role(membership.role), granted or Role.VIEWER, key=lambda role: role.rank)

    def may(self, action: Action, *, own: bool = False) -> bool:
        is_covered = covers(self.membership.user.token_scopes, action)
        return is_covered and may(self.role, action, own=own)

    def require(self, action: Action, *, own: bool = False) -> None:
        """Raises Forbidden."""
        require(self.membership, action, own=own, role=self.role)

    def why_not(self, action: Action) -> str:
        """What stands at a button that the person may not press; empty when they may."""
        return why_not(self.membership, action, role=self.role)

    @property
    def can(self) -> dict[str, bool]:
        """For templates: `door.can.change_cluster`."""
        return {action.name.lower(): self.may(action) for action in Action}

    @property
    def why(self) -> dict[str, str]:
        """For templates, beside `can`: `door.why.submit_job` is what stands at the button."""
        return {action.name.lower(): self.why_not(action) for action in Action}


def cluster_for(user: User | AnonymousUser, team: str, slug: str, action: Action) -> Door:
    """The cluster, if `user` may do `action` on it. Missing comes before Forbidden: absent and hidden look alike."""
    membership = membership_for(user, team, Action.VIEW)
    granted = Grant.objects.filter(cluster=OuterRef("pk"), membership=membership.pk or 0).values("role")
    cluster = (
        Cluster.objects.select_related("team", "region", "revision")
        .annotate(granted=Subquery(granted[:1]))
        .filter(team=membership.team, slug=slug)
        .exclude(status=Status.DELETED)
        .first()
    )
    if cluster is None:
        raise Missing(
            f"There is no cluster {slug} in team {team}.",
            "It may have been deleted; the team's list shows all.",
        )
    door = Door(cluster, membership, Role(cluster.granted) if cluster.granted else None)
    enter(membership, action, role=door.role, cluster=cluster.slug)
    return door


def asked_again(cluster: Cluster, user: User | AnonymousUser, action: Action) -> Door:
    """The door of a cluster at hand, by the rights as they are now. Raises Missing or Forbidden."""
    membership = membership_for(user, cluster.team.slug, Action.VIEW)
    granted = Grant.objects.filter(cluster=cluster, membership=membership.pk or 0)
    role = granted.values_list("role", flat=True).first()
    door = Door(cluster, membership, Role(role) if role else None)
    enter(membership, action, role=door.role, cluster=cluster.slug)
    return door


def cluster_view(
    action: Action,
) -> Callable[[Callable[Concatenate[HttpRequest, Door, P], HttpResponse]], Callable[..., HttpResponse]]:
    """Give the view an open Door instead of the two slugs."""

    def decorate(
        view: Callable[Concatenate[HttpRequest, Door, P], HttpResponse],
    ) -> Callable[..., HttpResponse]:
        @declares(action)
        @wraps(view)
        def guarded(
            request: HttpRequest, team: str, cluster: str, *args: P.args, **kwargs: P.kwargs
        ) -> HttpResponse:
            return view(request, cluster_for(request.user, team, cluster, action), *args, **kwargs)

        return guarded

    return decorate
