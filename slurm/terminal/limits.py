"""How long a terminal may live, decided without a clock, and how many one person may have. Pure; times are seconds of
one monotonic clock.

A warning's sentence ends where its countdown follows: the page counts `left_s` down beside it.
"""

from dataclasses import dataclass, replace
from math import ceil

MOST_PER_PERSON = 12


@dataclass(frozen=True)
class Limits:
    """Idle counts from the last key typed, attached or not. The warning comes `warning_s` before either end."""

    idle_s: float = 30 * 60
    absolute_s: float = 12 * 3600
    warning_s: float = 5 * 60

    def fitted(self) -> "Limits":
        """With the warning no longer than half of the shorter life, so that a terminal is not born warned."""
        return replace(self, warning_s=min(self.warning_s, self.idle_s / 2, self.absolute_s / 2))


@dataclass(frozen=True)
class Due:
    """What is to be said or done now. `left_s` is 0 when the time is over."""

    code: str
    left_s: int
    sentence: str


def due(limits: Limits, *, now: float, opened: float, typed: float) -> Due | None:
    """The nearer of the two ends, once it is within its warning time."""
    idle_left = typed + limits.idle_s - now
    absolute_left = opened + limits.absolute_s - now
    if min(idle_left, absolute_left) > limits.warning_s:
        return None
    if absolute_left <= idle_left:
        return _absolute(limits, absolute_left)
    return _idle(limits, idle_left)


def _absolute(limits: Limits, left_s: float) -> Due:
    if left_s <= 0:
        return Due(
            "absolute", 0, f"A terminal lives {spoken(limits.absolute_s)} at most. Open a new one to go on."
        )
    return Due(
        "absolute",
        ceil(left_s),
        f"A terminal lives {spoken(limits.absolute_s)} at most. This one closes in",
    )


def _idle(limits: Limits, left_s: float) -> Due:
    if left_s <= 0:
        return Due("idle", 0, f"Nothing was typed for {spoken(limits.idle_s)}.")
    return Due(
        "idle",
        ceil(left_s),
        "Nothing was typed for long. Press a key to keep this terminal, which else closes in",
    )


def spoken(seconds: float) -> str:
    """`12 hours`, `5 minutes`, `1 minute`, `40 seconds`."""
    for size, unit in ((3600, "hour"), (60, "minute"), (1, "second")):
        if seconds >= size:
            count = round(seconds / size)
            return f"{count} {unit}{'' if count == 1 else 's'}"
    return "less than a second"
