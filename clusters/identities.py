"""The numbers of a team's login users and groups, given out once and for ever, and who is whom.

A number belongs to a name of a team as long as the database lives: a login that is removed and added again has its old
number and, where they were kept, its old files. So a name is never given to another person.
"""

from collections.abc import Iterable

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Max

from clusters.login_rules import MOST_NUMBER, name_problem, proposed_name
from clusters.models import Cluster, Identity
from clusters.spec import LoginGroup
from console import members
from console.errors import Conflict, Problem, Rejected
from console.models import Team, User

# Somebody else may take the number that was found free; more often than this in a row nobody does.
TRIES = 20


class NoLogin(Conflict):
    """The cluster has login users, and the person is none of them."""

    code = "no-login"


def identity_of(team: Team, user: User) -> Identity | None:
    return Identity.objects.filter(team=team, user=user).first() if user.pk else None


def login_of(cluster: Cluster, user: User) -> str:
    """Who the person is on the cluster's nodes; empty where it has no login users. One query at most.

    Raises NoLogin.
    """
    logins = cluster.spec.logins
    if not logins.on:
        return ""
    mine = identity_of(cluster.team, user)
    if mine is None or logins.user(mine.name) is None:
        raise NoLogin(
            f"You have no login on {cluster.slug}, where everybody signs in as themselves.",
            "An admin of the team adds one under Users & keys.",
        )
    return mine.name


def slurm_users_of(team: int, user: int) -> frozenset[str]:
    """The Slurm users whose jobs are the person's own, team and person by primary key: those that an admin linked to
    them, and their login."""
    named = Identity.objects.filter(team=team, user=user).values_list("name", flat=True)
    return members.slurm_users_of(team, user) | frozenset(named)


def identify(team: Team, user: User, name: str = "") -> Identity:
    """The person's identity in the team, made if there is none; the one that there is keeps its name.

    `name` is what it is called if it is made, empty for one like the account's. Raises Rejected at `name`.
    """
    if found := identity_of(team, user):
        if name and name != found.name:
            why = f"{user.username} is {found.name} on this team's clusters already."
            raise _refused("name", why, "Files belong to the number of that name, so it stays.")
        return found
    return _made(team, "user", name or _free_name(team, user), user)


def group_of(team: Team, name: str) -> Identity:
    """The team's group of this name, made if there is none. Raises Rejected at `groups`."""
    found = Identity.objects.filter(team=team, name=name).first()
    if found is None:
        return _made(team, "group", name, None)
    if found.kind != "group":
        raise _refused("groups", f"{name} is the name of a login, not of a group.")
    return found


def groups_of(team: Team, names: Iterable[str]) -> tuple[LoginGroup, ...]:
    """As they stand in a spec, by name. Raises Rejected at `groups`."""
    found = (group_of(team, name) for name in sorted(set(names)))
    return tuple(LoginGroup(one.name, one.number) for one in found)


def _made(team: Team, kind: str, name: str, user: User | None) -> Identity:
    field = "name" if kind == "user" else "groups"
    if problem := name_problem(name):
        raise Rejected(f"{name[:40]} was not added.", (Problem(field, *problem),))
    account = user.username if user else ""
    for _ in range(TRIES):
        if other := Identity.objects.filter(team=team, name=name).first():
            raise _refused(field, _taken(other), "Choose another name.")
        try:
            with transaction.atomic():
                return Identity.objects.create(
                    team=team, kind=kind, name=name, number=_next(), user=user, account=account
                )
        except IntegrityError:
            continue
    raise Conflict("Too many logins were made at once.", "Try again.")


def _next() -> int:
    """Above every number that was ever given out, of any team."""
    newest = Identity.objects.aggregate(newest=Max("number"))["newest"]
    number: int = max(settings.LOGIN_NUMBERS_FROM, (newest or 0) + 1)
    if number > MOST_NUMBER:
        raise Conflict(f"No number up to {MOST_NUMBER} is left for another login or group.")
    return number


def _taken(other: Identity) -> str:
    if other.kind == "group":
        return f"{other.name} is a group of this team."
    return f"{other.name} is, or was, the login of {other.account}, whose files have its number."


def _free_name(team: Team, user: User) -> str:
    """Like the account's name, with a number behind it if that is somebody else's."""
    name = proposed_name(user.username)
    taken = set(Identity.objects.filter(team=team).values_list("name", flat=True))
    names = (name, *(f"{name[:28]}-{n}" for n in range(2, len(taken) + 3)))
    return next(one for one in names if one not in taken)


def _refused(field: str, why: str, hint: str = "") -> Rejected:
    return Rejected(why, (Problem(field, why, hint),))
