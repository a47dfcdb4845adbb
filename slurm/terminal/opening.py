"""What a worker is told to open a terminal: whose it is, where to dial, and the certificate for it.

The database's half of an opening, done in the web process after the door; the worker does the rest.
"""

from clusters.access import Door
from clusters.lifecycle import Status
from clusters.models import Cluster
from clusters.provisioner import LoginEndpoint
from console import events
from console.errors import ConsoleError, Unavailable
from slurm.authority import certificate


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


def order(door: Door, address: str) -> dict[str, dict[str, object]]:
    """The fields of an OPEN frame without the size. Raises NotRunning, NotYet or Unavailable. Asks the database."""
    cluster, user = door.cluster, door.membership.user
    endpoint = login_of(cluster)
    signed = certificate(cluster, endpoint.user, user.username)
    owner = {
        "user": user.pk,
        "who": user.username,
        "team": door.membership.team.pk,
        "cluster": cluster.key,
        "cluster_slug": cluster.slug,
        "address": address,
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
    return cluster.provisioner.login()


def ssh_command(endpoint: LoginEndpoint) -> str:
    """What a person types to get the same shell from their own machine; empty where only the platform leads there."""
    if endpoint.tunnel:
        return ""
    port = [] if endpoint.port == 22 else ["-p", str(endpoint.port)]
    return " ".join(["ssh", *port, f"{endpoint.user}@{endpoint.host}"])


def note_refusal(door: Door, address: str, code: str) -> None:
    """A terminal that did not open, in the audit trail: a changed host key has to be seen by more than its finder."""
    events.record(
        "opened a terminal",
        by=door.membership.user,
        team=door.membership.team,
        cluster=door.cluster.slug,
        outcome="refused",
        detail={"reason": code},
        address=address or None,
    )
