"""What speaks against a change of accounts, people or QOS before sacctmgr is asked.

Pure. sacctmgr does not ask: it moves an account below one that is not there, loops for ever on a circle of parents,
takes the people out of an account that it removes, and removes a QOS that jobs and partitions use (24.11 and 26.05).
Paths of problems are the names of form and API fields.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from clusters.spec import PartitionSpec
from console.errors import Problem
from console.words import count, listed
from slurm.accounts.book import NAME, ROOT, Book
from slurm.outputs.accounts import Account, Association, Qos

MOST_TEXT = 200
_PLAIN = re.compile(r"[^'\"`\\]*")
NORMAL = "normal"


@dataclass(frozen=True)
class InUse:
    """Unfinished jobs by account, user and QOS, and the partitions, as seen last."""

    jobs_by_account: Mapping[str, int] = field(default_factory=dict)
    jobs_by_user: Mapping[tuple[str, str], int] = field(default_factory=dict)
    jobs_by_qos: Mapping[str, int] = field(default_factory=dict)
    partitions: Collection[PartitionSpec] = ()


def check_new_account(book: Book, account: Account, own: Association) -> tuple[Problem, ...]:
    found = [*_check_name("name", own.account), *_check_account(book, account, own)]
    if book.account(own.account):
        found.append(Problem("name", f"There is an account {own.account} already."))
    return tuple(found)


def check_account(book: Book, account: Account, own: Association) -> tuple[Problem, ...]:
    """Of one that exists. A circle would hang slurmdbd, so this is the only place that keeps it out."""
    found = list(_check_account(book, account, own))
    if own.account == ROOT and own.parent:
        found.append(Problem("parent", "root has nothing above it."))
    elif own.parent in book.below(own.account):
        found.append(
            Problem("parent", f"{own.parent} is below {own.account}, or is it: that would be a circle.")
        )
    return tuple(found)


def _check_account(book: Book, account: Account, own: Association) -> tuple[Problem, ...]:
    found = [
        *_check_text("description", account.description),
        *_check_text("organization", account.organization),
    ]
    if own.account != ROOT and book.account(own.parent) is None:
        found.append(Problem("parent", f"There is no account {own.parent[:64]}."))
    return (*found, *_check_association(book, own, book.above(own.parent)))


def check_coordinators(book: Book, wanted: Collection[str]) -> tuple[Problem, ...]:
    unknown = [name for name in wanted if not NAME.fullmatch(name) or book.user(name) is None]
    if not unknown:
        return ()
    text = f"{listed([name[:64] for name in unknown])} {_be(unknown)} in no account."
    return (Problem("coordinators", text, "Add them to an account first."),)


def check_new_member(book: Book, own: Association, partitions: Collection[str]) -> tuple[Problem, ...]:
    found = [*_check_name("user", own.user), *check_member(book, own)]
    if own.partition and own.partition not in partitions:
        found.append(Problem("partition", f"There is no partition {own.partition[:64]}."))
    if book.membership(own.user, own.account, own.partition):
        found.append(Problem("user", f"{own.user} is in {own.account} already."))
    return tuple(found)


def check_member(book: Book, own: Association) -> tuple[Problem, ...]:
    if book.account(own.account) is None:
        return (Problem("account", f"There is no account {own.account[:64]}."),)
    return _check_association(book, own, book.above(own.account))


def check_new_qos(book: Book, qos: Qos) -> tuple[Problem, ...]:
    found = [*_check_name("name", qos.name), *check_qos(book, qos)]
    if book.named_qos(qos.name):
        found.append(Problem("name", f"There is a QOS {qos.name} already."))
    return tuple(found)


def check_qos(book: Book, qos: Qos) -> tuple[Problem, ...]:
    found = [*_check_text("description", qos.description), *_check_qos_names("preempt", book, qos.preempt)]
    if qos.name in qos.preempt:
        found.append(Problem("preempt", f"{qos.name} cannot push its own jobs aside."))
    return tuple(found)


def why_account_stays(book: Book, name: str, in_use: InUse) -> tuple[str, ...]:
    """Every reason why the account cannot be removed now, a sentence each."""
    if name == ROOT:
        return ("root is what all accounts hang on, and the console's own jobs run in it.",)
    people = [one.user for one in book.people_of(name)]
    children = list(book.children_of(name))
    open_to = [one.name for one in in_use.partitions if name in one.allow_accounts]
    reasons = [
        (children, f"{listed(children)} {_be(children)} below it. Move or remove {_them(children)} first."),
        (people, f"{listed(people)} {_be(people)} in it. Take {_them(people)} out first."),
        (
            in_use.jobs_by_account.get(name),
            f"{_jobs(in_use.jobs_by_account.get(name, 0))} of it in the queue. Wait, or cancel first.",
        ),
        (open_to, f"The partitions {listed(open_to)} name it. Change them in the Partitions tab first."),
    ]
    return tuple(sentence for holds, sentence in reasons if holds)


def why_member_stays(book: Book, own: Association, in_use: InUse) -> tuple[str, ...]:
    others = [one for one in book.of_user(own.user) if one.account != own.account]
    if (own.user, own.account) == (ROOT, ROOT):
        return ("The console submits and drives as root.",)
    jobs = in_use.jobs_by_user.get((own.user, own.account), 0)
    reasons = [
        (
            own.is_default and others,
            f"It is the default account of {own.user}. Make another one the default first.",
        ),
        (jobs, f"{_jobs(jobs)} of {own.user} in it in the queue. Wait, or cancel first."),
    ]
    return tuple(sentence for holds, sentence in reasons if holds)


def why_user_stays(user: str, in_use: InUse) -> tuple[str, ...]:
    if user == ROOT:
        return ("The console submits and drives as root.",)
    jobs = sum(count for (name, _), count in in_use.jobs_by_user.items() if name == user)
    return (f"{_jobs(jobs)} of {user} in the queue.",) if jobs else ()


def why_qos_stays(book: Book, name: str, in_use: InUse) -> tuple[str, ...]:
    """sacctmgr would remove it all the same: its jobs would wait, and 26.05 not start with such a partition."""
    holders = [
        f"{one.user} in {one.account}" if one.user else one.account for one in book.own if name in one.qos
    ]
    defaults = [
        f"{one.user} in {one.account}" if one.user else one.account
        for one in book.own
        if name == one.default_qos
    ]
    pushed = [one.name for one in book.qos if name in one.preempt]
    on = [one.name for one in in_use.partitions if name in (one.qos, *one.allow_qos)]
    jobs = in_use.jobs_by_qos.get(name, 0)
    reasons = [
        (
            holders,
            f"{listed(holders)} may use it. Take it out of {'their lists' if len(holders) > 1 else 'the list'} first.",
        ),
        (set(defaults) - set(holders), f"It is the default of {listed(defaults)}."),
        (on, f"The partitions {listed(on)} name it. Change them in the Partitions tab first."),
        (pushed, f"{listed(pushed)} may push its jobs aside. Change {_them(pushed)} first."),
        (jobs, f"{_jobs(jobs)} with it in the queue."),
    ]
    if name == NORMAL:
        return (f"{NORMAL} is what every account starts with.", *(s for holds, s in reasons if holds))
    return tuple(sentence for holds, sentence in reasons if holds)


def _check_association(book: Book, own: Association, above: Collection[str]) -> tuple[Problem, ...]:
    found = list(_check_qos_names("qos", book, own.qos))
    usable = set(own.qos) or _inherited(book, above)
    if own.default_qos and book.named_qos(own.default_qos) is None:
        found.append(Problem("default_qos", f"There is no QOS {own.default_qos[:64]}."))
    elif own.default_qos and own.default_qos not in usable:
        found.append(Problem("default_qos", f"{own.default_qos} is not among the QOS that may be used here."))
    if own.shares is not None and not 0 <= own.shares < 2**31 - 1:
        found.append(Problem("shares", "Shares are a whole number from 0 to 2147483646."))
    return tuple(found)


def _inherited(book: Book, above: Collection[str]) -> set[str]:
    """What the nearest account above that says something allows."""
    own = (book.account(name) for name in above)
    return next((set(one.qos) for one in own if one and one.qos), {NORMAL})


def _check_qos_names(path: str, book: Book, names: Collection[str]) -> tuple[Problem, ...]:
    unknown = [name[:64] for name in names if book.named_qos(name) is None]
    return (Problem(path, f"There is no QOS {listed(unknown)}."),) if unknown else ()


def _check_name(path: str, name: str) -> tuple[Problem, ...]:
    if NAME.fullmatch(name):
        return ()
    rule = "lower-case letters, digits, _, - and ., at most 63, the first a letter, a digit or _"
    return (Problem(path, f"“{name[:40]}” is not a name: {rule}."),)


def _check_text(path: str, text: str) -> tuple[Problem, ...]:
    if len(text) > MOST_TEXT:
        return (Problem(path, f"At most {MOST_TEXT} characters."),)
    if not text.isprintable() or not _PLAIN.fullmatch(text):
        return (Problem(path, "No line ends, quotation marks or backslashes: sacctmgr would not keep them."),)
    return ()


def _jobs(number: int) -> str:
    return f"{count(number, 'job')} {'is' if number == 1 else 'are'}"


def _be(names: Collection[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _them(names: Collection[str]) -> str:
    return "it" if len(names) == 1 else "them"
