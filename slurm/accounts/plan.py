"""A change of accounts, people or QOS as the commands of sacctmgr that make it, to be shown and then run as shown.

Pure. A plan holds only what differs from the book, names the cluster wherever sacctmgr would else reach others, and is
empty when nothing would change. What must not be asked of sacctmgr at all is `accounts.check`; both see to it that
every word is a single argument. Source: sacctmgr(1), 24.11 and 26.05.
"""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase

from console.words import listed
from slurm.accounts.book import Book
from slurm.accounts.limits import ASSOCIATION_LIMITS, QOS_LIMITS, Limit, setting
from slurm.outputs.accounts import Account, Association, Qos

# Immediately: nobody is there to answer sacctmgr's question.
SACCTMGR = ("sacctmgr", "-i")
_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


@dataclass(frozen=True)
class Command:
    """`doing` is what it is for, as in "Could not ...": `add the account llm below root`."""

    argv: tuple[str, ...]
    doing: str
    stdin: bytes = b""

    @property
    def says(self) -> str:
        return f"{self.doing[0].upper()}{self.doing[1:]}."

    @property
    def shown(self) -> str:
        """As one would type it into a shell."""
        return shlex.join(self.argv)


Plan = tuple[Command, ...]


def add_account(book: Book, account: Account, own: Association) -> Plan:
    words = [
        f"parent={own.parent}",
        *([f"description={account.description}"] if account.description else []),
        *([f"organization={account.organization}"] if account.organization else []),
        *_settings(Association(own.account), own),
    ]
    argv = (*SACCTMGR, "add", "account", own.account, f"cluster={book.cluster}", *words)
    return (Command(argv, f"add the account {own.account} below {own.parent}"),)


def change_account(book: Book, account: Account, own: Association) -> Plan:
    """At most two commands, so that a new parent stands alone: it moves everything below the account with it."""
    before, about = book.account(own.account), book.about(own.account)
    assert before is not None
    where = (*SACCTMGR, "modify", "account", "where", f"name={own.account}", f"cluster={book.cluster}", "set")
    words = [
        *_text("description", about.description, account.description),
        *_text("organization", about.organization, account.organization),
        *_settings(before, own),
    ]
    plan = (Command((*where, *words), f"set {_named(words)} of the account {own.account}"),) if words else ()
    if own.parent == before.parent:
        return plan
    doing = f"move {own.account}, with all below it, from {before.parent} to {own.parent}"
    return (*plan, Command((*where, f"parent={own.parent}"), doing))


def remove_account(book: Book, name: str) -> Plan:
    argv = (*SACCTMGR, "remove", "account", "where", f"name={name}", f"cluster={book.cluster}")
    return (Command(argv, f"remove the account {name}"),)


def change_coordinators(book: Book, account: str, wanted: Sequence[str]) -> Plan:
    """Who is new, then who is no longer one. sacctmgr keeps coordinators for all clusters of a database together."""
    before = book.coordinators_of(account)
    added = [name for name in wanted if name not in before]
    gone = [name for name in before if name not in wanted]
    plans = (("add", "make", added, "coordinate"), ("remove", "let", gone, "no longer coordinate"))
    return tuple(
        Command(
            (*SACCTMGR, verb, "coordinator", f"account={account}", f"names={','.join(names)}"),
            f"{doing} {listed(names)} {what} {account}",
        )
        for verb, doing, names, what in plans
        if names
    )


def add_member(book: Book, own: Association, *, make_default: bool) -> Plan:
    """A user in an account; the user is made if the database does not have it. The first account is the default."""
    words = [
        *([f"partition={own.partition}"] if own.partition else []),
        *_settings(Association(own.account, own.user), own),
    ]
    where = f" in the partition {own.partition}" if own.partition else ""
    argv = (*SACCTMGR, "add", "user", own.user, f"account={own.account}", f"cluster={book.cluster}", *words)
    plan = (Command(argv, f"add {own.user} to the account {own.account}{where}"),)
    return (*plan, *_default(book, own)) if make_default and book.of_user(own.user) else plan


def change_member(book: Book, own: Association, *, make_default: bool) -> Plan:
    before = book.membership(own.user, own.account, own.partition)
    assert before is not None
    words = _settings(before, own)
    argv = (*SACCTMGR, "modify", "user", "where", *_which(book, own), "set", *words)
    doing = f"set {_named(words)} of {own.user} in {own.account}"
    plan = (Command(argv, doing),) if words else ()
    return (*plan, *_default(book, own)) if make_default and not before.is_default else plan


def remove_member(book: Book, own: Association) -> Plan:
    """Out of the account; with the last one, out of the database."""
    if len(book.of_user(own.user)) == 1:
        return remove_user(book, own.user)
    argv = (*SACCTMGR, "remove", "user", "where", *_which(book, own))
    return (Command(argv, f"take {own.user} out of the account {own.account}"),)


def remove_user(book: Book, user: str) -> Plan:
    argv = (*SACCTMGR, "remove", "user", "where", f"name={user}", f"cluster={book.cluster}")
    return (Command(argv, f"take {user} out of every account"),)


def add_qos(qos: Qos) -> Plan:
    words = [
        *([f"description={qos.description}"] if qos.description else []),
        *_qos_settings(Qos(qos.name), qos),
    ]
    argv = (*SACCTMGR, "add", "qos", qos.name, *words)
    return (Command(argv, f"add the QOS {qos.name}"),)


def change_qos(book: Book, qos: Qos) -> Plan:
    before = book.named_qos(qos.name)
    assert before is not None
    words = [*_text("description", before.description, qos.description), *_qos_settings(before, qos)]
    argv = (*SACCTMGR, "modify", "qos", "where", f"name={qos.name}", "set", *words)
    return (Command(argv, f"set {_named(words)} of the QOS {qos.name}"),) if words else ()


def remove_qos(name: str) -> Plan:
    argv = (*SACCTMGR, "remove", "qos", "where", f"name={name}")
    return (Command(argv, f"remove the QOS {name}"),)


def load(book: Book, dump: bytes) -> Plan:
    """sacctmgr's own reader of what it dumped. It adds and changes, and takes nothing away."""
    argv = (*SACCTMGR, "load", "file=/dev/stdin")
    return (Command(argv, f"read the file into the accounts of {book.cluster}", stdin=dump),)


def _default(book: Book, own: Association) -> Plan:
    argv = (*SACCTMGR, "modify", "user", "where", f"name={own.user}", f"cluster={book.cluster}", "set")
    doing = f"make {own.account} the default account of {own.user}"
    return (Command((*argv, f"defaultaccount={own.account}"), doing),)


def _which(book: Book, own: Association) -> tuple[str, ...]:
    """One association and no other: sacctmgr takes a condition that is left out for any."""
    partition = (f"partition={own.partition}",) if own.partition else ()
    return (f"name={own.user}", f"account={own.account}", f"cluster={book.cluster}", *partition)


def _settings(before: Association, after: Association) -> list[str]:
    """An empty list of QOS is the parent's; -1 takes a default QOS away."""
    shares = "parent" if after.shares is None else str(after.shares)
    return [
        *([f"fairshare={shares}"] if after.shares != before.shares else []),
        *([f"qos={','.join(after.qos)}"] if set(after.qos) != set(before.qos) else []),
        *([f"defaultqos={after.default_qos or -1}"] if after.default_qos != before.default_qos else []),
        *_limits(ASSOCIATION_LIMITS, before.limits, after.limits),
    ]


def _qos_settings(before: Qos, after: Qos) -> list[str]:
    mode = after.preempt_mode or "cluster"
    return [
        *([f"priority={after.priority}"] if after.priority != before.priority else []),
        *([f"gracetime={after.grace_s}"] if after.grace_s != before.grace_s else []),
        *([f"preempt={','.join(after.preempt)}"] if set(after.preempt) != set(before.preempt) else []),
        *([f"preemptmode={mode}"] if after.preempt_mode != before.preempt_mode else []),
        *([f"flags={','.join(after.flags) or -1}"] if set(after.flags) != set(before.flags) else []),
        *([f"usagefactor={after.usage_factor:g}"] if after.usage_factor != before.usage_factor else []),
        *_limits(QOS_LIMITS, before.limits, after.limits),
    ]


def _limits(known: Iterable[Limit], before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    words = (setting(limit, before.get(limit.option, ""), after.get(limit.option, "")) for limit in known)
    return [word for word in words if word]


def _text(option: str, before: str, after: str) -> list[str]:
    """An empty text is left alone: sacctmgr puts the name in its place. Of A to Z it keeps lower case."""
    return [f"{option}={after}"] if after and after.translate(_LOWER) != before else []


def _named(words: Iterable[str]) -> str:
    return ", ".join(word.partition("=")[0] for word in words)
