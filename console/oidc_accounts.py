"""Whose account an identity is: made at the first sign-in, and in the teams that its groups say, each time.

An address that the provider did not verify links to nothing. A membership that came from a group goes with it; one that
a person gave stays as it is, whatever the groups say.
"""

import re

from allauth.socialaccount.models import SocialAccount
from django.db import IntegrityError, transaction

from console import events, live
from console.models import GroupRole, Membership, Team, User
from console.oidc import Identity, NotLetIn
from console.roles import Role
from console.team_acts import lock

NO_NAME = re.compile(r"[^\w.@+-]+")
MOST_TRIES = 50


def account_of(identity: Identity) -> User:
    """The person's account, made if need be, in the teams of their groups. Raises NotLetIn."""
    try:
        with transaction.atomic():
            user = _linked(identity) or _link(identity, _by_address(identity) or _made(identity))
            if not user.is_active:
                raise NotLetIn("Your account here is closed.", "Platform staff can open it again.")
            follow_groups(user, identity.groups)
    except IntegrityError as error:
        raise NotLetIn("You signed in twice at once.", "Try again.") from error
    return user


def follow_groups(user: User, groups: frozenset[str]) -> None:
    """Bring the person's memberships in line with their groups: the highest role of each team counts."""
    wanted: dict[int, GroupRole] = {}
    for mapped in GroupRole.objects.select_related("team").filter(group__in=groups):
        held = wanted.get(mapped.team_id)
        if held is None or Role(mapped.role).rank > Role(held.role).rank:
            wanted[mapped.team_id] = mapped
    for team in Team.objects.filter(pk__in={*wanted, *_teams_by_group(user)}).order_by("pk"):
        lock(team)
        _follow(user, team, wanted.get(team.pk))


def _follow(user: User, team: Team, wanted: GroupRole | None) -> None:
    member = Membership.objects.filter(user=user, team=team).first()
    if member is not None and (not member.from_group or _fits(member, wanted)):
        return
    if wanted is None:
        assert member is not None, "nothing to follow otherwise"
        gone, detail = member.from_group, {"role": member.role, "why": f"no longer in {member.from_group}"}
        member.delete()
        _record("member.remove", user, team, detail if gone else {})
    elif member is None:
        Membership.objects.create(user=user, team=team, role=wanted.role, from_group=wanted.group)
        _record("member.add", user, team, {"role": wanted.role, "why": f"in {wanted.group}"})
    else:
        detail = {"from": member.role, "to": wanted.role, "why": f"in {wanted.group}"}
        Membership.objects.filter(pk=member.pk).update(role=wanted.role, from_group=wanted.group)
        _record("member.role", user, team, detail)


def _fits(member: Membership, wanted: GroupRole | None) -> bool:
    return wanted is not None and (member.role, member.from_group) == (wanted.role, wanted.group)


def _teams_by_group(user: User) -> set[int]:
    return set(user.memberships.exclude(from_group="").values_list("team_id", flat=True))


def _record(verb: str, user: User, team: Team, detail: dict[str, str]) -> None:
    events.record(verb, by=None, team=team, target=user.username, detail=detail)
    live.rights_changed(user.pk)


def _linked(identity: Identity) -> User | None:
    known = SocialAccount.objects.select_related("user").filter(
        provider=identity.issuer, uid=identity.subject
    )
    found = known.first()
    return User.objects.get(pk=found.user_id) if found else None


def _link(identity: Identity, user: User) -> User:
    SocialAccount.objects.create(user=user, provider=identity.issuer, uid=identity.subject)
    events.record("identity.link", by=user, target=identity.issuer, detail={"why": identity.subject})
    return user


def _by_address(identity: Identity) -> User | None:
    """The account that has the identity's address. Raises NotLetIn for one that the provider does not vouch for."""
    same = list(User.objects.filter(email__iexact=identity.email)) if identity.email else []
    if not same:
        return None
    if not identity.is_email_verified:
        raise NotLetIn(
            f"{identity.email} belongs to an account here, and your provider did not verify that it is yours.",
            "Have the address verified there, or sign in here with name and password.",
        )
    if len(same) > 1:
        raise NotLetIn(
            f"{identity.email} belongs to several accounts here.", "Platform staff can say which is yours."
        )
    return same[0]


def _made(identity: Identity) -> User:
    user = User(
        username=_free_name(identity),
        first_name=identity.first_name[:150],
        last_name=identity.last_name[:150],
        email=identity.email[:254] if identity.is_email_verified else "",
    )
    user.set_unusable_password()
    user.save()
    events.record(
        "account.make", by=user, target=user.username, detail={"why": f"came from {identity.issuer}"}
    )
    return user


def _free_name(identity: Identity) -> str:
    """The name that the provider gives, as far as names go here; with a number where somebody has it already."""
    wanted = identity.username or identity.email.partition("@")[0] or "person"
    name = NO_NAME.sub("-", wanted).strip("-")[:140] or "person"
    taken = set(User.objects.filter(username__istartswith=name).values_list("username", flat=True))
    taken = {one.lower() for one in taken}
    names = (name if number == 1 else f"{name}-{number}" for number in range(1, MOST_TRIES))
    free = next((one for one in names if one.lower() not in taken), None)
    if free is None:
        raise NotLetIn(f"Too many accounts are called {name}.", "Platform staff can make you one.")
    return free
