"""What every act on a team's people shares: the team's lock, the right asked again, and the event.

For `console.members` and `console.invitations`; pages and the API call those.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

from django.db import transaction

from console import events
from console.access import membership_for
from console.errors import ConsoleError, Forbidden, Rejected
from console.models import Membership, Team
from console.roles import Action, Role

T = TypeVar("T")


def perform(
    verb: str,
    target: str,
    by: Membership,
    act: Callable[[Membership], T],
    detail: Mapping[str, object] | None = None,
    *,
    action: Action = Action.CHANGE_MEMBERS,
) -> T:
    """Lock the team, ask again what `by` may, act, record. A refusal is recorded too, outside of what it undid.

    `act` gets the membership as it is under the lock. What it puts into `detail` meanwhile is recorded.
    """
    detail = {} if detail is None else detail
    try:
        with transaction.atomic():
            lock(by.team)
            asker = membership_for(by.user, by.team.slug, action)
            # Known before the act, which may be the person's leaving.
            as_staff = asker.as_staff
            done = act(asker)
            events.record(verb, by=by.user, team=by.team, target=target, detail=detail, as_staff=as_staff)
    except ConsoleError as error:
        why = {**detail, "error": _why(error)}
        events.record(verb, by=by.user, team=by.team, target=target, outcome="refused", detail=why)
        raise
    return done


def lock(team: Team) -> None:
    """Until the transaction ends nobody else acts on the team's people.

    Two owners who demote each other would otherwise both find the other one left. `no_key`: rows that point at the team
    go on being written.
    """
    Team.objects.select_for_update(no_key=True).get(pk=team.pk)


def reaches(by: Membership, role: Role, member: Membership | None = None) -> None:
    """Raise Forbidden if `role` is above the person's own: to be given, or held already by `member`."""
    if role.rank <= Role(by.role).rank:
        return
    whom = f"{member.user.username} is {role.value}" if member else f"{role.value.capitalize()} is a role"
    raise Forbidden(f"{whom} above your own: you are {by.role}.", f"Ask the {Role.OWNER.value} of the team.")


def _why(error: ConsoleError) -> str:
    problems = error.problems if isinstance(error, Rejected) else ()
    return problems[0].message if problems else error.message
