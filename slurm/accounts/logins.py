"""An account for each login user: without one Slurm takes no job of theirs where limits are in force.

Whoever is in some account is left alone: who is in which is changed under Accounts, not here. `missing` is pure.
"""

from clusters.provisioner import Executor, Say
from clusters.spec import Logins
from slurm.accounts import plan as plans
from slurm.accounts.book import ROOT, Book
from slurm.accounts.complaints import refusal_of
from slurm.accounts.plan import Plan
from slurm.outputs.accounts import Account, Association
from slurm.outputs.text import decoded

COMMAND_S = 10.0


def missing(book: Book, logins: Logins) -> Plan:
    """Empty where everybody has one, or login users are off."""
    if not logins.on or not logins.account:
        return ()
    users = [user.name for user in logins.users if not book.of_user(user.name)]
    plan: Plan = ()
    if users and book.account(logins.account) is None:
        account = Account(logins.account, "login users", logins.account)
        plan = plans.add_account(book, account, Association(logins.account, parent=ROOT))
    for name in users:
        plan += plans.add_member(book, Association(logins.account, name), make_default=False)
    return plan


def make(executor: Executor, plan: Plan, say: Say) -> None:
    """Run it. Raises what sacctmgr's words mean, and Unavailable when it does not answer."""
    for command in plan:
        done = executor.run(command.argv, timeout_s=COMMAND_S, stdin=command.stdin)
        if done.code:
            raise refusal_of(f"{decoded(done.stdout)}\n{done.stderr}", command.doing)
        say(command.says)
