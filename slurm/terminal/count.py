"""How many terminals are open, for who wants to restart the login node below them. Blocking."""

from asgiref.sync import async_to_sync
from django.conf import settings

from slurm.terminal.registry import Registry


def open_terminals(cluster: str) -> int:
    """On the cluster of this key. Raises Unavailable."""

    async def ask() -> int:
        async with Registry(settings.REDIS_URL) as registry:
            return await registry.held(cluster)

    return async_to_sync(ask)()
