"""Counting in Redis, for limits. Windows are fixed: a counter begins anew at each full multiple of its length."""

import hashlib
import json
import logging
import time
from contextlib import suppress

from django.core.cache import cache
from redis.exceptions import RedisError

log = logging.getLogger(__name__)


class PlainValues:
    """What the cache keeps in Redis: numbers as they are, anything else as JSON. Django's own would pickle, and whoever
    can write to Redis would then run code here.
    """

    def dumps(self, value: object) -> object:
        return value if type(value) is int else json.dumps(value)

    def loads(self, stored: bytes) -> object:
        try:
            return int(stored)
        except ValueError:
            return json.loads(stored)


def count(name: str, window_s: int) -> int | None:
    """Count one more of `name`; how many there are in this window. None, and a line in the log, without Redis."""
    key = _key(name, window_s)
    try:
        cache.add(key, 0, window_s * 2)
        return int(cache.incr(key))
    except (RedisError, OSError, ValueError) as error:
        log.warning("not counted: %s: %r", name.partition(":")[0], error)
        return None


def uncount(name: str, window_s: int) -> None:
    """Take one back that `count` counted."""
    with suppress(RedisError, OSError, ValueError):
        cache.decr(_key(name, window_s))


def _key(name: str, window_s: int) -> str:
    """Names hold what people typed: a digest is short and has no odd character."""
    digest = hashlib.sha256(name.encode(errors="replace")).hexdigest()[:32]
    return f"count:{digest}:{window_s}:{int(time.time() // window_s)}"
