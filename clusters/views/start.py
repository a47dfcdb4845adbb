"""When a change is to start, as a form says it (`clusters/_start.html`)."""

from collections.abc import Mapping
from datetime import UTC, datetime

from clusters.when import WHEN_IDLE, When
from console.errors import Problem, Rejected


def start_of(typed: Mapping[str, object]) -> When:
    """Raises Rejected at `start_at` for what is no time; whether it may be that one is not asked here."""
    if typed.get("when") == "idle":
        return WHEN_IDLE
    text = str(typed.get("start_at") or "").strip()
    if not text:
        return None
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError as error:
        wrong = Problem("start_at", "This is no time.", "Write it as 2030-01-31T18:30, in UTC.")
        raise Rejected("It was not scheduled.", (wrong,)) from error
