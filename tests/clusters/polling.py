"""Waiting for something to become true, instead of sleeping."""

import time
from collections.abc import Callable


def until(claim: Callable[[], bool], within_s: float = 8.0) -> bool:
    give_up = time.monotonic() + within_s
    while time.monotonic() < give_up:
        if claim():
            return True
        time.sleep(0.02)
    return claim()
