"""The accounting database of one cluster as a whole: accounts, people, QOS, and how they hang together.

Pure. What is asked of it here, pages, plans and checks share: the tree, who is in what, and which limit holds.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from slurm.outputs.accounts import Account, AccountUser, Association, Qos

ROOT = "root"
# What the console takes as a name; Slurm itself takes any byte. Lower case, as sacctmgr makes it.
NAME = re.compile(r"[a-z0-9_][a-z0-9_.-]{0,62}")


@dataclass(frozen=True)
class Branch:
    """An account in the tree: how deep it stands, what is set on it, what holds for it, and the people in it."""

    depth: int
    own: Association
    in_force: Association
    account: Account
    people: tuple[Association, ...]
    is_odd: bool


@dataclass(frozen=True)
class Book:
    """`own` holds what is set on each association, `in_force` the same with what the parents add; same order."""

    cluster: str
    accounts: tuple[Account, ...]
    users: tuple[AccountUser, ...]
    own: tuple[Association, ...]
    in_force: tuple[Association, ...]
    qos: tuple[Qos, ...]

    def account(self, name: str) -> Association | None:
        """What is set on the account itself."""
        return self._accounts.get(name)

    def about(self, name: str) -> Account:
        return self._about.get(name, Account(name))

    def user(self, name: str) -> AccountUser | None:
        return self._users.get(name)

    def named_qos(self, name: str) -> Qos | None:
        return next((one for one in self.qos if one.name == name), None)

    def coordinators_of(self, account: str) -> tuple[str, ...]:
        """Those of the account itself. sacctmgr names who coordinates an account above it, too: somebody who does both
        counts there alone."""
        one = self.account(account)
        above = self.about(one.parent).coordinators if one and one.parent else ()
        return tuple(name for name in self.about(account).coordinators if name not in above)

    def membership(self, user: str, account: str, partition: str = "") -> Association | None:
        """What is set on it itself."""
        found = (one for one in self.people_of(account) if (one.user, one.partition) == (user, partition))
        return next(found, None)

    def of_user(self, user: str) -> tuple[Association, ...]:
        """The person's associations as they hold, in every account and partition."""
        return self._of_user.get(user, ())

    @property
    def limited(self) -> int:
        """How many accounts, people in them and QOS have a limit set on them."""
        return sum(bool(one.limits) for one in self.own) + sum(bool(one.limits) for one in self.qos)

    def people_of(self, account: str) -> tuple[Association, ...]:
        """Its own people, not those of accounts below it."""
        return self._people.get(account, ())

    def children_of(self, account: str) -> tuple[str, ...]:
        return self._children.get(account, ())

    def below(self, account: str) -> frozenset[str]:
        """The account and everything under it."""
        found, left = {account}, [account]
        while left:
            fresh = [name for name in self.children_of(left.pop()) if name not in found]
            found.update(fresh)
            left += fresh
        return frozenset(found)

    def above(self, account: str) -> tuple[str, ...]:
        """The account, its parent, and so on up to root; each once, whatever the database says."""
        found: list[str] = []
        here = account
        while here and here not in found:
            found.append(here)
            one = self.account(here)
            here = one.parent if one else ""
        return tuple(found)

    def tree(self) -> tuple[Branch, ...]:
        """Parents before children, siblings by name. What hangs on no root (sacctmgr takes parents that are not there,
        and circles) comes last."""
        rooted = tuple(self._branches(ROOT, 0))
        met = {branch.own.account for branch in rooted}
        return (*rooted, *(self._branch(one, 0) for name, one in self._accounts.items() if name not in met))

    def _branches(self, name: str, depth: int) -> Iterator[Branch]:
        """Each account has one parent, so what hangs on root is no circle."""
        own = self.account(name)
        if own is None:
            return
        yield self._branch(own, depth)
        for child in self.children_of(name):
            yield from self._branches(child, depth + 1)

    def _branch(self, own: Association, depth: int) -> Branch:
        name = own.account
        in_force = self._accounts_in_force.get(name, own)
        return Branch(depth, own, in_force, self.about(name), self.people_of(name), not NAME.fullmatch(name))

    @cached_property
    def _about(self) -> dict[str, Account]:
        return {one.name: one for one in self.accounts}

    @cached_property
    def _users(self) -> dict[str, AccountUser]:
        return {one.name: one for one in self.users}

    @cached_property
    def _of_user(self) -> dict[str, tuple[Association, ...]]:
        found: dict[str, list[Association]] = {}
        for one in self.in_force:
            if one.user:
                found.setdefault(one.user, []).append(one)
        return {name: tuple(all_) for name, all_ in found.items()}

    @cached_property
    def _accounts(self) -> dict[str, Association]:
        return {one.account: one for one in self.own if not one.user}

    @cached_property
    def _accounts_in_force(self) -> dict[str, Association]:
        return {one.account: one for one in self.in_force if not one.user}

    @cached_property
    def _children(self) -> dict[str, tuple[str, ...]]:
        names: dict[str, list[str]] = {}
        for one in self._accounts.values():
            names.setdefault(one.parent, []).append(one.account)
        return {parent: tuple(sorted(found)) for parent, found in names.items()}

    @cached_property
    def _people(self) -> dict[str, tuple[Association, ...]]:
        found: dict[str, list[Association]] = {}
        for one in self.own:
            if one.user:
                found.setdefault(one.account, []).append(one)
        return {name: tuple(sorted(all_, key=_by_name)) for name, all_ in found.items()}


def _by_name(one: Association) -> tuple[str, str]:
    return one.user, one.partition
