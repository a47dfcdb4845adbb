"""How the terminals of this console are: what each worker holds, and how many pages are connected. Blocking."""

from dataclasses import dataclass

from asgiref.sync import async_to_sync
from django.conf import settings

from slurm.terminal.registry import Registry


@dataclass(frozen=True)
class WorkerHealth:
    """What a worker said last. `links` are connections of web processes to it, of which `opening` show nothing yet."""

    address: str
    sessions: int = 0
    unseen: int = 0
    watchers: int = 0
    links: int = 0
    opening: int = 0
    recordings: int = 0


@dataclass(frozen=True)
class Health:
    workers: tuple[WorkerHealth, ...]
    sockets: int

    @property
    def sessions(self) -> int:
        return sum(worker.sessions for worker in self.workers)

    @property
    def links(self) -> int:
        return sum(worker.links for worker in self.workers)


def health() -> Health:
    """At most a beat old. Raises Unavailable."""

    async def ask() -> Health:
        async with Registry(settings.REDIS_URL) as registry:
            told = [(address, await registry.told(address)) for address in await registry.workers()]
            workers = tuple(WorkerHealth(address, **facts) for address, facts in told)
            return Health(workers, await registry.sockets())

    return async_to_sync(ask)()
