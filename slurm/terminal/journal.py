"""Terminals in the audit trail: opened and closed, for how long, how many bytes; never what was typed or shown.

Written by the worker, not by the consumer: a terminal may end while no page looks at it. Each line is written in a
thread, and again a little later when the database is away.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from django.db import DatabaseError, close_old_connections, transaction
from django.utils import timezone

from console import events, secrets
from console.models import Team, User
from slurm.models import Recording
from slurm.recordings import KEY, key_owner
from slurm.terminal.audience import Person
from slurm.terminal.recorder import Begun, Recorded
from slurm.terminal.session import Ending, Owner

log = logging.getLogger(__name__)
PATIENCE_S = (0.5, 2.0, 5.0, 15.0)
# When the worker is stopped, all that is left has so long: whoever stops it kills it soon after.
LAST_S, HURRIED_S = 8.0, 0.2


class DatabaseJournal:
    """One thread, so that lines keep their order."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="journal")
        self._closing = threading.Event()
        self._until = float("inf")

    def opened(self, session: str, owner: Owner, recording: Begun | None) -> None:
        if recording:
            self._thread.submit(self._patiently, owner, partial(_begin, owner, recording))
        detail: dict[str, object] = {"recorded": True} if recording else {}
        self._thread.submit(self._write, owner, "opened a terminal", session, detail)

    def noted(
        self, session: str, owner: Owner, verb: str, by: Person | None, detail: Mapping[str, object]
    ) -> None:
        self._thread.submit(self._write, owner, verb, session, dict(detail), by)

    def closed(
        self,
        session: str,
        owner: Owner,
        ending: Ending,
        recorded: Recorded | None,
        *,
        lasted_s: int,
        bytes_in: int,
        bytes_out: int,
    ) -> None:
        if recorded:
            self._thread.submit(self._patiently, owner, partial(_end, recorded))
        detail: dict[str, object] = {
            "reason": ending.code,
            "status": ending.status,
            "lasted_s": lasted_s,
            "bytes_in": bytes_in,
            "bytes_out": bytes_out,
        }
        self._thread.submit(self._write, owner, "closed a terminal", session, detail)

    def close(self) -> None:
        """Blocks until everything is written, at most for `LAST_S`: what is left then is in the log alone."""
        self._until = time.monotonic() + LAST_S
        self._closing.set()
        self._thread.shutdown()

    def _write(
        self, owner: Owner, verb: str, session: str, detail: dict[str, object], by: Person | None = None
    ) -> None:
        self._patiently(owner, lambda: self._record(owner, verb, session, detail, by))

    def _patiently(self, owner: Owner, write: Callable[[], None]) -> None:
        error: object = "the worker was stopped"
        for patience_s in (*PATIENCE_S, 0.0):
            if time.monotonic() > self._until:
                break
            close_old_connections()
            try:
                return write()
            except DatabaseError as found:
                error = found
                close_old_connections()
            if self._closing.wait(patience_s):
                time.sleep(HURRIED_S)
        log.error("not written down of %s's terminal on %s: %s", owner.who, owner.cluster_slug, error)
        return None

    def _record(
        self, owner: Owner, verb: str, session: str, detail: dict[str, object], by: Person | None
    ) -> None:
        events.record(
            verb,
            by=User.objects.filter(pk=by.user if by else owner.user).first(),
            team=Team.objects.filter(pk=owner.team).first(),
            cluster=owner.cluster_slug,
            # The session's name alone opens nothing, but nobody needs all of it.
            target=session[:8],
            detail=detail,
            address=(by.address if by else owner.address) or None,
        )


def _begin(owner: Owner, begun: Begun) -> None:
    """The row of a recording, and its key, sealed. A team or person that is gone meanwhile has none."""
    user = User.objects.filter(pk=owner.user).first()
    if not Team.objects.filter(pk=owner.team).exists():
        return
    facts = {"team_id": owner.team, "cluster": owner.cluster_slug, "user": user, "who": owner.who}
    with transaction.atomic():
        Recording.objects.get_or_create(name=begun.name, defaults=facts)
        secrets.put(key_owner(begun.name), KEY, begun.key)


def _end(recorded: Recorded) -> None:
    facts = {"seconds": recorded.seconds, "bytes": recorded.bytes, "cut": recorded.cut}
    Recording.objects.filter(name=recorded.name).update(ended_at=timezone.now(), **facts)
