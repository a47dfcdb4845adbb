"""What a worker is told to open a terminal: whose it is, where to dial, and the certificate for it.

The database's half of an opening, done in the web process after the door; the worker does the rest.
"""

from contextlib import suppress
from dataclasses import replace
from uuid import uuid4

from clusters import identities
from clusters.access import Door
from clusters.identities import NoLogin
from clusters.lifecycle import Status
from clusters.models import Cluster
from clusters.provisioner import LoginEndpoint
from console import events
from console.errors import ConsoleError, Unavailable
from slurm.authority import certificate
from slurm.host_keys import note, trusted
from slurm.recordings import policy_of


class NotRunning(ConsoleError):
    """The cluster's status has no login node, now or ever again."""

    code = "not-running"
    status = 409


class NotYet(Unavailable):
    """It will: the page tries again by itself."""

    code = "not-yet"


WHY_NOT: dict[Status, tuple[str, str]] = {
    Status.FAILED: (
        "could not be brought up, so it has no login node.",
        "See why on the overview, and Reconfigure or Clone it there.",
    ),
    Status.TERMINATING: ("is being terminated.", "Clone it to work with the same settings again."),
    Status.TERMINATED: ("is terminated.", "Clone it to work with the same settings again."),
    Status.DELETING: ("is being deleted.", "The team's list shows the other clusters."),
}


class MustBeTold(ConsoleError):
    """The team records terminals, and the person has not said that they know."""

    code = "recorded"
    status = 409


def recording_for(door: Door, *, told: bool) -> str:
    """The name of the recording that a terminal needs, empty where the team wants none. Asks the database.

    `told` says that the person knows of it. Raises MustBeTold.
    """
    policy = policy_of(door.membership.team)
    if policy.record and not told:
        raise MustBeTold(
            f"The team {door.membership.team.slug} records its terminals.",
            f"What is shown here is kept for {policy.keep_days} days, and the team's admins can replay it. "
            "What you type is not recorded, unless the terminal shows it.",
        )
    return uuid4().hex if policy.record else ""


def order(door: Door, address: str) -> dict[str, dict[str, object]]:
    """The fields of an OPEN frame without the size. Raises NotRunning, NotYet, NoLogin or Unavailable. Asks the
    database."""
    cluster, user = door.cluster, door.membership.user
    endpoint = login_for(door)
    signed = certificate(cluster, endpoint.user, user.username)
    owner = {
        "user": user.pk,
        "who": user.username,
        "team": door.membership.team.pk,
        "cluster": cluster.key,
        "cluster_slug": cluster.slug,
        "address": address,
        "login": login_name(door),
    }
    target = {
        "host": endpoint.host,
        "port": endpoint.port,
        "user": endpoint.user,
        "host_key": endpoint.host_key,
        "key": signed.key,
        "certificate": signed.certificate,
        "tunnel": dict(endpoint.tunnel),
    }
    return {"owner": owner, "target": target}


def login_of(cluster: Cluster) -> LoginEndpoint:
    """Where the login node listens. Quick. Raises NotRunning, NotYet or Unavailable."""
    status = Status(cluster.status)
    if status is Status.CREATING:
        raise NotYet(
            f"{cluster.slug} is still being created.",
            "The terminal opens by itself when the login node is up.",
        )
    if status is not Status.RUNNING:
        sentence, hint = WHY_NOT[status]
        raise NotRunning(f"{cluster.slug} {sentence}", hint)
    return trusted(cluster, cluster.provisioner.login())


def login_for(door: Door) -> LoginEndpoint:
    """The same with the person's own login user, where the cluster has such. Raises NoLogin, too."""
    endpoint = login_of(door.cluster)
    name = login_name(door)
    return replace(endpoint, user=name) if name else endpoint


def login_name(door: Door) -> str:
    """Who the person is on the login node; empty where all are the same. Asks the database. Raises NoLogin."""
    return identities.login_of(door.cluster, door.membership.user)


def why_not_as(door: Door, login: str) -> str:
    """Why a terminal that was opened as `login` (empty: as what all are) has to end; empty when it may go on."""
    try:
        now = login_name(door)
    except NoLogin as gone:
        return gone.message
    if now == login:
        return ""
    who = f"you are {now}" if now else "everybody is the same user"
    return f"Who signs in on {door.cluster.slug} was changed: {who} there now. Open a new terminal."


def require_login(door: Door, login: str) -> None:
    """Raises NoLogin with the reason of `why_not_as`."""
    if why := why_not_as(door, login):
        raise NoLogin(why)


def ssh_command(endpoint: LoginEndpoint) -> str:
    """What a person types to get the same shell from their own machine; empty where only the platform leads there."""
    if endpoint.tunnel:
        return ""
    port = [] if endpoint.port == 22 else ["-p", str(endpoint.port)]
    return " ".join(["ssh", *port, f"{endpoint.user}@{endpoint.host}"])


def note_refusal(door: Door, address: str, code: str, presented: str) -> None:
    """A terminal that did not open, in the audit trail: a changed host key has to be seen by more than its finder.

    The key that was `presented` is kept for an admin to compare.
    """
    if presented:
        with suppress(ConsoleError):
            note(door.cluster, presented)
    events.record(
        "opened a terminal",
        by=door.membership.user,
        team=door.membership.team,
        cluster=door.cluster.slug,
        outcome="refused",
        detail={"reason": code},
        address=address or None,
    )
