"""Make the cluster's people what the spec says, after its files were written: sessions, jobs, homes and accounts.

`judge_people` finds what is still to do and `settle_people` does it, as often as it is asked; a kill in between costs
nothing. Nothing of it is of use where there are no rooms: there nobody has a login.
"""

from clusters.observation import Judgement, Verdict
from clusters.provisioner import Say
from console.words import count, listed
from slurm.accounts import logins as login_accounts
from slurm.accounts.plan import Plan
from slurm.client import Slurm
from slurm.provisioners.sandbox.cluster import SandboxCluster
from slurm.provisioners.sandbox.homes import put_away, unsettled
from slurm.provisioners.sandbox.sessions import end_strays, knows_people, strays
from slurm.provisioners.sandbox.space import keeping, wait_until
from slurm.states import is_finished

KNOWN_S = 5.0
# sacctmgr tells of accounts in a form that the console reads since this release.
ACCOUNTS_SINCE = (23, 2)


def cancel_jobs(cluster: SandboxCluster, slurm: Slurm, say: Say) -> None:
    """End the jobs of leavers who do not leave them. Before their names go: afterwards Slurm has only numbers."""
    ends = {leaver.name for leaver in cluster.logins.leavers if leaver.jobs == "cancel"}
    ends -= {user.name for user in cluster.logins.users}
    if not ends or cluster.tree.image.prefix:
        return
    jobs = [job for job in slurm.jobs() if job.user in ends and not is_finished(job.state)]
    if jobs:
        slurm.cancel([job.job_id for job in jobs])
        say(f"Cancelled {count(len(jobs), 'job')} of {listed(sorted(ends))}.")


def judge_people(cluster: SandboxCluster, slurm: Slurm) -> Judgement | None:
    """What is still to be done about people, once everything else is so. Raises Unavailable."""
    if cluster.tree.image.prefix:
        return None
    if not knows_people(cluster):
        return Judgement(Verdict.WAITING, "Waiting for the nodes to know their users.")
    if strays(cluster):
        return Judgement(Verdict.APPLY_AGAIN, "Somebody without a login is still on the login node.")
    if left := unsettled(cluster):
        names = listed([leaver.name for leaver in left])
        return Judgement(Verdict.APPLY_AGAIN, f"Homes are still to be put away: {names}.")
    if _accounts(cluster, slurm):
        return Judgement(Verdict.APPLY_AGAIN, "Login users are still to get their Slurm account.")
    return None


def settle_people(cluster: SandboxCluster, slurm: Slurm, say: Say) -> None:
    """Raises Unavailable, and what sacctmgr refuses."""
    if cluster.tree.image.prefix or not wait_until(lambda: knows_people(cluster), KNOWN_S):
        return
    if ended := end_strays(cluster):
        say(f"Ended {count(ended, 'process', 'processes')} of people without a login on the login node.")
    state = keeping(cluster.home)
    if state is None or not state.is_settled:
        return
    for leaver in unsettled(cluster):
        put_away(cluster, leaver)
        say(f"The home of {leaver.name} is {'archived' if leaver.home == 'archive' else 'being deleted'}.")
    login_accounts.make(slurm.executor, _accounts(cluster, slurm), say)


def _accounts(cluster: SandboxCluster, slurm: Slurm) -> Plan:
    if not cluster.logins.on or cluster.tree.release < ACCOUNTS_SINCE:
        return ()
    return login_accounts.missing(slurm.book(cluster.name), cluster.logins)
