"""Counting in Redis, for limits. Windows are fixed: a counter begins anew at each full multiple of its length."""

import hashlib
import logging
import time
from contextlib import suppress

from django.core.cache import cache
from redis.exceptions import RedisError

log = logging.getLogger(__name__)


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
