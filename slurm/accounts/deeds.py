"""What the forms and the API do to accounts, people and QOS: each act as its problems, its commands and its words.

An act is made from a form that was read, and carried out by `slurm.accounts.accounting`. Nothing here asks the cluster.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from console.errors import Problem
from console.words import listed
from slurm.accounts import check as checks
from slurm.accounts import plan as plans
from slurm.accounts.book import Book
from slurm.accounts.check import InUse
from slurm.accounts.forms import AccountForm, CoordinatorsForm, MemberForm, QosForm
from slurm.accounts.plan import Plan
from slurm.outputs.accounts import Association


@dataclass(frozen=True)
class Deed:
    """`verb` and `target` are the event's, `title` the dialog's, `said` the message afterwards, `lost` the price."""

    verb: str
    target: str
    title: str
    said: str
    problems: tuple[Problem, ...]
    plan: Callable[[], Plan]
    lost: str = ""


def adding_account(book: Book, form: AccountForm) -> Deed:
    account, own = form.account, form.wanted
    return Deed(
        "account.add",
        account.name,
        "Add an account",
        f"The account {account.name} is there.",
        checks.check_new_account(book, account, own),
        lambda: plans.add_account(book, account, own),
    )


def changing_account(book: Book, form: AccountForm) -> Deed:
    account, own = form.account, form.wanted
    return Deed(
        "account.change",
        account.name,
        f"Edit the account {account.name}",
        f"The account {account.name} is changed.",
        checks.check_account(book, account, own),
        lambda: plans.change_account(book, account, own),
    )


def removing_account(book: Book, name: str, in_use: InUse) -> Deed:
    return Deed(
        "account.remove",
        name,
        f"Remove the account {name}",
        f"The account {name} is gone.",
        _of_no_field(checks.why_account_stays(book, name, in_use)),
        lambda: plans.remove_account(book, name),
        "What its jobs used stays in the history.",
    )


def changing_coordinators(book: Book, form: CoordinatorsForm) -> Deed:
    account, wanted = form.account, form.wanted
    return Deed(
        "account.coordinators",
        account,
        f"Coordinators of the account {account}",
        f"{listed(list(wanted))} {'coordinates' if len(wanted) == 1 else 'coordinate'} {account}."
        if wanted
        else f"Nobody coordinates {account} any more.",
        checks.check_coordinators(book, wanted),
        lambda: plans.change_coordinators(book, account, wanted),
    )


def adding_member(book: Book, form: MemberForm, partitions: Sequence[str]) -> Deed:
    own = form.wanted
    return Deed(
        "account.add-user",
        f"{own.user} in {own.account}",
        f"Add a user to the account {own.account}",
        f"{own.user} is in the account {own.account}.",
        checks.check_new_member(book, own, partitions),
        lambda: plans.add_member(book, own, make_default=form.make_default),
    )


def changing_member(book: Book, form: MemberForm) -> Deed:
    own = form.wanted
    return Deed(
        "account.change-user",
        f"{own.user} in {own.account}",
        f"Edit {own.user} in the account {own.account}",
        f"{own.user} in {own.account} is changed.",
        checks.check_member(book, own),
        lambda: plans.change_member(book, own, make_default=form.make_default),
    )


def removing_member(book: Book, own: Association, in_use: InUse) -> Deed:
    user = own.user
    is_last = len(book.of_user(user)) == 1
    return Deed(
        "account.remove-user",
        f"{user} in {own.account}",
        f"Take {user} out of the account {own.account}",
        f"{user} is no longer in {own.account}.",
        _of_no_field(checks.why_member_stays(book, own, in_use)),
        lambda: plans.remove_member(book, own),
        f"It is the last account of {user}: where jobs need one, {user} can submit none." if is_last else "",
    )


def removing_user(book: Book, user: str, in_use: InUse) -> Deed:
    return Deed(
        "account.remove-user",
        user,
        f"Remove the user {user}",
        f"{user} is in no account any more.",
        _of_no_field(checks.why_user_stays(user, in_use)),
        lambda: plans.remove_user(book, user),
        "The login on the cluster stays; where jobs need an account, none can be submitted.",
    )


def adding_qos(book: Book, form: QosForm) -> Deed:
    qos = form.wanted
    return Deed(
        "qos.add",
        qos.name,
        "Add a QOS",
        f"The QOS {qos.name} is there. Accounts and users may use it once it is in their list.",
        checks.check_new_qos(book, qos),
        lambda: plans.add_qos(qos),
    )


def changing_qos(book: Book, form: QosForm) -> Deed:
    qos = form.wanted
    return Deed(
        "qos.change",
        qos.name,
        f"Edit the QOS {qos.name}",
        f"The QOS {qos.name} is changed.",
        checks.check_qos(book, qos),
        lambda: plans.change_qos(book, qos),
    )


def removing_qos(book: Book, name: str, in_use: InUse) -> Deed:
    return Deed(
        "qos.remove",
        name,
        f"Remove the QOS {name}",
        f"The QOS {name} is gone.",
        _of_no_field(checks.why_qos_stays(book, name, in_use)),
        lambda: plans.remove_qos(name),
    )


def _of_no_field(reasons: Sequence[str]) -> tuple[Problem, ...]:
    return tuple(Problem("", reason) for reason in reasons)
