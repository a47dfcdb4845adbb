"""Terminals in the audit trail: opened and closed, for how long, how many bytes; never what was typed or shown.

Written by the worker, not by the consumer: a terminal may end while no page looks at it. Each line is written in a
thread, and again a little later when the database is away.
"""

import logging
import time
from concurrent.futures import ThreadPoolExecutor

from django.db import DatabaseError, close_old_connections

from console import events
from console.models import Team, User
from slurm.terminal.session import Ending, Owner

log = logging.getLogger(__name__)
PATIENCE_S = (0.5, 2.0, 5.0, 15.0)


class DatabaseJournal:
    """One thread, so that lines keep their order."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="journal")

    def opened(self, session: str, owner: Owner) -> None:
        self._thread.submit(self._write, owner, "opened a terminal", session, {})

    def closed(
        self, session: str, owner: Owner, ending: Ending, *, lasted_s: int, bytes_in: int, bytes_out: int
    ) -> None:
        detail: dict[str, object] = {
            "reason": ending.code,
            "status": ending.status,
            "lasted_s": lasted_s,
            "bytes_in": bytes_in,
            "bytes_out": bytes_out,
        }
        self._thread.submit(self._write, owner, "closed a terminal", session, detail)

    def close(self) -> None:
        """Blocks until everything is written or given up."""
        self._thread.shutdown()

    def _write(self, owner: Owner, verb: str, session: str, detail: dict[str, object]) -> None:
        for patience_s in (*PATIENCE_S, None):
            try:
                return self._record(owner, verb, session, detail)
            except DatabaseError as error:
                close_old_connections()
                if patience_s is None:
                    log.error(
                        "not in the audit trail: %s %s on %s: %s", owner.who, verb, owner.cluster_slug, error
                    )
                    return None
                time.sleep(patience_s)
        return None

    def _record(self, owner: Owner, verb: str, session: str, detail: dict[str, object]) -> None:
        close_old_connections()
        events.record(
            verb,
            by=User.objects.filter(pk=owner.user).first(),
            team=Team.objects.filter(pk=owner.team).first(),
            cluster=owner.cluster_slug,
            # The session's name alone opens nothing, but nobody needs all of it.
            target=session[:8],
            detail=detail,
            address=owner.address or None,
        )
