"""Which worker goes next. Pure.

The order was read in v1.2.1 and what follows from it was seen: with a job on slinky-3, a scale from 4 to 3 first
cordoned and drained slinky-3, then moved to the idle slinky-2 and undrained slinky-3, once the job's end was written
down as the pod's deadline. The highest ordinal does not always go.
"""

from collections.abc import Iterable
from typing import Any

from slurm.kube.kinds import Thing
from tests.kube.double.workers import CORDON, COST, DEADLINE, INDEX

PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


def to_remove(pods: Iterable[Thing], count: int) -> list[Thing]:
    return sorted(pods, key=rank)[:count]


def rank(pod: Thing) -> tuple[Any, ...]:
    """What differs first decides: unscheduled, phase, not ready, cost, deadline, cordoned, higher ordinal, newer."""
    about, notes = pod["metadata"], pod["metadata"].get("annotations") or {}
    return (
        bool(pod["spec"].get("nodeName")),
        PHASES.get((pod.get("status") or {}).get("phase", "Pending"), 2),
        is_ready(pod),
        _number(notes.get(COST, "0")),
        notes.get(DEADLINE, ""),
        notes.get(CORDON) != "true",
        -ordinal_of(pod),
        _newest_first(about.get("creationTimestamp", "")),
    )


def ordinal_of(pod: Thing) -> int:
    return _number(pod["metadata"]["labels"].get(INDEX, "0"))


def is_ready(pod: Thing) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def is_going(pod: Thing) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp"))


def is_cordoned(pod: Thing) -> bool:
    return (pod["metadata"].get("annotations") or {}).get(CORDON) == "true"


def _newest_first(moment: str) -> tuple[int, ...]:
    return tuple(-ord(character) for character in moment)


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        return 0
