"""How often somebody may try: counters in Redis, and TooMany with the seconds to wait.

Without Redis everything is let through, with a line in the log: a sign-in costs an Argon2 hash anyway, and whoever
repairs the console has to get in while Redis is away.
"""

import time
from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from console.counters import count, uncount
from console.errors import TooMany
from console.models import User


@dataclass(frozen=True)
class Limit:
    """At most `most` of something in each window."""

    name: str
    most: int
    window_s: int
    message: str

    def take(self, whose: str) -> None:
        """Count one of `whose`. Raises TooMany beyond the limit."""
        counted = count(f"{self.name}:{whose}", self.window_s)
        if counted is not None and counted > self.most:
            wait_s = self.window_s - int(time.time() % self.window_s)
            raise TooMany(self.message, f"Try again in {_words(wait_s)}.", wait_s)

    def give_back(self, whose: str) -> None:
        """What was taken turned out not to count."""
        uncount(f"{self.name}:{whose}", self.window_s)


# A window is short: an account that a stranger keeps trying is closed to its owner for as long.
ACCOUNT = Limit("sign-in", 10, 300, "There were too many wrong passwords for this name.")
ADDRESS = Limit("sign-in-from", 60, 300, "There were too many wrong passwords from your address.")
INVITATIONS = Limit("invitation-from", 30, 60, "There were too many unknown invitations from your address.")
CODES = Limit("code", 10, 300, "There were too many wrong codes for this account.")
TOKENS = Limit("token-from", 30, 60, "There were too many unknown tokens from your address.")


def address_of(request: HttpRequest | Request | None) -> str:
    """Where it came from. A forwarded header counts only from settings.TRUSTED_PROXIES (console.asgi)."""
    return str(request.META.get("REMOTE_ADDR") or "") if request else ""


class PersonThrottle(BaseThrottle):
    """Requests of one person to the API, whatever token or session they come with."""

    def allow_request(self, request: Request, view: object) -> bool:
        if isinstance(request.user, User):
            limit = Limit("api", settings.API_REQUESTS_A_MINUTE, 60, "You asked the API too often.")
            limit.take(str(request.user.pk))
        return True


def _words(seconds: int) -> str:
    return f"{seconds} s" if seconds < 90 else f"{round(seconds / 60)} minutes"
