"""What a team asks of its members before it shows them anything."""

from console import live
from console.errors import Conflict
from console.factors import has_second_factor, without_second_factor
from console.models import Membership, Team, User
from console.provider_factor import has_come, less_those_who_came
from console.roles import Action
from console.team_acts import perform


def require_second_factor(required: bool, *, by: Membership) -> None:
    """Open pages and terminals of members without one close at once. Raises Forbidden, and Conflict for a person who
    would shut themselves out.
    """

    def act(asker: Membership) -> None:
        if required and not has_one(asker.user):
            raise Conflict("You have no second factor yourself.", "Set one up on your profile first.")
        Team.objects.filter(pk=asker.team_id).update(requires_second_factor=required)
        for member in asker.team.memberships.values_list("user_id", flat=True):
            live.rights_changed(member)

    target = "required" if required else "not required"
    perform("team.second-factor", target, by, act, action=Action.CHANGE_POLICY)


def has_one(user: User) -> bool:
    """Whether the person would still be let in: by a factor set up here, or by the one that they came with."""
    return has_come(user) or has_second_factor(user)


def people_without(team: Team) -> list[User]:
    """Members without a second factor, by name; who is signed in with the provider's has one."""
    people = less_those_who_came(team.members.filter(is_active=True).order_by("username"))
    return without_second_factor(people)
