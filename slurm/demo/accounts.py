"""The demo's accounts: two with shares, and a QOS for short sessions of which one user runs two GPUs' worth at a time.

So that a newcomer sees a job that waits for a limit, and why. Used by `manage.py demo` alone; what is there already is
left as it is.
"""

from collections.abc import Iterable
from dataclasses import replace

from clusters.access import Door
from slurm.accounts import plan as plans
from slurm.accounts.accounting import book_of, carry_out
from slurm.accounts.book import ROOT, Book
from slurm.client import Slurm
from slurm.demo.scene import JOBS, PULSE, DemoJob
from slurm.outputs.accounts import Account, Association, Qos

CONF = """\
# Limits of accounts and QOS hold, and priorities come from fair share, age, QOS and size.
AccountingStorageEnforce=limits,qos
PriorityWeightFairshare=1000
PriorityWeightAge=1000
PriorityWeightQOS=1000
PriorityWeightJobSize=500
"""
ACCOUNTS: tuple[tuple[Account, int, dict[str, str]], ...] = (
    (Account("llm", "language models", "research"), 3, {"GrpTRES": "gres/gpu=24"}),
    (Account("vision", "vision models", "research"), 1, {}),
)
SESSIONS = Qos(
    "interactive",
    description="short sessions, soon",
    priority=100,
    limits={"MaxTRESPerUser": "gres/gpu=2", "MaxWall": "720"},
)
OPTIONS = {
    "train-70b": ("--account=llm",),
    "ablation": ("--account=vision",),
    "notebook": (f"--qos={SESSIONS.name}",),
}
# Its user has two GPUs in `notebook`, which is as many as the QOS allows.
WAITS = DemoJob("mo", "debug-session", ("--gpus=1", "--time=2:00:00", f"--qos={SESSIONS.name}"), "sleep 3600")


def make_accounts(door: Door) -> None:
    """Every login user, or whoever the console submits as, may use all of them. Raises ConsoleErrors; a second run does
    nothing."""
    book = book_of(door.cluster)
    logins = door.cluster.spec.logins
    users = [user.name for user in logins.users] if logins.on else []
    users = users or [Slurm(door.cluster.provisioner.executor()).user()]
    if book.named_qos(SESSIONS.name) is None:
        carry_out(door, "qos.add", SESSIONS.name, plans.add_qos(SESSIONS))
    for account, shares, limits in ACCOUNTS:
        if book.account(account.name) is None:
            own = Association(account.name, parent=ROOT, shares=shares, limits=limits)
            carry_out(door, "account.add", account.name, plans.add_account(book, account, own))
    first = logins.account if logins.on else ROOT
    for user in users:
        for name in (first, *(account.name for account, _, _ in ACCOUNTS)):
            _let_in(door, book_of(door.cluster), user, name)


def jobs() -> Iterable[DemoJob]:
    """The demo's jobs where there are accounts; elsewhere they are `slurm.demo.scene.JOBS` as they stand."""
    for job in (*JOBS, WAITS, PULSE):
        yield replace(job, options=(*job.options, *OPTIONS.get(job.name, ())))


def _let_in(door: Door, book: Book, user: str, account: str) -> None:
    before = book.membership(user, account)
    own = replace(before or Association(account, user), qos=("normal", SESSIONS.name))
    if before is None:
        carry_out(door, "account.add-user", user, plans.add_member(book, own, make_default=False))
    elif plan := plans.change_member(book, own, make_default=False):
        carry_out(door, "account.change-user", user, plan)
