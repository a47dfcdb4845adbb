"""A team's people: adding, giving another role, removing, leaving, handing over. Each act is one transaction.

Nobody gives a role above their own or touches somebody above them, and a team keeps an owner who can sign in. That is
decided here, under the team's lock, for pages and the API alike; `why_not` says beforehand what an act would refuse.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass

from django.db import IntegrityError, transaction

from console import events, live
from console.access import why_not as why_lacking
from console.errors import Conflict, ConsoleError, Missing, Problem, Rejected
from console.models import Membership, Team, User
from console.roles import LEAST_ROLE, Action, Role
from console.team_acts import perform, reaches

# useradd(8), and names with dots as directories give them.
SLURM_USER = re.compile(r"[a-z_][a-z0-9_.-]{0,31}")
EVERYBODYS = frozenset({"root", "slurm", "nobody", "munge"})
MOST_SLURM_USERS = 400


@dataclass(frozen=True)
class RoleOffer:
    """A role that a person may give, and what it adds to the one below."""

    role: Role
    adds: str


def offers(by: Membership) -> list[RoleOffer]:
    """Weakest first, none above the person's own."""
    return offers_up_to(Role(by.role))


def offers_up_to(highest: Role) -> list[RoleOffer]:
    return [
        RoleOffer(role, ", ".join(action.value for action, least in LEAST_ROLE.items() if least is role))
        for role in Role
        if role.rank <= highest.rank
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
        reaches(asker, role)
        user = _account(name, asker.team)
        return Membership.objects.create(team=asker.team, user=user, role=role)

    return perform("member.add", name, by, act, {"role": role})


def make_team(team: Team, owner: str, *, by: User) -> Team:
    """Save the new `team` with the account `owner` in it, or with nobody yet. Platform staff only: the caller asked.

    Raises Rejected at `owner` or `slug`.
    """
    try:
        with transaction.atomic():
            team.save()
            if owner:
                Membership.objects.create(team=team, user=_account(owner, team, "owner"), role=Role.OWNER)
            detail = {"owner": owner or "nobody yet"}
            events.record("team.make", by=by, team=team, target=team.slug, detail=detail)
    except IntegrityError as error:
        taken = Problem("slug", "There is a team of that name already.")
        raise Rejected(f"{team.slug} was not made.", (taken,)) from error
    return team


def change_role(name: str, role: Role, *, by: Membership) -> Membership:
    """Give a member another role. Their open pages and terminals ask again at once. Idempotent."""
    detail: dict[str, object] = {"to": role}

    def act(asker: Membership) -> Membership:
        member = member_of(asker.team, name)
        detail["from"] = member.role
        _is_made_here(member)
        reaches(asker, Role(member.role), member)
        reaches(asker, role)
        if role is not Role.OWNER:
            _keeps_an_owner(member, "take the role of owner from")
        member.role = role
        member.save(update_fields=["role"])
        live.rights_changed(member.user_id)
        return member

    return perform("member.role", name, by, act, detail)


def remove(name: str, *, by: Membership) -> None:
    """Take a member out of the team. Their open pages and terminals of it end at once."""
    detail: dict[str, object] = {}

    def act(asker: Membership) -> None:
        member = member_of(asker.team, name)
        detail["role"] = member.role
        _is_made_here(member)
        reaches(asker, Role(member.role), member)
        _keeps_an_owner(member, "remove")
        member.delete()
        live.rights_changed(member.user_id)

    perform("member.remove", name, by, act, detail)


def leave(*, by: Membership) -> None:
    """Take oneself out of the team, whatever one's role. Open pages and terminals of it end at once."""

    def act(asker: Membership) -> None:
        _is_row(asker, "leave")
        _keeps_an_owner(asker, "remove")
        asker.delete()
        live.rights_changed(asker.user_id)

    perform("member.leave", by.user.username, by, act, {"role": by.role}, action=Action.LEAVE_TEAM)


def hand_over(name: str, *, by: Membership) -> None:
    """Make a member the owner in place of `by`, who stays as admin: both or neither."""

    def act(asker: Membership) -> None:
        _is_row(asker, "hand over")
        member = member_of(asker.team, name)
        if member.pk == asker.pk:
            raise Conflict(f"You are owner of {asker.team.slug} already.", "Choose somebody else.")
        if not member.user.is_active:
            raise Conflict(f"The account {name} is closed.", "An owner has to be able to sign in.")
        for one, role in ((member, Role.OWNER), (asker, Role.ADMIN)):
            one.role = role
            one.save(update_fields=["role"])
            live.rights_changed(one.user_id)

    perform("team.handover", name, by, act, action=Action.CHANGE_OWNER)


def why_not_leave(member: Membership) -> str:
    """One sentence when this member cannot leave; empty when they may."""
    try:
        _is_row(member, "leave")
        _keeps_an_owner(member, "remove")
    except Conflict as error:
        return f"{error.message} {error.hint}"
    return ""


def why_not_hand_over(member: Membership) -> str:
    """One sentence when this member cannot hand the team over; empty when they may."""
    if refusal := why_lacking(member, Action.CHANGE_OWNER):
        return refusal
    try:
        _is_row(member, "hand over")
    except Conflict as error:
        return f"{error.message} {error.hint}"
    return "" if heirs(member) else "Nobody else is in the team."


def heirs(member: Membership) -> list[str]:
    """The names of those whom the team can be handed to."""
    others = member.team.memberships.exclude(pk=member.pk).filter(user__is_active=True)
    return list(others.order_by("user__username").values_list("user__username", flat=True))


def link_slurm_users(name: str, users: Collection[str], *, by: Membership) -> Membership:
    """Say which Slurm users a member is: their jobs are then the member's own, on every cluster of the team.

    Raises Rejected at `slurm_users` for what is no user name, or one that stands for everybody's jobs.
    """
    wanted = list(dict.fromkeys(users))
    detail: dict[str, object] = {"to": " ".join(wanted) or "none"}

    def act(asker: Membership) -> Membership:
        member = member_of(asker.team, name)
        detail["from"] = member.slurm_users or "none"
        reaches(asker, Role(member.role), member)
        if problem := _no_slurm_users(wanted):
            raise Rejected(f"The Slurm users of {name} stay as they are.", (problem,))
        member.slurm_users = " ".join(wanted)
        member.save(update_fields=["slurm_users"])
        return member

    return perform("member.slurm-users", name, by, act, detail)


def slurm_users_of(team: int, user: int) -> frozenset[str]:
    """The Slurm users that were linked to the person in the team, both by primary key; none for who is not in it."""
    found = Membership.objects.filter(team=team, user=user).values_list("slurm_users", flat=True).first()
    return frozenset((found or "").split())


def _no_slurm_users(names: Collection[str]) -> Problem | None:
    for name in names:
        if not SLURM_USER.fullmatch(name):
            return Problem("slurm_users", f"{name[:40]} is no user name.", "Letters, digits and . _ - only.")
        if name in EVERYBODYS:
            return Problem("slurm_users", f"{name} is nobody's own: the platform's jobs run under it.")
    if len(" ".join(names)) > MOST_SLURM_USERS:
        return Problem("slurm_users", "These are too many names.")
    return None


def _is_row(member: Membership, what: str) -> None:
    """Raise Conflict for platform staff who are not in the team."""
    if member.as_staff:
        raise Conflict(
            f"You cannot {what} {member.team.slug}: you are here as platform staff.",
            "Change roles in the list instead.",
        )


def why_not(member: Membership, *, by: Membership) -> str:
    """One sentence saying why `by` may not change this member's role or remove them; empty when they may."""
    if refusal := why_lacking(by, Action.CHANGE_MEMBERS):
        return refusal
    try:
        _is_made_here(member)
        reaches(by, Role(member.role), member)
        _keeps_an_owner(member, "change or remove")
    except ConsoleError as error:
        return error.message
    return ""


def _is_made_here(member: Membership) -> None:
    """Raise Conflict for a role that a group of the identity provider gave: it would come back at the next sign-in."""
    if member.from_group:
        raise Conflict(
            f"{member.user.username} is {member.role} by the group {member.from_group}.",
            "Change who is in the group, or have platform staff change what it gives.",
        )


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


def _account(name: str, team: Team, field: str = "name") -> User:
    """The account to let in. Raises Rejected at `field`."""
    user = None if "\0" in name else User.objects.filter(username=name).first()
    problem = None
    if user is None:
        problem = Problem(field, f"There is no account called {name}.", "Names are case-sensitive.")
    elif not user.is_active:
        problem = Problem(field, f"The account {name} is closed.")
    elif Membership.objects.filter(team=team, user=user).exists():
        problem = Problem(field, f"{name} is in {team.slug} already.", "Change their role in the list.")
    if problem or user is None:
        raise Rejected(f"{name} was not added to {team.slug}.", (problem,) if problem else ())
    return user
