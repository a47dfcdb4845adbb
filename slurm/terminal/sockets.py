"""How many terminal sockets this process has open, told to Redis for the health page while there are any.

A process that was killed is forgotten when its last word runs out, so that the sum is never of sockets that are gone.
"""

import asyncio
import contextlib
import os
import socket

from django.conf import settings

from console.errors import ConsoleError
from slurm.terminal.registry import Registry

TELL_S = 2.0
NAME = f"{socket.gethostname()}:{os.getpid()}"


class OpenSockets:
    """What `add` and `remove` change is told within a beat; neither blocks."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._telling: asyncio.Task[None] | None = None

    def add(self, name: str) -> None:
        self._names.add(name)
        loop = asyncio.get_running_loop()
        if self._telling is None or self._telling.done() or self._telling.get_loop() is not loop:
            self._telling = loop.create_task(self._tell())

    def remove(self, name: str) -> None:
        self._names.discard(name)

    async def _tell(self) -> None:
        """Ends after it has said that there are none."""
        async with Registry(settings.REDIS_URL) as registry:
            while True:
                count = len(self._names)
                with contextlib.suppress(ConsoleError):
                    await registry.count_sockets(NAME, count)
                if count == 0 and not self._names:
                    return
                await asyncio.sleep(TELL_S)
