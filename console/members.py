"""A team's people: adding, giving another role, removing. Each act is one transaction with its event.

Nobody gives a role above their own or touches somebody above them, and a team keeps an owner who can sign in. That is
decided here, under the team's lock, for pages and the API alike; `why_not` says beforehand what an act would refuse.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from django.db import transaction

from console import events, live
from console.access import membership_for
from console.errors import Conflict, ConsoleError, Forbidden, Missing, Problem, Rejected
from console.models import Membership, Team, User
from console.roles import LEAST_ROLE, Action, Role, least_role, may

T = TypeVar("T")


@dataclass(frozen=True)
class RoleOffer:
    """A role that a person may give, and what it adds to the one below."""

    role: Role
    adds: str


def offers(by: Membership) -> list[RoleOffer]:
    """Weakest first, none above the person's own."""
    return [
        RoleOffer(role, ", ".join(action.value for action, least in LEAST_ROLE.items() if least is role))
        for role in Role
        if role.rank <= Role(by.role).rank
    ]


def member_of(team: Team, name: str) -> Membership:
    """The membership of the person called `name`. Raises Missing."""
    # PostgreSQL takes no NUL, and no name holds one.
    found = (
        None
        if "\0" in name
        else Membership.objects.select_related("team", "user").filter(team=team, user__username=name).first()
    )
    if found is None:
        raise Missing(f"{name} is not in team {team.slug}.", "The team's People page lists who is.")
    return found


def add(name: str, role: Role, *, by: Membership) -> Membership:
    """Let the person who has the account `name` into the team of `by`."""

    def act(asker: Membership) -> Membership:
        _reaches(asker, role)
        user = _account(name, asker.team)
        return Membership.objects.create(team=asker.team, user=user, role=role)

    return _perform("member.add", name, by, act, {"role": role})


def change_role(name: str, role: Role, *, by: Membership) -> Membership:
    """Give a member another role. Their open pages and terminals ask again at once. Idempotent."""
    detail: dict[str, object] = {"to": role}

    def act(asker: Membership) -> Membership:
        member = member_of(asker.team, name)
        detail["from"] = member.role
        _reaches(asker, Role(member.role), member)
        _reaches(asker, role)
        if role is not Role.OWNER:
            _keeps_an_owner(member, "take the role of owner from")
        member.role = role
        member.save(update_fields=["role"])
        live.rights_changed(member.user_id)
        return member

    return _perform("member.role", name, by, act, detail)


def remove(name: str, *, by: Membership) -> None:
    """Take a member out of the team. Their open pages and terminals of it end at once."""
    detail: dict[str, object] = {}

    def act(asker: Membership) -> None:
        member = member_of(asker.team, name)
        detail["role"] = member.role
        _reaches(asker, Role(member.role), member)
        _keeps_an_owner(member, "remove")
        member.delete()
        live.rights_changed(member.user_id)

    _perform("member.remove", name, by, act, detail)


def why_not(member: Membership, *, by: Membership) -> str:
    """One sentence saying why `by` may not change this member's role or remove them; empty when they may."""
    if not may(Role(by.role), Action.CHANGE_MEMBERS):
        return f"Needs the role {least_role(Action.CHANGE_MEMBERS).value}; you are {by.role}."
    try:
        _reaches(by, Role(member.role), member)
        _keeps_an_owner(member, "change or remove")
    except ConsoleError as error:
        return error.message
    return ""


def _perform(
    verb: str, name: str, by: Membership, act: Callable[[Membership], T], detail: Mapping[str, object]
) -> T:
    """Lock the team, ask again what `by` may, act, record. A refusal is recorded too, outside of what it undid."""
    try:
        with transaction.atomic():
            # Two owners who demote each other would otherwise both find the other one left. `no_key`: rows that
            # point at the team go on being written.
            Team.objects.select_for_update(no_key=True).get(pk=by.team_id)
            done = act(membership_for(by.user, by.team.slug, Action.CHANGE_MEMBERS))
            events.record(verb, by=by.user, team=by.team, target=name, detail=detail)
    except ConsoleError as error:
        events.record(
            verb,
            by=by.user,
            team=by.team,
            target=name,
            outcome="refused",
            detail={**detail, "error": _why(error)},
        )
        raise
    return done


def _why(error: ConsoleError) -> str:
    problems = error.problems if isinstance(error, Rejected) else ()
    return problems[0].message if problems else error.message


def _reaches(by: Membership, role: Role, member: Membership | None = None) -> None:
    """Raise Forbidden if `role` is above the person's own: to be given, or held already by `member`."""
    if role.rank <= Role(by.role).rank:
        return
    whom = f"{member.user.username} is {role.value}" if member else f"{role.value.capitalize()} is a role"
    raise Forbidden(f"{whom} above your own: you are {by.role}.", f"Ask the {Role.OWNER.value} of the team.")


def _keeps_an_owner(member: Membership, what: str) -> None:
    """Raise Conflict if the team would have no owner left who can sign in."""
    if member.role != Role.OWNER:
        return
    owners = Membership.objects.filter(team=member.team, role=Role.OWNER, user__is_active=True)
    if not owners.exclude(pk=member.pk).exists():
        raise Conflict(
            f"You cannot {what} {member.user.username}, the last owner of {member.team.slug}.",
            "Make somebody else an owner first.",
        )


def _account(name: str, team: Team) -> User:
    """The account to let in. Raises Rejected at `name`."""
    user = None if "\0" in name else User.objects.filter(username=name).first()
    problem = None
    if user is None:
        problem = Problem("name", f"There is no account called {name}.", "Names are case-sensitive.")
    elif not user.is_active:
        problem = Problem("name", f"The account {name} is closed.")
    elif Membership.objects.filter(team=team, user=user).exists():
        problem = Problem("name", f"{name} is in {team.slug} already.", "Change their role in the list.")
    if problem or user is None:
        raise Rejected(f"{name} was not added to {team.slug}.", (problem,) if problem else ())
    return user
