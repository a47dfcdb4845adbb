"""Login users and the people behind them: who may have a login on a cluster, and with which keys it opens now.

A spec carries names, numbers and keys as they were when it was written. What a person changes in their profile, and
what becomes of their role, reaches it by a change of its own (`clusters.changes.follow_people`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from clusters.identities import identify
from clusters.models import Cluster, Grant, Identity, PersonalKey
from clusters.spec import Leaver, Logins, LoginUser
from console.models import Membership, Team, User
from console.roles import Action, Role, may


def first_logins(team: Team, logins: Logins) -> Logins:
    """Those of a new cluster: everybody of the team who may open a terminal; sudo is for who may change the cluster.

    Makes identities that are not there yet.
    """
    rows = team.memberships.filter(user__is_active=True).select_related("user").order_by("user__username")
    people = [row for row in rows if may(Role(row.role), Action.TERMINAL)]
    keys = keys_of(row.user_id for row in people)
    return replace(
        logins,
        account=logins.account or account_for(team),
        users=tuple(_user(team, row, keys.get(row.user_id, ())) for row in people),
    )


def account_for(team: Team) -> str:
    """The Slurm account of login users who are in none."""
    return team.slug


def logins_now(cluster: Cluster, logins: Logins) -> Logins:
    """The same with the keys that people have now, and without those who may open no terminal here any more: their jobs
    run on and their homes are kept. Four queries."""
    if not logins.on or not logins.users:
        return logins
    people = people_by_login(cluster.team, (user.name for user in logins.users))
    allowed = _allowed(cluster, people.values())
    keys = keys_of(user.pk for user in people.values())
    stays, leavers = [], []
    for user in logins.users:
        person = people.get(user.name)
        if person is None or person.pk not in allowed:
            leavers.append(Leaver(user.name, user.uid))
        else:
            stays.append(replace(user, keys=keys.get(person.pk, ())))
    if not leavers:
        return replace(logins, users=tuple(stays))
    return replace(logins, users=tuple(stays), leavers=tuple(leavers))


def people_by_login(team: Team, names: Iterable[str]) -> dict[str, User]:
    """The accounts behind these logins; one whose account is gone has none."""
    rows = Identity.objects.filter(team=team, kind="user", name__in=list(names), user__isnull=False)
    return {row.name: row.user for row in rows.select_related("user") if row.user}


def keys_of(users: Iterable[int]) -> dict[int, tuple[str, ...]]:
    """The lines of each person's keys, oldest first, by primary key."""
    found: dict[int, list[str]] = {}
    rows = PersonalKey.objects.filter(user_id__in=list(users)).order_by("pk")
    for user, line in rows.values_list("user_id", "line"):
        found.setdefault(user, []).append(line)
    return {user: tuple(lines) for user, lines in found.items()}


def _allowed(cluster: Cluster, people: Iterable[User]) -> set[int]:
    """Those who may open a terminal on the cluster, by what they are in the team or were given here."""
    active = [user.pk for user in people if user.is_active]
    roles: Mapping[int, str] = dict(
        Membership.objects.filter(team=cluster.team, user__in=active).values_list("user_id", "role")
    )
    granted: Mapping[int, str] = dict(
        Grant.objects.filter(cluster=cluster, membership__user__in=active).values_list(
            "membership__user_id", "role"
        )
    )
    return {
        user
        for user, role in roles.items()
        if any(may(Role(one), Action.TERMINAL) for one in (role, granted.get(user)) if one)
    }


def _user(team: Team, row: Membership, keys: tuple[str, ...]) -> LoginUser:
    identity = identify(team, row.user)
    can_change = may(Role(row.role), Action.CHANGE_CLUSTER)
    return LoginUser(identity.name, identity.number, sudo=can_change, keys=keys)
