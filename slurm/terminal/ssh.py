"""SSH connections to login nodes: signed in with a certificate of minutes' life, the host key pinned.

Neither the agent nor any file of the person who runs the worker is looked at. Who uses a connection wraps what it does
in `in_words`: vendor errors become `ConsoleError`s there.
"""

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import asyncssh

from console.errors import Unavailable
from slurm.terminal.tunnel import through

DIAL_S = 10.0
# AES-GCM first: with it the ciphers cost least on machines of the last ten years.
CIPHERS = ("aes128-gcm@openssh.com", "aes256-gcm@openssh.com", "chacha20-poly1305@openssh.com", "aes256-ctr")
HOST_KEY_KINDS = ("ssh-ed25519", "ecdsa-sha2-nistp256", "rsa-sha2-512", "rsa-sha2-256")
# Its notes on every connection would drown the worker's own, and name people.
asyncssh.set_log_level("WARNING")


class HostKeyChanged(Unavailable):
    """`presented` is the key that was shown instead, as OpenSSH writes it."""

    code = "host-key"
    retryable = False
    presented = ""


class SignInRefused(Unavailable):
    code = "sign-in"


class Unreachable(Unavailable):
    code = "unreachable"


@dataclass(frozen=True)
class Target:
    """Where to dial and as whom. `key` and `certificate` never appear in a repr, so never in a log.

    With a `tunnel` the connection is made through the platform, and `host` is only a name.
    """

    host: str
    port: int
    user: str
    host_key: str
    key: str = field(repr=False)
    certificate: str = field(repr=False)
    tunnel: Mapping[str, str] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """The login node for a sentence: with its port where that is a real one."""
        return self.host if self.tunnel else f"{self.host}:{self.port}"


@contextmanager
def in_words(target: Target) -> Iterator[None]:
    """Turn what else goes wrong while a connection is made into SignInRefused or Unreachable."""
    try:
        yield
    except asyncssh.PermissionDenied as error:
        raise SignInRefused(
            f"The login node {target.place} did not let {target.user} in.",
            "It does not trust this console's SSH authority, or its clock is minutes off: restart the login node.",
        ) from error
    except (OSError, asyncssh.Error, TimeoutError) as error:
        raise Unreachable(
            f"The login node {target.place} does not answer: {str(error) or 'no answer in time'}.",
            "See the login node on the overview; it is restarted by itself, or by Restart login.",
        ) from error


async def connect(target: Target) -> asyncssh.SSHClientConnection:
    """Signed in. Raises HostKeyChanged, vendor errors, which `in_words` is for, and what the way there raises
    (`tunnel.through`)."""
    sock = await through(target.tunnel) if target.tunnel else None
    try:
        return await _signed_in(target, sock)
    except BaseException:
        if sock:
            sock.close()
        raise


async def _signed_in(target: Target, sock: socket.socket | None) -> asyncssh.SSHClientConnection:
    """Over `sock`, or over a connection of its own."""
    pair = (asyncssh.import_private_key(target.key), asyncssh.import_certificate(target.certificate))
    witness = Witness()
    connecting = asyncssh.connect(
        target.host,
        target.port,
        client_factory=lambda: witness,
        sock=sock,
        username=target.user,
        client_keys=[pair],
        known_hosts=([asyncssh.import_public_key(target.host_key)], [], []),
        server_host_key_algs=_host_key_kinds(target.host_key),
        preferred_auth="publickey",
        agent_path=None,
        config=None,
        encryption_algs=CIPHERS,
        compression_algs=["none"],
        keepalive_interval=15,
        keepalive_count_max=3,
        connect_timeout=DIAL_S,
    )
    try:
        return await connecting
    except asyncssh.HostKeyNotVerifiable as error:
        raise _changed(target, witness.presented) from error


class Witness(asyncssh.SSHClient):
    """Remembers a host key that is not the pinned one, and trusts none."""

    presented = ""

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
        self.presented = key.export_public_key().decode().strip()
        return False


def _host_key_kinds(pinned: str) -> list[str]:
    """The pinned key's own kind first, then the others: a server that lost it is then seen to show another key, and
    not taken for one that does not answer."""
    kind = pinned.split()[0]
    own = ["rsa-sha2-512", "rsa-sha2-256"] if kind == "ssh-rsa" else [kind]
    return own + [other for other in HOST_KEY_KINDS if other not in own]


def _changed(target: Target, presented: str) -> HostKeyChanged:
    error = HostKeyChanged(
        f"The machine that answers at {target.place} does not show the host key of this cluster's login "
        "node, so nothing was sent to it.",
        "Somebody may be listening in between, or the login node was set up anew by hand. An admin compares the keys "
        "and accepts the new one, or restarts the login node from the overview, which gives it the platform's again.",
    )
    error.presented = presented
    return error
