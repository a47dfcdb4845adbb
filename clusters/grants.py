"""Roles on one cluster, on top of the team's: giving one and taking it back. Each act is one transaction.

Nobody gives or takes a role above what they are on the cluster. The right is asked through the cluster's door, under
the lock that every act on the team's people takes.
"""

from dataclasses import dataclass

from django.db import transaction

from clusters.access import Door, cluster_for
from clusters.models import Grant
from console import events, live
from console.errors import Conflict, ConsoleError, Forbidden, Missing
from console.members import RoleOffer, member_of, offers_up_to
from console.models import Membership
from console.roles import Action, Role
from console.team_acts import lock


@dataclass(frozen=True)
class Reach:
    """A person of the team and what they are here. `why_not` says why the asker may not change it."""

    member: Membership
    granted: Role | None
    is_you: bool
    why_not: str

    @property
    def role(self) -> Role:
        return max(Role(self.member.role), self.granted or Role.VIEWER, key=lambda role: role.rank)


def people_of(door: Door) -> list[Reach]:
    """Everybody in the team, highest role on the cluster first. Two queries."""
    rows = door.membership.team.memberships.select_related("team", "user").order_by("user__username")
    granted = {grant.membership_id: Role(grant.role) for grant in Grant.objects.filter(cluster=door.cluster)}
    reaches = [
        Reach(row, granted.get(row.pk), row.pk == door.membership.pk, why_not(door, granted.get(row.pk)))
        for row in rows
    ]
    return sorted(reaches, key=lambda reach: -reach.role.rank)


def grant_of(door: Door, member: Membership) -> Role | None:
    found = Grant.objects.filter(cluster=door.cluster, membership=member).first()
    return Role(found.role) if found else None


def offers(door: Door, member: Membership) -> list[RoleOffer]:
    """The roles that a grant to `member` could add: above theirs in the team, not above the asker's here."""
    return [offer for offer in offers_up_to(door.role) if offer.role.rank > Role(member.role).rank]


def why_not(door: Door, granted: Role | None) -> str:
    """One sentence saying why the person may not give or take a role here."""
    if refusal := door.why_not(Action.GRANT_ROLE):
        return refusal
    if granted and granted.rank > door.role.rank:
        return f"{granted.value.capitalize()} is a role above your own here: you are {door.role.value}."
    return ""


def give(door: Door, name: str, role: Role) -> None:
    """Let a member be `role` on this cluster. Idempotent; their open pages and terminals ask again at once."""
    _act(door, "grant.give", name, role)


def withdraw(door: Door, name: str) -> None:
    """Take it back: they are again what they are in the team. Their open terminals ask again at once."""
    _act(door, "grant.withdraw", name, None)


def _act(door: Door, verb: str, name: str, role: Role | None) -> None:
    """`role` of None withdraws. A refusal is recorded too, outside of what it undid."""
    detail: dict[str, object] = {"role": role} if role else {}
    team, cluster = door.membership.team, door.cluster.slug
    try:
        with transaction.atomic():
            lock(team)
            asked = cluster_for(door.membership.user, team.slug, cluster, Action.GRANT_ROLE)
            member = member_of(team, name)
            before = grant_of(asked, member)
            _reaches(asked, before, role)
            if role:
                _give(asked, member, role)
            elif not Grant.objects.filter(cluster=asked.cluster, membership=member).delete()[0]:
                raise Missing(
                    f"{name} has no role of their own on {cluster}.", "It may be taken back already."
                )
            if before:
                detail = {"from": before, **({"to": role} if role else {"role": before})}
            events.record(
                verb, by=door.membership.user, team=team, cluster=cluster, target=name, detail=detail
            )
            live.rights_changed(member.user_id)
    except ConsoleError as error:
        events.record(
            verb, by=door.membership.user, team=team, cluster=cluster, target=name, outcome="refused",
            detail={**detail, "error": error.message},
        )  # fmt: skip
        raise


def _give(door: Door, member: Membership, role: Role) -> None:
    if role.rank <= Role(member.role).rank:
        raise Conflict(
            f"{member.user.username} is {member.role} in the whole team: {role.value} here adds nothing.",
            "Choose a role above that.",
        )
    Grant.objects.update_or_create(
        cluster=door.cluster, membership=member, defaults={"role": role, "by": door.membership.user}
    )


def _reaches(door: Door, *roles: Role | None) -> None:
    for role in roles:
        if role and role.rank > door.role.rank:
            raise Forbidden(
                f"{role.value.capitalize()} is a role above your own: you are {door.role.value} on "
                f"{door.cluster.slug}.",
                "Ask the owner of the team.",
            )
