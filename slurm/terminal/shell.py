"""A shell on a login node over SSH. The only module that knows asyncssh.

One connection carries one shell: a lost one ends nothing else. The host key is pinned, the sign-in is a certificate of
minutes' life; neither the agent nor any file of the person who runs the worker is looked at. Vendor errors become
`ConsoleError`s here.
"""

import asyncio
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import asyncssh

from console.errors import Unavailable
from slurm.terminal.tunnel import through
from slurm.terminal.wire import WINDOW

DIAL_S = 10.0
# AES-GCM first: with it the ciphers cost least on machines of the last ten years.
CIPHERS = ("aes128-gcm@openssh.com", "aes256-gcm@openssh.com", "chacha20-poly1305@openssh.com", "aes256-ctr")
HOST_KEY_KINDS = ("ssh-ed25519", "ecdsa-sha2-nistp256", "rsa-sha2-512", "rsa-sha2-256")
# Its notes on every connection would drown the worker's own, and name people.
asyncssh.set_log_level("WARNING")
ENVIRONMENT: dict[bytes | str, bytes | str] = {"LANG": "C.UTF-8", "COLORTERM": "truecolor"}


class HostKeyChanged(Unavailable):
    code = "host-key"
    retryable = False


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


@dataclass(frozen=True)
class Exit:
    """How a shell ended: by itself (`status` is its exit status), or because the connection went (`status` None)."""

    status: int | None
    sentence: str


class Listener(Protocol):
    """What a shell tells its owner, from the event loop."""

    def printed(self, data: bytes) -> None: ...

    def writable(self) -> None:
        """Typed bytes are accepted again after `Shell.full`."""
        ...

    def ended(self, exit: Exit) -> None: ...


class Shell(asyncssh.SSHClientSession[bytes]):
    """An open shell. Writing never blocks: whoever writes looks at `full` and stops."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._channel: asyncssh.SSHClientChannel[bytes] | None = None
        self._status: int | None = None
        self._signal = ""
        self.full = False

    def write(self, data: bytes) -> None:
        if self._channel and not self._channel.is_closing():
            self._channel.write(data)

    def resize(self, columns: int, rows: int) -> None:
        if self._channel and not self._channel.is_closing():
            self._channel.change_terminal_size(columns, rows)

    def pause(self) -> None:
        """Read no further: once the channel's window is used up, what runs in the shell blocks."""
        if self._channel and not self._channel.is_closing():
            self._channel.pause_reading()

    def resume(self) -> None:
        if self._channel:
            self._channel.resume_reading()

    def close(self) -> None:
        """Hang up: the shell and its foreground job get SIGHUP, as when a terminal window closes."""
        if self._channel:
            connection = self._channel.get_connection()
            channel = self._channel
            # A paused channel never reports its end; once it is closing, `pause` does nothing.
            channel.close()
            channel.resume_reading()
            connection.close()

    def connection_made(self, chan: asyncssh.SSHClientChannel[bytes]) -> None:
        self._channel = chan

    def data_received(self, data: bytes, datatype: asyncssh.DataType) -> None:
        self._listener.printed(data)

    def pause_writing(self) -> None:
        self.full = True

    def resume_writing(self) -> None:
        self.full = False
        self._listener.writable()

    def exit_status_received(self, status: int) -> None:
        self._status = status

    def exit_signal_received(self, signal: str, core_dumped: bool, msg: str, lang: str) -> None:
        self._signal = signal

    def connection_lost(self, exc: Exception | None) -> None:
        channel, self._channel = self._channel, None
        if channel:
            channel.get_connection().close()
        self._listener.ended(self._exit())

    def _exit(self) -> Exit:
        if self._signal:
            return Exit(128, f"The shell was ended by signal {self._signal}.")
        if self._status is None:
            return Exit(None, "The connection to the login node was lost.")
        return Exit(self._status, f"The shell ended with status {self._status}.")


async def dial(target: Target, listener: Listener, columns: int, rows: int) -> Shell:
    """Open a shell of `columns` by `rows`. Raises HostKeyChanged, SignInRefused or Unreachable within DIAL_S, and what
    the way there raises (`tunnel.through`)."""
    try:
        async with asyncio.timeout(DIAL_S):
            connection = await _connect(target)
            try:
                return await _shell(connection, listener, columns, rows)
            except BaseException:
                connection.abort()
                raise
    except asyncssh.HostKeyNotVerifiable as error:
        raise _changed(target) from error
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


async def _connect(target: Target) -> asyncssh.SSHClientConnection:
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
    return await asyncssh.connect(
        target.host,
        target.port,
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


async def _shell(
    connection: asyncssh.SSHClientConnection, listener: Listener, columns: int, rows: int
) -> Shell:
    shell = Shell(listener)
    channel, _ = await connection.create_session(
        lambda: shell,
        term_type="xterm-256color",
        term_size=(columns, rows),
        env=ENVIRONMENT,
        encoding=None,
        window=WINDOW,
        max_pktsize=32 * 1024,
    )
    channel.set_write_buffer_limits(high=64 * 1024)
    return shell


def _host_key_kinds(pinned: str) -> list[str]:
    """The pinned key's own kind first, then the others: a server that lost it is then seen to show another key, and
    not taken for one that does not answer."""
    kind = pinned.split()[0]
    own = ["rsa-sha2-512", "rsa-sha2-256"] if kind == "ssh-rsa" else [kind]
    return own + [other for other in HOST_KEY_KINDS if other not in own]


def _changed(target: Target) -> HostKeyChanged:
    return HostKeyChanged(
        f"The machine that answers at {target.place} does not show the host key of this cluster's login "
        "node, so nothing was sent to it.",
        "Somebody may be listening in between, or the login node was set up anew by hand. An admin compares its host "
        "key and restarts the login node from the overview, which pins the key that it then has.",
    )
