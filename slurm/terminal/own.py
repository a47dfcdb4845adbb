"""A person's own open terminals, left behind or not: which there are, and ending one from afar. Blocking."""

from dataclasses import dataclass
from datetime import UTC, datetime

from asgiref.sync import async_to_sync
from django.conf import settings

from clusters.lifecycle import Status
from clusters.models import Cluster
from console.errors import Unavailable
from console.models import User
from slurm.terminal import wire
from slurm.terminal.link import Gone, worker_of
from slurm.terminal.registry import Place, Registry
from slurm.terminal.wire import Kind


@dataclass(frozen=True)
class OwnTerminal:
    """One that is open. `is_seen` means that a page shows it; `cluster` is None where it was deleted meanwhile."""

    session: str
    cluster: Cluster | None
    opened_at: datetime
    typed_at: datetime
    is_seen: bool
    is_shared: bool


def own_terminals(user: User) -> list[OwnTerminal]:
    """The one opened last first; at most a beat old. Raises Unavailable."""

    async def ask() -> dict[str, Place]:
        async with Registry(settings.REDIS_URL) as registry:
            return await registry.of_person(user.pk)

    held = async_to_sync(ask)()
    known = Cluster.objects.select_related("team").exclude(status=Status.DELETED)
    clusters = {one.key: one for one in known.filter(key__in={place.cluster for place in held.values()})}
    found = [
        OwnTerminal(
            session=session,
            cluster=clusters.get(place.cluster),
            opened_at=datetime.fromtimestamp(place.opened_at, UTC),
            typed_at=datetime.fromtimestamp(place.typed_at, UTC),
            is_seen=place.is_seen,
            is_shared=bool(place.share),
        )
        for session, place in held.items()
    ]
    return sorted(found, key=lambda one: one.opened_at, reverse=True)


def close_own(user: User, session: str) -> None:
    """End it, whoever looks at it. Raises Gone when this person has none such, and Unavailable. Its end is in the audit
    trail like any other."""

    async def ask() -> None:
        async with Registry(settings.REDIS_URL) as registry:
            place = (await registry.of_person(user.pk)).get(session)
            if place is None:
                raise Gone("This terminal has ended already.")
            link = await worker_of(registry, session, user.pk, place.cluster)
        try:
            link.send(wire.message(Kind.CLOSE, session=session, user=user.pk, cluster=place.cluster))
            frames = await link.read()
        finally:
            link.close()
        if not frames:
            raise Unavailable(
                "The terminal service went away.", "What ran in the terminal has ended with it."
            )

    async_to_sync(ask)()
