"""Accounts, users and QOS of a cluster as lists, and one account whole."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse

from clusters.access import Door, cluster_view
from clusters.models import Cluster
from console.errors import Missing
from console.page import render_page
from console.roles import Action
from slurm.accounts.accounting import in_use
from slurm.accounts.book import NAME, Book, Branch
from slurm.accounts.check import InUse
from slurm.accounts.limit_words import Told, told
from slurm.accounts.limits import ASSOCIATION_LIMITS, QOS_LIMITS
from slurm.outputs.accounts import AccountUser, Association, Qos
from slurm.views.account_frame import about

PAGE_SIZE = 100
T = TypeVar("T")


@dataclass(frozen=True)
class AccountRow:
    """`is_odd`: a name that sacctmgr took from elsewhere and the console offers nothing for."""

    branch: Branch
    limits: list[Told]
    jobs: int

    @property
    def name(self) -> str:
        return self.branch.own.account

    @property
    def is_odd(self) -> bool:
        return self.branch.is_odd


@dataclass(frozen=True)
class MemberRow:
    own: Association
    in_force: Association
    limits: list[Told]
    jobs: int

    @property
    def is_odd(self) -> bool:
        return not NAME.fullmatch(self.own.user)


@dataclass(frozen=True)
class UserRow:
    user: AccountUser
    associations: tuple[Association, ...]
    jobs: int

    @property
    def is_odd(self) -> bool:
        return not NAME.fullmatch(self.user.name)


@dataclass(frozen=True)
class QosRow:
    qos: Qos
    limits: list[Told]
    holders: int
    partitions: list[str]
    jobs: int

    @property
    def is_odd(self) -> bool:
        return not NAME.fullmatch(self.qos.name)


@cluster_view(Action.VIEW_ACCOUNTS)
def accounts(request: HttpRequest, door: Door) -> HttpResponse:
    context = about(door, "accounts")
    if isinstance(book := context["book"], Book):
        use, tree = in_use(door.cluster), book.tree()
        page = _page(request, context, tree, lambda one: (one.own.account, one.account.description))
        context |= {"rows": [_account_row(one, use) for one in page], "total": len(tree)}
    return render_page(request, "slurm/accounts.html", context)


@cluster_view(Action.VIEW_ACCOUNTS)
def account(request: HttpRequest, door: Door, account: str) -> HttpResponse:
    """One account: what is set on it, what holds, its people, and the partitions that name it."""
    context = about(door, "accounts")
    if isinstance(book := context["book"], Book):
        branch = next((one for one in book.tree() if one.own.account == account), None)
        if branch is None:
            raise Missing(
                f"{door.cluster.slug} has no account {account[:64]}.", "The Accounts page lists all."
            )
        use = in_use(door.cluster)
        people = _page(request, context, branch.people, lambda one: (one.user, one.partition))
        own = book.coordinators_of(account)
        context |= {
            "row": _account_row(branch, use),
            "in_force": told(ASSOCIATION_LIMITS, branch.in_force.limits),
            "people": [_member_row(book, one, use) for one in people],
            "coordinators": own,
            "coordinators_above": [name for name in branch.account.coordinators if name not in own],
            "children": book.children_of(account),
            "above": [name for name in reversed(book.above(account)) if name != account],
            "partitions": [one for one in door.cluster.spec.partitions if account in one.allow_accounts],
        }
    context["name"] = account
    return render_page(request, "slurm/account.html", context)


@cluster_view(Action.VIEW_ACCOUNTS)
def users(request: HttpRequest, door: Door) -> HttpResponse:
    context = about(door, "account-users")
    if isinstance(book := context["book"], Book):
        use = in_use(door.cluster)
        everybody = sorted(book.users, key=lambda one: one.name)
        page = _page(
            request,
            context,
            everybody,
            lambda one: (one.name, *(held.account for held in book.of_user(one.name))),
        )
        context |= {"rows": [_user_row(book, one, use) for one in page], "total": len(everybody)}
    return render_page(request, "slurm/account_users.html", context)


@cluster_view(Action.VIEW_ACCOUNTS)
def qos(request: HttpRequest, door: Door) -> HttpResponse:
    context = about(door, "qos")
    if isinstance(book := context["book"], Book):
        use = in_use(door.cluster)
        context["rows"] = [_qos_row(book, one, door.cluster, use) for one in book.qos]
    return render_page(request, "slurm/qos.html", context)


def _page(
    request: HttpRequest,
    context: dict[str, object],
    everything: Sequence[T],
    words: Callable[[T], Sequence[str]],
) -> Page[T]:
    """Those that `?q=` fits, 100 a page, put into the context as `page` and `q`."""
    asked = request.GET.get("q", "").strip()[:64]
    found = [
        one for one in everything if not asked or any(asked.lower() in word.lower() for word in words(one))
    ]
    page = Paginator(found, PAGE_SIZE).get_page(request.GET.get("page"))
    context |= {"q": asked, "page": page}
    return page


def _account_row(branch: Branch, use: InUse) -> AccountRow:
    limits = told(ASSOCIATION_LIMITS, branch.own.limits)
    return AccountRow(branch, limits, use.jobs_by_account.get(branch.own.account, 0))


def _member_row(book: Book, own: Association, use: InUse) -> MemberRow:
    key = (own.account, own.partition)
    in_force = next((one for one in book.of_user(own.user) if (one.account, one.partition) == key), own)
    jobs = use.jobs_by_user.get((own.user, own.account), 0)
    return MemberRow(own, in_force, told(ASSOCIATION_LIMITS, own.limits), jobs)


def _user_row(book: Book, user: AccountUser, use: InUse) -> UserRow:
    jobs = sum(number for (name, _), number in use.jobs_by_user.items() if name == user.name)
    return UserRow(user, book.of_user(user.name), jobs)


def _qos_row(book: Book, qos: Qos, cluster: Cluster, use: InUse) -> QosRow:
    return QosRow(
        qos=qos,
        limits=told(QOS_LIMITS, qos.limits),
        holders=sum(qos.name in one.qos for one in book.in_force),
        partitions=[one.name for one in cluster.spec.partitions if qos.name in (one.qos, *one.allow_qos)],
        jobs=use.jobs_by_qos.get(qos.name, 0),
    )
