"""Who works on a change at this moment: one worker, for as long as it keeps saying so.

A lease is a token and a time on the change's row. Every write of a worker is guarded by its token, so that a
worker that was thought dead and comes back finds nothing to write to and stops. Used by `clusters.run`,
`clusters.tasks` and the demo's past alone. Times come from the clock given, never from the database, so
that tests turn it by hand.
"""

import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import DatabaseError, connection, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from clusters.machine import LIVE
from clusters.models import Change, ChangeLine

LEASE_S = 15.0
LEAST_LEFT_S = 60.0
BEAT_S = 4.0
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Clock:
    now: Callable[[], datetime] = timezone.now
    sleep: Callable[[float], None] = time.sleep


class LeaseLost(Exception):
    """Another worker has the change, or it was given up. Stop quietly: nothing was written."""


class Lease:
    """A worker's hold on one change. `change` is kept as written."""

    def __init__(self, change: Change, token: str, clock: Clock) -> None:
        self.change = change
        self.token = token
        self.clock = clock

    def write(self, **fields: object) -> None:
        """Update the change and prolong the hold. Raises LeaseLost when it is no longer ours or no longer
        live."""
        fields.setdefault("lease_until", self.clock.now() + timedelta(seconds=LEASE_S))
        ours = Change.objects.filter(pk=self.change.pk, lease_token=self.token, status__in=LIVE)
        if not ours.update(**fields):
            raise LeaseLost(str(self.change))
        for name, value in fields.items():
            setattr(self.change, name, value)

    def say(self, text: str, tone: str = "ok") -> None:
        """Append one sentence to the change's log. Raises LeaseLost."""
        with transaction.atomic():
            self.write()
            ChangeLine.objects.create(change=self.change, text=text, tone=tone)

    def last_words(self) -> str:
        """The latest sentence of the log: another worker may have said it."""
        return self.change.lines.order_by("-pk").values_list("text", flat=True).first() or ""

    def rest(self, waits_for: str) -> None:
        """Stop the change's clock while it waits patiently, before letting go of it. What led here went well, so
        earlier interruptions are forgotten. Raises LeaseLost."""
        left = self.change.time_left or timedelta()
        if self.change.deadline is not None:
            left = self.change.deadline - self.clock.now()
        left = max(left, timedelta(seconds=LEAST_LEFT_S))
        since = self.change.rests_since or self.clock.now()
        self.write(deadline=None, time_left=left, attempts=0, waits_for=waits_for, rests_since=since)

    def wake(self) -> None:
        """Let its clock run on, with time enough for what comes after the wait. Raises LeaseLost."""
        if self.change.time_left is not None:
            now = self.clock.now()
            deadline = now + self.change.time_left
            rested = self.change.rested + (now - (self.change.rests_since or now))
            self.write(deadline=deadline, time_left=None, waits_for="", rests_since=None, rested=rested)

    def cancelled_by(self) -> str:
        """Who has asked to cancel the change, empty while nobody has. Asks the database."""
        asked = Change.objects.filter(pk=self.change.pk).values_list("cancelled_by__username", flat=True)
        return asked.first() or ""

    def is_forced(self) -> bool:
        """Whether jobs are ended by now that would otherwise be waited for. Asks the database."""
        self.change.force = Change.objects.filter(pk=self.change.pk, force=True).exists()
        return self.change.force

    def is_confirmed(self) -> bool:
        """Whether somebody has said yes to what the change costs by now, and to what: `change.impact` is read, too."""
        row = (
            Change.objects.filter(pk=self.change.pk, is_confirmed=True)
            .values_list("impact", flat=True)
            .first()
        )
        if row is not None:
            self.change.impact = row
        return row is not None

    def hold(self) -> None:
        """Prolong without writing anything, even when the change was given up: the worker is still busy
        with it."""
        until = self.clock.now() + timedelta(seconds=LEASE_S)
        self._held().update(lease_until=until)

    def release(self) -> None:
        self._held().update(lease_until=None)

    def _held(self) -> QuerySet[Change]:
        return Change.objects.filter(pk=self.change.pk, lease_token=self.token, lease_until__isnull=False)


def take(change_id: int, clock: Clock) -> Lease | None:
    """The lease of a live change that nobody holds, in one conditional update; None when there is none to
    take.

    A worker that still holds an earlier, given-up change of the same cluster keeps the next one waiting, so
    that two never work on one cluster. Time during which nobody worked on the change does not count against
    its deadline: that began when its last holder was last heard of, a whole lease before the lease ran out.
    """
    now, token = clock.now(), secrets.token_hex(16)
    before = Change.objects.filter(pk=change_id).values_list("lease_until", flat=True).first()
    free = free_at(now).filter(pk=change_id)
    until = now + timedelta(seconds=LEASE_S)
    if not free.update(lease_token=token, lease_until=until, attempts=F("attempts") + 1):
        return None
    change = Change.objects.select_related(
        "cluster__team", "cluster__region", "cluster__revision", "base", "revision", "by"
    ).get(pk=change_id)
    lease = Lease(change, token, clock)
    if before is not None and change.deadline is not None:
        heard_of = before - timedelta(seconds=LEASE_S)
        lease.write(deadline=change.deadline + max(now - heard_of, timedelta()))
    return lease


def free_at(now: datetime) -> QuerySet[Change]:
    """Live changes that a worker may take: never begun, or left by one that died."""
    elsewhere = Change.objects.filter(cluster=OuterRef("cluster"), lease_until__gte=now).exclude(
        pk=OuterRef("pk")
    )
    return Change.objects.filter(
        Q(lease_until=None) | Q(lease_until__lt=now), ~Exists(elsewhere), status__in=LIVE
    ).order_by()


@contextmanager
def beating(lease: Lease) -> Iterator[None]:
    """Hold the lease from a second thread, through effects that say nothing for longer than it lasts."""
    done = threading.Event()
    thread = threading.Thread(target=_beat, args=(lease, done), name=f"lease-{lease.change.pk}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(timeout=BEAT_S)


def _beat(lease: Lease, done: threading.Event) -> None:
    try:
        while not done.wait(BEAT_S):
            try:
                lease.hold()
            except DatabaseError as error:
                # The lease runs out if this lasts, and the next guarded write says so.
                log.warning("lease not prolonged: change %s: %s", lease.change.pk, error)
                connection.close()
    finally:
        connection.close()
