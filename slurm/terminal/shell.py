"""A shell on a login node over SSH. Knows asyncssh, as `ssh` and `slurm.files.sftp` do, and no other module.

One connection carries one shell: a lost one ends nothing else.
"""

import asyncio
from dataclasses import dataclass
from typing import Protocol

import asyncssh

from slurm.terminal.ssh import DIAL_S, Target, connect, in_words
from slurm.terminal.wire import WINDOW

ENVIRONMENT: dict[bytes | str, bytes | str] = {"LANG": "C.UTF-8", "COLORTERM": "truecolor"}


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
    with in_words(target):
        async with asyncio.timeout(DIAL_S):
            connection = await connect(target)
            try:
                return await _shell(connection, listener, columns, rows)
            except BaseException:
                connection.abort()
                raise


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
