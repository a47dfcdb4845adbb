"""How long a terminal may live, decided without a clock. Pure; times are seconds of one monotonic clock."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Idle counts from the last key typed, attached or not. The warning comes `warning_s` before either end."""

    idle_s: float = 30 * 60
    absolute_s: float = 12 * 3600
    warning_s: float = 5 * 60


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
        int(left_s),
        f"This terminal reaches its limit of {spoken(limits.absolute_s)} and closes in {spoken(left_s)}.",
    )


def _idle(limits: Limits, left_s: float) -> Due:
    if left_s <= 0:
        return Due("idle", 0, f"Nothing was typed for {spoken(limits.idle_s)}.")
    return Due(
        "idle",
        int(left_s),
        f"Nothing typed: this terminal closes in {spoken(left_s)}. Press a key to keep it.",
    )


def spoken(seconds: float) -> str:
    """`12 hours`, `5 minutes`, `1 minute`, `40 seconds`."""
    for size, unit in ((3600, "hour"), (60, "minute"), (1, "second")):
        if seconds >= size:
            count = round(seconds / size)
            return f"{count} {unit}{'' if count == 1 else 's'}"
    return "less than a second"
