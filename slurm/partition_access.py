"""Whom a partition lets in: which accounts, QOS and Unix groups there are, and whether it names others.

slurm.conf's own checks see spelling alone, and slurmctld takes accounts and groups that are not there without a word,
so that nobody comes in (24.11 and 26.05). Blocks for two exchanges with the platform, three where groups are asked for.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from clusters.lifecycle import Status, Step, refusal
from clusters.models import Cluster
from clusters.spec import ClusterSpec, PartitionSpec
from clusters.validate import WORD
from console.errors import ConsoleError, Problem, Unavailable
from console.words import listed
from slurm.accounts.accounting import Ledger, ledger_of
from slurm.accounts.book import NAME
from slurm.outputs.text import decoded

ASK_S = 4.0
ADDED_THERE = "The Accounts tab lists them, and adds new ones."


@dataclass(frozen=True)
class Access:
    """What may be named. `note` is a sentence on what naming it does not do as things are, empty if all is well."""

    accounts: tuple[str, ...] = ()
    qos: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    note: str = ""


def access_of(cluster: Cluster) -> Access:
    """For the form. Raises nothing: what does not answer leaves its list empty."""
    groups = tuple(sorted(_spec_groups(cluster.spec)))
    if refusal(Status(cluster.status), Step.OPERATE):
        return Access(groups=groups)
    try:
        ledger = ledger_of(cluster)
    except ConsoleError as error:
        return Access(
            groups=groups, note=f"Which accounts and QOS there are is not known now: {error.message}"
        )
    if ledger.book is None:
        return Access(
            groups=groups, note="The cluster keeps no accounting: only groups can be told apart here."
        )
    accounts = tuple(
        sorted(one.account for one in ledger.book.own if not one.user and NAME.fullmatch(one.account))
    )
    return Access(accounts, tuple(one.name for one in ledger.book.qos), groups, _not_enforced(ledger))


def access_problems(
    cluster: Cluster, partition: PartitionSpec, before: PartitionSpec | None
) -> tuple[Problem, ...]:
    """Names that are not there, each at its field. What `before` named too is not asked about: whoever changes the
    nodes need not mend the rest. What cannot be asked now is no blocking problem. Raises nothing."""
    was = before or PartitionSpec("", "")
    accounts = [name for name in partition.allow_accounts if name not in was.allow_accounts]
    groups = [name for name in partition.allow_groups if name not in was.allow_groups]
    allowed = [name for name in partition.allow_qos if name not in was.allow_qos]
    qos = [partition.qos] if partition.qos and partition.qos != was.qos else []
    if refusal(Status(cluster.status), Step.OPERATE) or not (accounts or groups or allowed or qos):
        return ()
    found: list[Problem] = []
    if accounts or allowed or qos:
        found += _unknown_to_accounting(cluster, accounts, allowed, qos)
    if groups:
        found += _unknown_groups(cluster, groups)
    return tuple(found)


def _unknown_to_accounting(
    cluster: Cluster, accounts: Sequence[str], allowed: Sequence[str], qos: Sequence[str]
) -> Iterator[Problem]:
    try:
        book = ledger_of(cluster).book
    except ConsoleError as error:
        yield Problem(
            "", f"Whether accounts and QOS are there could not be asked: {error.message}", blocking=False
        )
        return
    if book is None:
        return
    known = [one.account for one in book.own if not one.user]
    yield from _unknown(
        "allow_accounts", "account", accounts, known, "Accounting lists them, and adds new ones."
    )
    for path, names in (("allow_qos", allowed), ("qos", qos)):
        yield from _unknown(
            path, "QOS", names, [one.name for one in book.qos], "Accounting lists them, and adds new ones."
        )


def _unknown_groups(cluster: Cluster, groups: Sequence[str]) -> Iterator[Problem]:
    """slurmctld looks them up where it runs, so there they are asked for."""
    mine = _spec_groups(cluster.spec)
    asked = [name for name in groups if name not in mine and WORD.fullmatch(name)]
    if not asked:
        return
    try:
        done = cluster.provisioner.executor().run(["getent", "group", *asked], timeout_s=ASK_S)
    except Unavailable as error:
        yield Problem("", f"Whether the groups are there could not be asked: {error.message}", blocking=False)
        return
    there = {line.partition(":")[0] for line in decoded(done.stdout).splitlines()}
    hint = "Groups of login users are made under Users & keys."
    yield from _unknown("allow_groups", "group", asked, [*there, *mine], hint)


def _unknown(
    path: str, noun: str, names: Sequence[str], known: Sequence[str], hint: str
) -> Iterator[Problem]:
    unknown = [name for name in names if name not in known]
    if not unknown:
        return
    near = get_close_matches(unknown[0], known, 1)
    guess = f"Did you mean {near[0]}? " if near and len(unknown) == 1 else ""
    shown = listed([name[:64] for name in unknown])
    yield Problem(path, f"There is no {noun} {shown}.", f"{guess}{hint}")


def _spec_groups(spec: ClusterSpec) -> set[str]:
    """Those that login users have: each has one of their own name, too."""
    if not spec.logins.on:
        return set()
    return {group.name for group in spec.logins.groups} | {user.name for user in spec.logins.users}


def _not_enforced(ledger: Ledger) -> str:
    """A job's account is compared with the list only where accounts are enforced, its QOS always (24.11)."""
    if ledger.enforcement.needs_association:
        return ""
    return "Accounts are not enforced on this cluster: until they are, jobs of every account come in."
