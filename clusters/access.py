"""The one door to a cluster: pages, the API, sockets and tasks all come through `cluster_for`."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse

from clusters.lifecycle import Status
from clusters.models import Cluster
from console.access import declares, enter, membership_for, require
from console.errors import Missing
from console.models import Membership, User
from console.roles import Action, Role, covers, may

P = ParamSpec("P")


class Door:
    """What a person holds after the door opened: the cluster, their membership, and what else they may do there."""

    def __init__(self, cluster: Cluster, membership: Membership) -> None:
        self.cluster = cluster
        self.membership = membership

    def may(self, action: Action, *, own: bool = False) -> bool:
        is_covered = covers(self.membership.user.token_scopes, action)
        return is_covered and may(Role(self.membership.role), action, own=own)

    def require(self, action: Action, *, own: bool = False) -> None:
        """Raises Forbidden."""
        require(self.membership, action, own=own)

    @property
    def can(self) -> dict[str, bool]:
        """For templates: `door.can.change_cluster`."""
        return {action.name.lower(): self.may(action) for action in Action}


def cluster_for(user: User | AnonymousUser, team: str, slug: str, action: Action) -> Door:
    """The cluster, if `user` may do `action` on it. Missing comes before Forbidden: absent and hidden look alike."""
    membership = membership_for(user, team, Action.VIEW)
    cluster = (
        Cluster.objects.select_related("team", "region", "revision")
        .filter(team=membership.team, slug=slug)
        .exclude(status=Status.DELETED)
        .first()
    )
    if cluster is None:
        raise Missing(
            f"There is no cluster {slug} in team {team}.",
            "It may have been deleted; the team's list shows all.",
        )
    door = Door(cluster, membership)
    enter(membership, action, cluster=cluster.slug)
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
