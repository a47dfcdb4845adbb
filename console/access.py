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
from console.errors import Forbidden, Missing, SecondFactorNeeded
from console.factors import has_second_factor
from console.models import Membership, Team, User
from console.provider_factor import has_come
from console.roles import SCOPE_OF, Action, Role, Scope, covers, least_role, may
from console.words import either

P = ParamSpec("P")
R = TypeVar("R", bound=HttpResponseBase)
PUBLIC = "public"
SIGNED_IN = "signed in"
STAFF = "platform staff"


def membership_for(user: User | AnonymousUser, team: str, action: Action, *, own: bool = False) -> Membership:
    """The person's membership of `team`, if it reaches `action`. One query, two where the team requires a second
    factor. A refusal is written down.
    """
    found = standing_in(team, user)
    if found is None:
        _note_stranger(user, team, action)
        raise Missing(
            f"There is no team {team} here, or you are not in it.", "Ask a member of the team to add you."
        )
    _require_second_factor(found, action)
    enter(found, action, own=own)
    return found


def standing_in(team: str, user: User | AnonymousUser) -> Membership | None:
    """What the person is in `team`, asked without a door: nothing is refused or written down.

    Staff who are members act by their role there. Staff who are not act as owner, and what they do is marked as such;
    with an API token only by its scope admin.
    """
    rows = Membership.objects.select_related("team", "user")
    found = rows.filter(user_id=user.pk or 0, team__slug=team).first() or _as_staff(team, user)
    if found is not None:
        found.user.comes_as(user)
    return found


def _as_staff(slug: str, user: User | AnonymousUser) -> Membership | None:
    if not isinstance(user, User) or not user.is_staff or not covers_staff(user):
        return None
    team = Team.objects.filter(slug=slug).first()
    if team is None:
        return None
    visiting = Membership(team=team, user=user, role=Role.OWNER)
    visiting.as_staff = True
    return visiting


def covers_staff(user: User) -> bool:
    """Whether what the request came with, a session or a token, may be used as platform staff."""
    return user.token_scopes is None or Scope.ADMIN in user.token_scopes


def enter(
    membership: Membership,
    action: Action,
    *,
    own: bool = False,
    role: Role | None = None,
    cluster: str = "",
) -> None:
    """`require` at a door: the refusal is written down."""
    try:
        require(membership, action, own=own, role=role)
    except Forbidden as error:
        refusals.note(membership.user, membership.team, action, error.message, cluster=cluster)
        raise


def may_see(membership: Membership) -> bool:
    """Whether the person has the second factor that the team requires, if it does: here, or where they came from."""
    user = membership.user
    return not membership.team.requires_second_factor or has_come(user) or has_second_factor(user)


def _require_second_factor(membership: Membership, action: Action) -> None:
    if may_see(membership):
        return
    why = f"Team {membership.team.slug} requires a second factor, and you have none."
    refusals.note(membership.user, membership.team, action, why)
    raise SecondFactorNeeded(why, "Set one up on your profile: an authenticator app or a passkey.")


def _note_stranger(user: User | AnonymousUser, slug: str, action: Action) -> None:
    team = Team.objects.filter(slug=slug).first() if user.pk else None
    if team is not None:
        refusals.note(user, team, action, "Not in the team.")


def require(membership: Membership, action: Action, *, own: bool = False, role: Role | None = None) -> None:
    """Raise Forbidden, saying which role is needed and who can give it, unless the membership reaches `action`.

    `role` is what the person is where the action happens, if that is more than what they are in the team. The API token
    that the request came with, if there was one, must reach it too.
    """
    held = role or Role(membership.role)
    if not may(held, action, own=own):
        needed = least_role(action)
        raise Forbidden(
            f"To {action.value} you need to be {needed.value} of {membership.team.slug}; you are {held.value}.",
            who_can_give(membership.team, needed),
        )
    if not covers(membership.user.token_scopes, action):
        raise Forbidden(
            f"To {action.value} your API token needs the scope {SCOPE_OF[action].value}.",
            "Make a token with that scope on your profile page.",
        )


def why_not(membership: Membership, action: Action, *, role: Role | None = None) -> str:
    """What stands at a button that the person may not press; empty when they may."""
    held = role or Role(membership.role)
    if may(held, action):
        return ""
    needed = least_role(action)
    return f"Needs the role {needed.value}; you are {held.value}. {who_can_give(membership.team, needed)}"


def who_can_give(team: Team, role: Role) -> str:
    """`ada (owner) or lin (admin) can give it to you.` Nobody gives a role above their own."""
    givers = [f"{name} ({held.value})" for name, held in team.admins if held.rank >= role.rank]
    return f"{either(givers) or 'Platform staff'} can give it to you."


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
    if not covers_staff(user):
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
