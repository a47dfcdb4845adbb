"""How much work something is: as a multiple of a fixed piece of work that is done beside it. A slow or busy machine
takes longer over both, so that a bound in yardsticks holds where one in seconds would not.
"""

import time
from collections.abc import Callable

# About a tenth of a second.
ROUNDS = 250_000
TRIES = 3


def in_yardsticks(act: Callable[[], object], *, tries: int = TRIES) -> float:
    """CPU time of this process in `act`, as a multiple: the least of `tries`, each beside its own yardstick."""
    return min(_cpu_s(act) / _cpu_s(_yardstick) for _ in range(tries))


def _cpu_s(act: Callable[[], object]) -> float:
    began = time.process_time()
    act()
    return time.process_time() - began


def _yardstick() -> None:
    """What the measured code does most: numbers, texts, dictionaries."""
    seen: dict[str, int] = {}
    for number in range(ROUNDS):
        key = str(number % 1000)
        seen[key] = seen.get(key, 0) + number
