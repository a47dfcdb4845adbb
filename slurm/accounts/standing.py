"""Where a person stands on a cluster: accounts, limits and their use, waiting jobs and what their priority is made of.

Joins what Slurm says now with the jobs as seen last. Blocks for three exchanges with the platform.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from clusters.access import Door
from clusters.identities import NoLogin, login_of
from clusters.models import Cluster
from console.errors import ConsoleError
from slurm.accounts.book import Book
from slurm.accounts.enforcement import Enforcement
from slurm.accounts.usage import Ranked, Use, ranked, uses_of
from slurm.client import Slurm
from slurm.models import Job
from slurm.outputs.accounts import Association
from slurm.outputs.shares import Priority, Share

MOST_JOBS = 20_000


@dataclass(frozen=True)
class InAccount:
    """One association as it holds, with its share of what is used, where Slurm counts shares."""

    association: Association
    share: Share | None


@dataclass(frozen=True)
class Waiting:
    """A waiting job; `ranked` is None for one that does not compete (held, or waiting for others)."""

    job: Job
    ranked: Ranked | None


@dataclass(frozen=True)
class Standing:
    """`problems` says what did not answer: its part is then empty."""

    user: str
    accounts: tuple[InAccount, ...]
    uses: tuple[Use, ...]
    waiting: tuple[Waiting, ...]
    problems: tuple[str, ...]


def slurm_user_of(door: Door, book: Callable[[], Book]) -> tuple[str, bool]:
    """Who the person is to Slurm: their login user, or a user that they are linked to, else, and then True, the one
    that the console submits as, for all. The name on the console says nothing: it was chosen freely.

    `book` is asked only where they are linked to several. May ask the platform; raises Unavailable, and NoLogin where
    everybody has a login of their own but this person, who then submits nothing and is nobody there.
    """
    linked = door.membership.slurm_users.split()
    try:
        login = login_of(door.cluster, door.membership.user)
    except NoLogin:
        if not linked:
            raise
        login = ""
    if login:
        return login, False
    if len(linked) > 1:
        known = book()
        return next((name for name in linked if known.of_user(name)), linked[0]), False
    return (linked[0], False) if linked else (Slurm(door.cluster.provisioner.executor()).user(), True)


def standing_of(cluster: Cluster, book: Book, user: str, enforcement: Enforcement) -> Standing:
    """Raises nothing for what does not answer."""
    slurm = Slurm(cluster.provisioner.executor())
    problems: list[str] = []
    shares: Sequence[Share] = ()
    priorities: Sequence[Priority] = ()
    minutes: Mapping[str, Mapping[str, int]] = {}
    try:
        shares, priorities, minutes = slurm.shares(user), slurm.priorities(), slurm.qos_minutes()
    except ConsoleError as error:
        problems.append(f"{error.message} {error.hint}".strip())
    jobs = list(cluster.jobs.select_related("cluster__team").filter(is_finished=False)[:MOST_JOBS])
    by_key = {(one.account, one.user, one.partition): one for one in shares}
    accounts = [InAccount(one, by_key.get((one.account, user, one.partition))) for one in book.of_user(user)]
    return Standing(
        user=user,
        accounts=tuple(accounts),
        uses=tuple(uses_of(book, user, jobs, shares, minutes)),
        waiting=tuple(_waiting([job for job in jobs if job.user == user], priorities, enforcement)),
        problems=tuple(problems),
    )


def _waiting(jobs: Sequence[Job], priorities: Sequence[Priority], enforcement: Enforcement) -> list[Waiting]:
    """Those that compete first, highest first. A job in several partitions is shown with its best."""
    best: dict[int, Priority] = {}
    for one in priorities:
        if one.number not in best or best[one.number].total < one.total:
            best[one.number] = one
    found = []
    for job in jobs:
        if job.state == "PENDING":
            priority = best.get(job.number) or best.get(job.array_number or 0)
            found.append(Waiting(job, ranked(priority, enforcement) if priority else None))
    return sorted(found, key=lambda one: (-(one.ranked.total if one.ranked else -1), one.job.number))
