"""Signing in on the login node with one's own SSH client: certificates over people's keys, and what their ssh needs.

A certificate is asked for at sign-in only. Who loses the role gets no more of them; one that was given opens the door
until it runs out (MOST_MINUTES at most), and a connection that is open then stays open: sshd does not ask again.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from clusters.access import Door
from clusters.provisioner import LoginEndpoint
from clusters.sshkeys import KeyRefused
from console import events
from console.errors import Conflict, ConsoleError, Problem, Rejected
from slurm.authority import Signed, sign
from slurm.terminal.opening import login_for

MINUTES, MOST_MINUTES = 15, 60
VERB = "ssh.certificate"


class NoAddress(Conflict):
    """The login node is reached through the platform alone."""

    code = "no-address"


@dataclass(frozen=True)
class Pass:
    """A certificate and the login node that it is for."""

    signed: Signed
    endpoint: LoginEndpoint

    @property
    def valid_until(self) -> datetime:
        return datetime.fromtimestamp(self.signed.valid_before, UTC)


def sign_key(door: Door, line: str, minutes: int = MINUTES) -> Pass:
    """Sign the person's public key for the login user. Written down, refused attempts too.

    Raises Rejected at `public_key` or `minutes`, NoAddress, and what `login_for` raises.
    """
    try:
        signed = _signed(door, line, minutes)
    except ConsoleError as error:
        _record(door, "", "refused", {"error": error.message})
        raise
    detail = {
        "login": signed.endpoint.user,
        "minutes": minutes,
        "serial": str(signed.signed.serial),
        "key": signed.signed.key.type,
    }
    _record(door, signed.signed.key.fingerprint, "done", detail)
    return signed


def address_of(door: Door) -> LoginEndpoint:
    """Where a client connects to. Raises NoAddress, and what `login_for` raises."""
    endpoint = login_for(door)
    if endpoint.tunnel:
        raise NoAddress(
            "The login node has no address that your own machine could reach.",
            "Use the terminal and the files here: their connection is made through the platform.",
        )
    return endpoint


def host_alias(door: Door) -> str:
    """What a person types after `ssh`."""
    return f"{door.cluster.slug}.{door.cluster.team.slug}"


def known_host(door: Door, endpoint: LoginEndpoint) -> str:
    """The line of known_hosts(5), by the alias that `ssh_config` gives: addresses change, and ports are used again."""
    kind, key = endpoint.host_key.split()[:2]
    return f"quarterdeck-{door.cluster.key} {kind} {key}"


def ssh_config(door: Door, endpoint: LoginEndpoint, url: str) -> str:
    """For ~/.ssh/config (ssh_config(5)): a fresh certificate before each connection, by the API at `url`.

    The token stands in a file, for arguments can be seen by others. `IdentitiesOnly`: nothing else is offered.
    """
    alias, mine = host_alias(door), f"~/.ssh/quarterdeck-{door.cluster.key}"
    fetch = (
        f"curl -fsSG -H @$HOME/.config/quarterdeck/token-header -H Accept:text/plain "
        f"--data-urlencode public_key@$HOME/.ssh/id_ed25519.pub -o {mine}-cert.pub {url}"
    )
    return f"""\
Match originalhost {alias} exec "{fetch}"
Host {alias}
  HostName {endpoint.host}
  Port {endpoint.port}
  User {endpoint.user}
  IdentityFile ~/.ssh/id_ed25519
  CertificateFile {mine}-cert.pub
  IdentitiesOnly yes
  HostKeyAlias quarterdeck-{door.cluster.key}
  UserKnownHostsFile {mine}-known-hosts
  StrictHostKeyChecking yes
"""


def _signed(door: Door, line: str, minutes: int) -> Pass:
    if not 1 <= minutes <= MOST_MINUTES:
        raise _refused("minutes", f"A certificate lives 1 to {MOST_MINUTES} minutes.")
    endpoint = address_of(door)
    try:
        signed = sign(door.cluster, endpoint.user, door.membership.user.username, line, minutes)
    except KeyRefused as error:
        raise _refused("public_key", str(error)) from error
    return Pass(signed, endpoint)


def _refused(field: str, sentence: str) -> Rejected:
    return Rejected("The key was not signed.", (Problem(field, sentence),))


def _record(door: Door, target: str, outcome: str, detail: dict[str, object]) -> None:
    events.record(
        VERB,
        by=door.membership.user,
        team=door.cluster.team,
        cluster=door.cluster.slug,
        target=target,
        outcome=outcome,
        detail=detail,
    )
