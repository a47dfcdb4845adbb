"""The errors of Quarterdeck: what may go wrong, in words a tired operator understands.

Everything that can fail for a reason outside the code raises a `ConsoleError`. `message` says what was tried and what
went wrong, `hint` what to do next; `status` is the HTTP status that the middleware and the API answer with.
Vendor errors (Slurm, SSH, Kubernetes, the operating system) are turned into these in the adapter that met them,
chained as the cause, and nowhere else. This module is pure: it knows neither Django nor any vendor.
"""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class Problem:
    """One thing wrong with something a person wrote.

    `path` addresses the field in the terms of `ClusterSpec` (`groups[0].count`, `slurm_conf`); `line` is the 1-based
    line within that field when it holds text. `blocking` is False for advice that does not stop the change.
    """

    path: str
    message: str
    hint: str = ""
    line: int | None = None
    blocking: bool = True


class ConsoleError(Exception):
    """Base of all. `code` is stable and machine-readable; `retryable` says whether the same call may help later."""

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    @property
    def headers(self) -> dict[str, str]:
        """What the answer says besides its body."""
        return {}

    @property
    def facts(self) -> dict[str, object]:
        """What the API's answer says besides the sentences, as plain JSON."""
        return {}


class Missing(ConsoleError):
    """What was named does not exist, or not for this person: the two are indistinguishable on purpose."""

    code = "missing"
    status = 404


class Forbidden(ConsoleError):
    """The person belongs to the team but the role does not reach."""

    code = "forbidden"
    status = 403


class SecondFactorNeeded(Forbidden):
    """The team requires a second factor, and the person has none yet."""

    code = "second-factor-needed"


class Conflict(ConsoleError):
    """The state moved on, or does not allow this now."""

    code = "conflict"
    status = 409


class Rejected(ConsoleError):
    """What was written is wrong. Carries every problem found, so that all are shown at once."""

    code = "rejected"
    status = 422

    def __init__(self, message: str, problems: tuple[Problem, ...] = (), hint: str = "") -> None:
        super().__init__(message, hint)
        self.problems = problems


class Unavailable(ConsoleError):
    """Something outside did not answer or refused for now. No answer is never an empty answer."""

    code = "unavailable"
    status = 503
    retryable = True


class TooMany(ConsoleError):
    """Asked more often than is let through; the same again helps after `wait_s` seconds."""

    code = "too-many"
    status = 429
    retryable = True

    def __init__(self, message: str, hint: str, wait_s: int) -> None:
        super().__init__(message, hint)
        self.wait_s = wait_s

    @property
    def headers(self) -> dict[str, str]:
        return {"Retry-After": str(self.wait_s)}
