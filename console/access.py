"""Teams a person may see, and the action that each route declares.

A route without a declared action is a fault: `tests/test_doors.py` walks the URLconf and fails on one. Fetching and
authorising are one call: not a member is Missing (404), a member whose role does not reach is Forbidden (403).
"""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from console import refusals
from console.errors import Forbidden, Missing
from console.models import Membership, Team, User
from console.roles import SCOPE_OF, Action, Role, Scope, covers, least_role, may

P = ParamSpec("P")
R = TypeVar("R", bound=HttpResponseBase)
PUBLIC = "public"
SIGNED_IN = "signed in"
STAFF = "platform staff"


def membership_for(user: User | AnonymousUser, team: str, action: Action, *, own: bool = False) -> Membership:
    """The person's membership of `team`, if it reaches `action`. One query. A refusal is written down."""
    found = (
        Membership.objects.select_related("team", "user")
        .filter(user_id=user.pk or 0, team__slug=team)
        .first()
    )
    if found is None:
        _note_stranger(user, team, action)
        raise Missing(
            f"There is no team {team} here, or you are not in it.", "Ask a member of the team to add you."
        )
    found.user.token_scopes = getattr(user, "token_scopes", None)
    enter(found, action, own=own)
    return found


def enter(membership: Membership, action: Action, *, own: bool = False, cluster: str = "") -> None:
    """`require` at a door: the refusal is written down."""
    try:
        require(membership, action, own=own)
    except Forbidden as error:
        refusals.note(membership.user, membership.team, action, error.message, cluster=cluster)
        raise


def _note_stranger(user: User | AnonymousUser, slug: str, action: Action) -> None:
    team = Team.objects.filter(slug=slug).first() if user.pk else None
    if team is not None:
        refusals.note(user, team, action, "Not in the team.")


def require(membership: Membership, action: Action, *, own: bool = False) -> None:
    """Raise Forbidden, in a sentence that names the role needed, unless the membership reaches `action`.

    So does the API token that the request came with, if there was one.
    """
    if not may(Role(membership.role), action, own=own):
        raise Forbidden(
            f"To {action.value} you need to be {least_role(action).value} of {membership.team.slug}; "
            f"you are {membership.role}.",
            "An admin or the owner of the team can change your role.",
        )
    if not covers(membership.user.token_scopes, action):
        raise Forbidden(
            f"To {action.value} your API token needs the scope {SCOPE_OF[action].value}.",
            "Make a token with that scope on your profile page.",
        )


def declares(action: Action | str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Mark a view that guards itself (sign-in, team pages) with the action it asks for."""

    def mark(view: Callable[P, R]) -> Callable[P, R]:
        view.action = action  # type: ignore[attr-defined]
        return view

    return mark


def team_view(
    action: Action,
) -> Callable[[Callable[Concatenate[HttpRequest, Membership, P], R]], Callable[..., R]]:
    """Give the view the person's membership instead of the team's slug."""

    def decorate(
        view: Callable[Concatenate[HttpRequest, Membership, P], R],
    ) -> Callable[..., R]:
        @declares(action)
        @wraps(view)
        def guarded(request: HttpRequest, team: str, *args: P.args, **kwargs: P.kwargs) -> R:
            return view(request, membership_for(request.user, team, action), *args, **kwargs)

        return guarded

    return decorate


def require_staff(user: User | AnonymousUser) -> User:
    """The person, if they are platform staff. Raises Forbidden."""
    if not isinstance(user, User) or not user.is_staff:
        why = "This is for platform staff."
        refusals.note(user, None, "platform pages", why)
        raise Forbidden(why, "Somebody who is can do it for you, or let you in on the admin site.")
    if user.token_scopes is not None and Scope.ADMIN not in user.token_scopes:
        raise Forbidden("This needs an API token with the scope admin.", "Make one on your profile page.")
    return user


def staff_view(
    view: Callable[Concatenate[HttpRequest, User, P], R],
) -> Callable[..., R]:
    """Give the view the person, who is platform staff."""

    @declares(STAFF)
    @wraps(view)
    def guarded(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> R:
        return view(request, require_staff(request.user), *args, **kwargs)

    return guarded


def teams_of(user: User | AnonymousUser) -> list[Team]:
    return list(Team.objects.filter(memberships__user_id=user.pk or 0).order_by("slug"))
