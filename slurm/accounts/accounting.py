"""The accounting of a cluster as people see and change it: read whole, changed by plans that were shown before.

A change here is an operation: sacctmgr's database is not rendered again by a change of the cluster. Blocking (each
command 10 s at most); raises ConsoleErrors only. Called by pages and the API, outside of any transaction.
"""

import hashlib
from collections import Counter
from dataclasses import dataclass

from clusters.access import Door
from clusters.lifecycle import Status, Step, refusal
from clusters.models import Cluster
from console import events
from console.errors import Conflict, ConsoleError, Missing, Rejected, Unavailable
from console.roles import Action
from console.words import count
from slurm import operations
from slurm.accounts.book import NAME, Book
from slurm.accounts.check import InUse
from slurm.accounts.complaints import refusal_of
from slurm.accounts.dump import Reading, reading_in
from slurm.accounts.enforcement import Enforcement, enforcement_of
from slurm.accounts.plan import Command, Plan
from slurm.client import Slurm
from slurm.outputs.accounts import AccountUser, Association, Qos
from slurm.outputs.text import decoded

COMMAND_S = 10.0
NO_ACCOUNTING = (
    "This cluster keeps no accounting (it has no slurmdbd), so it knows no accounts, limits or fair share."
)


@dataclass(frozen=True)
class Ledger:
    """What is in force, and the book; there is none where the cluster keeps no accounting."""

    enforcement: Enforcement
    book: Book | None


class PartlyDone(Rejected):
    """Some commands of a plan ran before one was refused. What ran stays; what was left was not tried."""

    def __init__(self, plan: Plan, done: int, cause: ConsoleError) -> None:
        problems = cause.problems if isinstance(cause, Rejected) else ()
        super().__init__(
            f"{count(done, 'command')} of {len(plan)} ran, then it stopped: {cause.message}",
            problems,
            "What ran stays; the page shows what there is now.",
        )
        self.done, self.failed, self.left = plan[:done], plan[done], plan[done + 1 :]


def ledger_of(cluster: Cluster) -> Ledger:
    """Two exchanges with the platform. Raises Unavailable."""
    slurm = Slurm(cluster.provisioner.executor())
    config = slurm.config()
    enforcement = enforcement_of(config)
    return Ledger(enforcement, slurm.book(config["ClusterName"]) if enforcement.has_accounting else None)


def require_running(cluster: Cluster) -> None:
    """Raises Conflict where the cluster's status forbids operations."""
    if why := refusal(Status(cluster.status), Step.OPERATE):
        raise Conflict(why, "Its page shows what it allows now.")


def book_of(cluster: Cluster) -> Book:
    """Raises Conflict where its status forbids, or it keeps no accounting; Unavailable when it does not answer."""
    require_running(cluster)
    book = ledger_of(cluster).book
    if book is None:
        raise Conflict(NO_ACCOUNTING)
    return book


def in_use(cluster: Cluster) -> InUse:
    """Unfinished jobs and partitions as seen last."""
    jobs = list(cluster.jobs.filter(is_finished=False).values_list("account", "user", "qos"))
    return InUse(
        jobs_by_account=Counter(account for account, _, _ in jobs),
        jobs_by_user=Counter((user, account) for account, user, _ in jobs),
        jobs_by_qos=Counter(qos for _, _, qos in jobs),
        partitions=cluster.spec.partitions,
    )


def partitions_of(cluster: Cluster) -> list[str]:
    return [one.name for one in (*cluster.spec.platform_partitions, *cluster.spec.partitions)]


def account_in(book: Book, name: str) -> Association:
    """What is set on it. Raises Missing, for names that the console would not have taken too."""
    found = book.account(name) if NAME.fullmatch(name) else None
    if found is None:
        raise Missing(f"There is no account {name[:64]}.", "The Accounts page lists all.")
    return found


def member_in(book: Book, account: str, user: str, partition: str = "") -> Association:
    """The same of a person in an account."""
    is_sane = NAME.fullmatch(user) and NAME.fullmatch(account)
    found = book.membership(user, account, partition) if is_sane else None
    if found is None:
        raise Missing(f"{user[:64]} is not in the account {account[:64]}.", "Its page lists its people.")
    return found


def user_in(book: Book, name: str) -> AccountUser:
    """The same of a user."""
    found = book.user(name) if NAME.fullmatch(name) else None
    if found is None:
        raise Missing(f"There is no user {name[:64]} in the accounts.", "The Users page lists all.")
    return found


def qos_in(book: Book, name: str) -> Qos:
    """The same of a QOS."""
    found = book.named_qos(name) if NAME.fullmatch(name) else None
    if found is None:
        raise Missing(f"There is no QOS {name[:64]}.", "The QOS page lists all.")
    return found


def seal(plan: Plan) -> str:
    """A plan's fingerprint: what was shown is what runs, or nothing."""
    digest = hashlib.sha256()
    for command in plan:
        for word in (*command.argv, "", hashlib.sha256(command.stdin).hexdigest()):
            digest.update(word.encode("utf-8", "replace") + b"\0")
    return digest.hexdigest()


def dump_of(door: Door) -> bytes:
    """sacctmgr's own file of them. Audited: it holds everybody's. Raises Conflict, Unavailable."""
    book = book_of(door.cluster)
    raw = Slurm(door.cluster.provisioner.executor()).dump_accounts(book.cluster)
    events.record(
        "account.dump",
        by=door.membership.user,
        team=door.cluster.team,
        cluster=door.cluster.slug,
        target=book.cluster,
    )
    return raw


def reading_of(cluster: Cluster, book: Book, text: str) -> Reading:
    """What reading such a file in would do. Raises Rejected."""
    return reading_in(text, book, tuple(int(part) for part in cluster.spec.slurm_version.split(".")[:2]))


def require_seal(plan: Plan, seen: str) -> None:
    """Raises Conflict unless `plan` is the one that was shown."""
    if seal(plan) != seen:
        raise Conflict(
            "The accounts changed since this was shown.",
            "These are the commands now: look at them again before they run.",
        )


def carry_out(door: Door, verb: str, target: str, plan: Plan) -> None:
    """Run the plan, command after command, stopping at the first that is refused. Audited with what ran.

    Raises PartlyDone when some ran; else what the first was refused with, and then nothing has changed. Unavailable
    when a command did not answer: it may have been done.
    """
    detail: dict[str, object] = {"commands": [command.shown for command in plan], "ran": 0}

    def act() -> None:
        if not plan:
            raise Rejected("Nothing would change.")
        for done, command in enumerate(plan):
            try:
                _run(door, command)
            except ConsoleError as error:
                if done:
                    raise PartlyDone(plan, done, error) from error
                raise
            detail["ran"] = done + 1

    operations.perform(door, verb, [target], Action.CHANGE_ACCOUNTS, act, detail)


def _run(door: Door, command: Command) -> None:
    executor = door.cluster.provisioner.executor()
    try:
        done = executor.run(command.argv, timeout_s=COMMAND_S, stdin=command.stdin)
    except Unavailable as error:
        raise Unavailable(
            f"{error.message} It is not known whether it was done: {command.doing}.",
            "Look at the accounts again.",
        ) from error
    if done.code:
        raise refusal_of(f"{decoded(done.stdout)}\n{done.stderr}", command.doing)
