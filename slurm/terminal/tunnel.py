"""Connections to login nodes that no address of leads to, made through the platform (`LoginEndpoint.tunnel`).

Openers are found by the tunnel's `kind` in `settings.TUNNELS`: `opener(tunnel) -> socket.socket` blocks, raises
`ConsoleError`s only, and its socket takes the tunnel down when it is closed. They may ask the database.
"""

import asyncio
import socket
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor

from django.conf import settings
from django.db import close_old_connections, connections
from django.utils.module_loading import import_string

from console.errors import Unavailable

# Threads of their own: one that a platform does not answer delays other tunnels only, and nothing else of the process.
MOST_AT_ONCE = 16
_threads = ThreadPoolExecutor(MOST_AT_ONCE, thread_name_prefix="tunnel")


class NoWay(Unavailable):
    """Nobody knows how to open such a tunnel: the console's settings and the region do not fit together."""

    code = "no-way"
    retryable = False


async def through(tunnel: Mapping[str, str]) -> socket.socket:
    """A connected socket to the login node. Raises what the opener raises, and NoWay.

    A caller that gives up while it opens leaves nothing open: what comes late is closed.
    """
    opening = _threads.submit(_open, dict(tunnel))
    try:
        return await asyncio.wrap_future(opening)
    except asyncio.CancelledError:
        opening.add_done_callback(_close)
        raise


def _open(tunnel: Mapping[str, str]) -> socket.socket:
    path = settings.TUNNELS.get(tunnel.get("kind", ""))
    if path is None:
        raise NoWay(
            f"The way to the login node ({tunnel.get('kind')}) is not known to this console.",
            "An operator compares the region with the console's settings (TUNNELS).",
        )
    close_old_connections()
    try:
        opened: socket.socket = import_string(path)(tunnel)
    finally:
        connections.close_all()
    return opened


def _close(opening: "Future[socket.socket]") -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()
