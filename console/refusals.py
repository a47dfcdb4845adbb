"""Attempts that the door refused, in the audit trail, without letting one person flood it.

Of one person ten a minute are written down; of more, each time the number has doubled, with the number: the count is
kept, and a loop of a million requests makes seventeen rows.
"""

from datetime import timedelta

from django.contrib.auth.models import AnonymousUser
from django.utils import timezone

from console import events
from console.counters import count
from console.models import Event, Team, User

VERB = "door"
SIGN_IN = "sign-in"
MOST_A_MINUTE = 10


def note(user: User | AnonymousUser, team: Team | None, what: str, why: str, *, cluster: str = "") -> None:
    """Write down that `user` asked for `what` (an action, mostly) in vain. Nobody's request is not written down."""
    if not isinstance(user, User):
        return
    attempts = _attempts(user)
    if attempts > MOST_A_MINUTE and not _has_doubled(attempts):
        return
    many = {"attempts": attempts} if attempts > MOST_A_MINUTE else {}
    events.record(
        VERB, by=user, team=team, cluster=cluster, target=what, outcome="refused",
        detail={"reason": why, **many},
    )  # fmt: skip


def note_sign_in(user: User | None, how: str, why: str) -> None:
    """Write down that somebody tried to sign in as `user` in vain. None: nobody has the name that was typed, which is
    not kept, since people type passwords there.
    """
    attempts = _attempts(user, SIGN_IN)
    if attempts > MOST_A_MINUTE and not _has_doubled(attempts):
        return
    many = {"attempts": attempts} if attempts > MOST_A_MINUTE else {}
    events.record(
        SIGN_IN, by=user, target=how if user else f"{how}, for a name that nobody has", outcome="refused",
        detail={"reason": why, **many},
    )  # fmt: skip


def _attempts(user: User | None, verb: str = VERB) -> int:
    """In this minute, this one included. Without Redis what is written down is counted, and the rest is not."""
    whose = user.pk if user else "nobody"
    counted = count(f"refused:{whose}" if verb == VERB else f"refused:{verb}:{whose}", 60)
    if counted is not None:
        return counted
    minute = timezone.now() - timedelta(minutes=1)
    return Event.objects.filter(user=user, verb=verb, outcome="refused", at__gt=minute).count() + 1


def _has_doubled(attempts: int) -> bool:
    times, rest = divmod(attempts, MOST_A_MINUTE)
    return rest == 0 and times & (times - 1) == 0
