"""Connections for files, kept for a minute after their last use: a person who looks around asks often.

One for each person and login user of a login node, so that nobody's questions go over another's. The door is asked for
each question before it comes here; a connection alone opens nothing.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from slurm.files.errors import Busy
from slurm.files.sftp import Sftp
from slurm.terminal.ssh import DIAL_S, Target, in_words

KEPT_S = 60.0
MOST = 200
AT_ONCE = 4
# Questions that wait for one of the AT_ONCE places of a person.
MOST_WAITING = 64

Key = tuple[int, str, str, int, str, str]


@dataclass
class Held:
    """`uses` counts the questions under way and waiting."""

    places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    dialling: asyncio.Lock = field(default_factory=asyncio.Lock)
    sftp: Sftp | None = None
    uses: int = 0
    end: asyncio.TimerHandle | None = None


class Pool:
    """Belongs to one event loop. `close` ends every connection."""

    def __init__(self) -> None:
        self._held: dict[Key, Held] = {}
        self._watching: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def sftp(self, user: int, cluster: str, target: Target) -> AsyncIterator[Sftp]:
        """Raises what a dial raises (`in_words`) and Busy when the person asks for too much at once."""
        key = (user, cluster, target.host, target.port, target.user, target.host_key)
        held = self._held.get(key) or self._new(key)
        if held.uses >= AT_ONCE + MOST_WAITING:
            raise Busy("You ask for too many files at once.", "Wait until some have arrived.")
        held.uses += 1
        if held.end:
            held.end.cancel()
        try:
            async with held.places:
                yield await self._open(held, target)
        finally:
            held.uses -= 1
            if not held.uses:
                held.end = asyncio.get_running_loop().call_later(KEPT_S, self._let_go, key)

    def close(self) -> None:
        for key in list(self._held):
            self._let_go(key)

    def _new(self, key: Key) -> Held:
        if len(self._held) >= MOST:
            idle = next((key for key, held in self._held.items() if not held.uses), None)
            if idle is None:
                raise Busy("The console moves too many files at the moment.", "Try again in a minute.")
            self._let_go(idle)
        held = self._held[key] = Held()
        return held

    def _let_go(self, key: Key) -> None:
        held = self._held.pop(key)
        if held.end:
            held.end.cancel()
        if held.sftp:
            held.sftp.close()

    async def _open(self, held: Held, target: Target) -> Sftp:
        """Several questions may come at once to a connection that is not there yet: one dials."""
        async with held.dialling:
            if held.sftp is None:
                with in_words(target):
                    async with asyncio.timeout(DIAL_S):
                        held.sftp = await Sftp.dial(target)
                self._watch(held, held.sftp)
            return held.sftp

    def _watch(self, held: Held, sftp: Sftp) -> None:
        """A connection that was lost is dialled anew by the next question."""

        async def watch() -> None:
            with contextlib.suppress(OSError):
                await sftp.wait_closed()
            if held.sftp is sftp:
                held.sftp = None

        task = asyncio.get_running_loop().create_task(watch())
        self._watching.add(task)
        task.add_done_callback(self._watching.discard)
