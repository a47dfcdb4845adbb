"""Where terminals are: which workers live, and which worker holds a session. Kept in Redis, written by workers only.

Every entry runs out after `LIFE_S` unless its worker says it again, so a worker that was killed is forgotten by itself
and a Redis that was emptied knows everything again after one beat. Redis errors become Unavailable here.
"""

import json
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Self

from redis.asyncio import Redis
from redis.exceptions import RedisError

from console.errors import Unavailable

LIFE_S = 15
BEAT_S = 5.0
WORKERS = "quarterdeck:terminals:workers"
SESSION = "quarterdeck:terminals:session:"
HELD = "quarterdeck:terminals:cluster:"


@dataclass(frozen=True)
class Place:
    """A session's whereabouts: the socket of its worker, the primary key of its owner, and the cluster's key."""

    path: str
    user: int
    cluster: str


class Registry:
    """A connection pool of its own, closed with the `async with` that it is used in."""

    def __init__(self, url: str) -> None:
        self._redis: Redis = Redis.from_url(
            url, decode_responses=True, socket_timeout=3, socket_connect_timeout=3
        )

    async def beat(self, path: str, sessions: Iterable[tuple[str, Place]]) -> None:
        """Say that the worker at `path` lives and what it holds."""
        now = time.time()
        pipe = self._redis.pipeline(transaction=False)
        pipe.zremrangebyscore(WORKERS, 0, now)
        pipe.zadd(WORKERS, {path: now + LIFE_S})
        for session, place in sessions:
            pipe.set(SESSION + session, json.dumps(asdict(place)), ex=LIFE_S)
            pipe.zremrangebyscore(HELD + place.cluster, 0, now)
            pipe.zadd(HELD + place.cluster, {session: now + LIFE_S})
            pipe.expire(HELD + place.cluster, LIFE_S)
        await self._do(pipe.execute())

    async def forget(self, session: str) -> None:
        place = await self.place(session)
        pipe = self._redis.pipeline(transaction=False)
        pipe.delete(SESSION + session)
        if place:
            pipe.zrem(HELD + place.cluster, session)
        await self._do(pipe.execute())

    async def leave(self, path: str) -> None:
        await self._do(self._redis.zrem(WORKERS, path))

    async def workers(self) -> list[str]:
        """Socket paths of the workers that live, those heard of last first."""
        found: list[str] = await self._do(self._redis.zrevrangebyscore(WORKERS, "+inf", time.time()))
        return found

    async def held(self, cluster: str) -> int:
        """How many terminals are open on this cluster (by its key); late by a beat when a worker was killed."""
        found: int = await self._do(self._redis.zcount(HELD + cluster, time.time(), "+inf"))
        return found

    async def place(self, session: str) -> Place | None:
        found = await self._do(self._redis.get(SESSION + session))
        return Place(**json.loads(found)) if found else None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._redis.aclose()

    async def _do(self, command):  # type: ignore[no-untyped-def]  # redis-py types sync and async answers as one
        try:
            return await command
        except (RedisError, OSError) as error:
            raise Unavailable(
                "Redis, where terminals are found, does not answer.", "The page tries again by itself."
            ) from error
