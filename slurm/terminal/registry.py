"""Where terminals are: which workers live, and which worker holds a session. Kept in Redis, written by workers only.

Every entry runs out after `LIFE_S` unless its worker says it again, so a worker that was killed is forgotten by itself
and a Redis that was emptied knows everything again after one beat. Redis errors become Unavailable here.
"""

import json
import time
from collections.abc import Iterable, Mapping
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
PERSON = "quarterdeck:terminals:person:"
ENDED = "quarterdeck:terminals:ended:"
SHARED = "quarterdeck:terminals:shared:"
TOLD = "quarterdeck:terminals:told:"
SOCKETS = "quarterdeck:terminals:sockets"
ENDED_S = 24 * 3600


@dataclass(frozen=True)
class Place:
    """A session's whereabouts: the address of its worker (see `reach`), its owner's primary key, its cluster's key, and
    the token of the link that shares it, if one does. `opened_at` and `typed_at` (the last key) are Unix times, and
    `is_seen` says whether its owner's page shows it."""

    address: str
    user: int
    cluster: str
    share: str = ""
    opened_at: int = 0
    typed_at: int = 0
    is_seen: bool = False


class Registry:
    """A connection pool of its own, closed with the `async with` that it is used in."""

    def __init__(self, url: str) -> None:
        self._redis: Redis = Redis.from_url(
            url, decode_responses=True, socket_timeout=3, socket_connect_timeout=3
        )

    async def beat(self, address: str, sessions: Iterable[tuple[str, Place]]) -> None:
        """Say that the worker at `address` lives and what it holds."""
        now = time.time()
        pipe = self._redis.pipeline(transaction=False)
        pipe.zremrangebyscore(WORKERS, 0, now)
        pipe.zadd(WORKERS, {address: now + LIFE_S})
        for session, place in sessions:
            pipe.set(SESSION + session, json.dumps(asdict(place)), ex=LIFE_S)
            if place.share:
                pipe.set(SHARED + place.share, json.dumps(asdict(place)), ex=LIFE_S)
            for holder in _holders(place):
                pipe.zremrangebyscore(holder, 0, now)
                pipe.zadd(holder, {session: now + LIFE_S})
                pipe.expire(holder, LIFE_S)
        await self._do(pipe.execute())

    async def end(self, session: str, place: Place, sentence: str) -> None:
        """Forget where it is; why it ended is kept for a page that comes back."""
        pipe = self._redis.pipeline(transaction=False)
        pipe.delete(SESSION + session)
        for holder in _holders(place):
            pipe.zrem(holder, session)
        if place.share:
            pipe.delete(SHARED + place.share)
        pipe.set(ENDED + session, json.dumps([place.user, place.cluster, sentence]), ex=ENDED_S)
        await self._do(pipe.execute())

    async def ending(self, session: str, user: int, cluster: str) -> str:
        """The sentence that it ended with; empty when that is not known, or it was another's."""
        found = await self._do(self._redis.get(ENDED + session))
        whose, where, sentence = json.loads(found) if found else (0, "", "")
        return str(sentence) if (whose, where) == (user, cluster) else ""

    async def unshare(self, token: str) -> None:
        await self._do(self._redis.delete(SHARED + token))

    async def tell(self, address: str, facts: Mapping[str, int]) -> None:
        """What the worker there holds, for the health page."""
        await self._do(self._redis.set(TOLD + address, json.dumps(dict(facts)), ex=LIFE_S))

    async def told(self, address: str) -> dict[str, int]:
        found = await self._do(self._redis.get(TOLD + address))
        return dict(json.loads(found)) if found else {}

    async def count_sockets(self, process: str, count: int) -> None:
        """How many terminal sockets a web process has open; true until it runs out."""
        if count:
            await self._do(self._redis.hset(SOCKETS, process, json.dumps([count, time.time() + LIFE_S])))
        else:
            await self._do(self._redis.hdel(SOCKETS, process))

    async def sockets(self) -> int:
        """Of all web processes that live."""
        found = await self._do(self._redis.hgetall(SOCKETS))
        counts = [json.loads(each) for each in found.values()]
        return sum(count for count, until in counts if until > time.time())

    async def leave(self, address: str) -> None:
        await self._do(self._redis.zrem(WORKERS, address))

    async def workers(self) -> list[str]:
        """Addresses of the workers that live, those heard of last first."""
        found: list[str] = await self._do(self._redis.zrevrangebyscore(WORKERS, "+inf", time.time()))
        return found

    async def held(self, cluster: str) -> int:
        """How many terminals are open on this cluster (by its key); late by a beat when a worker was killed."""
        found: int = await self._do(self._redis.zcount(HELD + cluster, time.time(), "+inf"))
        return found

    async def of_person(self, user: int) -> dict[str, Place]:
        """What this person has open, on whichever cluster and worker, by session; late by a beat."""
        named: list[str] = await self._do(self._redis.zrangebyscore(PERSON + str(user), time.time(), "+inf"))
        found = await self._do(self._redis.mget([SESSION + name for name in named])) if named else []
        return {name: Place(**json.loads(one)) for name, one in zip(named, found, strict=True) if one}

    async def place(self, session: str) -> Place | None:
        return await self._place(SESSION + session)

    async def shared(self, token: str) -> Place | None:
        """Where the terminal is that this link's token shows."""
        return await self._place(SHARED + token)

    async def _place(self, key: str) -> Place | None:
        found = await self._do(self._redis.get(key))
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


def _holders(place: Place) -> tuple[str, str]:
    """The keys of the sets that a session is in."""
    return HELD + place.cluster, f"{PERSON}{place.user}"
