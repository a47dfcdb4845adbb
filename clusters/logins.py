"""Login users of a cluster: switching them on and off, adding, editing and removing one. Each is a change of its spec.

What a dialog shows before is an `Edit` of the same before and after, made by `drafted`: it gives out no number, so that
looking makes nothing.
"""

from dataclasses import dataclass, replace

from clusters import changes
from clusters.access import Door
from clusters.grants import Reach, people_of
from clusters.identities import groups_of, identify, identity_of
from clusters.login_people import account_for, first_logins, keys_of, people_by_login
from clusters.login_rules import MOST_NUMBER
from clusters.models import Change, Cluster
from clusters.spec import ClusterSpec, Leaver, Logins, LoginUser
from clusters.when import When
from console.errors import Conflict, Missing, Problem, Rejected
from console.models import User
from console.roles import Action, may


@dataclass(frozen=True)
class Wish:
    """What an admin says about a login user."""

    groups: tuple[str, ...] = ()
    sudo: bool = False


@dataclass(frozen=True)
class Row:
    """A login user with the person behind it, who may be gone."""

    user: LoginUser
    home: str
    person: User | None
    keys: int
    groups: str


def rows_of(cluster: Cluster) -> list[Row]:
    """By name; two queries."""
    logins = cluster.spec.logins
    people = people_by_login(cluster.team, (user.name for user in logins.users))
    return [
        Row(user, logins.home_of(user.name), people.get(user.name), len(user.keys), ", ".join(user.groups))
        for user in sorted(logins.users, key=lambda one: one.name)
    ]


def candidates(door: Door) -> list[Reach]:
    """Who may open a terminal on the cluster and has no login there yet."""
    logins = door.cluster.spec.logins
    people = people_by_login(door.cluster.team, (user.name for user in logins.users))
    taken = {user.pk for user in people.values()}
    return [
        reach
        for reach in people_of(door)
        if reach.member.user_id not in taken
        and reach.member.user.is_active
        and may(reach.role, Action.TERMINAL)
    ]


def user_of(cluster: Cluster, name: str) -> LoginUser:
    """Raises Missing."""
    found = next((user for user in cluster.spec.logins.users if user.name == name), None)
    if found is None:
        raise Missing(f"{cluster.slug} has no login user {name[:40]}.", "Users & keys lists them all.")
    return found


def switch(door: Door, *, on: bool, homes: str, base: int | None, start_at: When = None) -> Change:
    """Switch login users on or off, or put the homes elsewhere. Raises what `changes.propose` raises."""
    _may_change(door)
    logins = switched(door.cluster.spec, on=on, homes=homes).logins
    if on and not logins.users:
        logins = first_logins(door.cluster.team, logins)
    return _propose(
        door, replace(logins, account=logins.account or account_for(door.cluster.team)), base, start_at
    )


def switched(spec: ClusterSpec, *, on: bool, homes: str) -> ClusterSpec:
    return spec.with_logins(replace(spec.logins, on=on, homes=homes, leavers=()))


def add(
    door: Door, account: str, name: str, wish: Wish, *, base: int | None, start_at: When = None
) -> Change:
    """A login for a member of the team, called `name` unless they are somebody on the team's clusters already.

    Raises Rejected at `account` or `name`, and what `changes.propose` raises.
    """
    _may_change(door)
    team, logins = door.cluster.team, door.cluster.spec.logins
    require_on(door.cluster)
    person = next((one.member.user for one in candidates(door) if one.member.user.username == account), None)
    if person is None:
        why = f"{account[:40] or 'Nobody'} may open no terminal here, or has a login already."
        raise Rejected("No login was added.", (Problem("account", why, "Choose one of the list."),))
    identity = identify(team, person, name)
    user = LoginUser(identity.name, identity.number, keys=keys_of([person.pk]).get(person.pk, ()))
    return _propose(door, _with(door.cluster, logins, _wished(user, wish)), base, start_at)


def edit(door: Door, name: str, wish: Wish, *, base: int | None, start_at: When = None) -> Change:
    """Other groups, or sudo. Raises Missing, and what `changes.propose` raises."""
    _may_change(door)
    require_on(door.cluster)
    user = _wished(user_of(door.cluster, name), wish)
    return _propose(door, _with(door.cluster, door.cluster.spec.logins, user), base, start_at)


def remove(door: Door, name: str, *, jobs: str, home: str, base: int | None, start_at: When = None) -> Change:
    """Raises Missing, and what `changes.propose` raises."""
    _may_change(door)
    require_on(door.cluster)
    after = removed(door.cluster.spec, user_of(door.cluster, name), jobs=jobs, home=home)
    return _propose(door, after.logins, base, start_at)


def removed(spec: ClusterSpec, user: LoginUser, *, jobs: str, home: str) -> ClusterSpec:
    stays = tuple(other for other in spec.logins.users if other.name != user.name)
    leaver = Leaver(user.name, user.uid, jobs, home)
    return spec.with_logins(_tidy(replace(spec.logins, users=stays, leavers=(leaver,))))


def drafted(cluster: Cluster, name: str, person: User | None, wish: Wish) -> ClusterSpec:
    """As it would be with this login user, for a preview: what has no number yet has none of ours."""
    logins = cluster.spec.logins
    known = identity_of(cluster.team, person) if person else None
    user = logins.user(name) or LoginUser(name, known.number if known else MOST_NUMBER)
    others = tuple(other for other in logins.users if other.name != user.name)
    after = replace(user, sudo=wish.sudo, groups=wish.groups)
    return cluster.spec.with_logins(replace(logins, users=(*others, after), leavers=()))


def _wished(user: LoginUser, wish: Wish) -> LoginUser:
    return replace(user, groups=tuple(sorted(set(wish.groups))), sudo=wish.sudo)


def _with(cluster: Cluster, logins: Logins, user: LoginUser) -> Logins:
    """In the order of names, so that diffs read well. Makes groups that are not there yet."""
    others = [other for other in logins.users if other.name != user.name]
    users = tuple(sorted([*others, user], key=lambda one: one.name))
    groups = groups_of(cluster.team, (name for one in users for name in one.groups))
    return replace(logins, users=users, groups=groups, leavers=())


def _tidy(logins: Logins) -> Logins:
    """Without groups that nobody is in."""
    used = {name for user in logins.users for name in user.groups}
    return replace(logins, groups=tuple(group for group in logins.groups if group.name in used))


def _propose(door: Door, logins: Logins, base: int | None, start_at: When) -> Change:
    after = door.cluster.spec.with_logins(logins)
    return changes.propose(door.cluster, after, base=base, by=door.membership, start_at=start_at)


def _may_change(door: Door) -> None:
    """Before a number is given out."""
    door.require(Action.CHANGE_CLUSTER)


def require_on(cluster: Cluster) -> None:
    """Raises Conflict where there are no login users to change."""
    if not cluster.spec.logins.on:
        raise Conflict(
            f"{cluster.slug} has no login users: everybody is root there.",
            "Switch them on under Users & keys.",
        )
