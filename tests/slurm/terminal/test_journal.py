"""The audit trail of terminals, when the database has a bad moment."""

import time

import pytest
from django.db import OperationalError

from console import events
from console.models import Event, Team
from slurm.terminal import journal
from slurm.terminal.journal import DatabaseJournal
from slurm.terminal.session import Ending, Owner


@pytest.fixture
def owner(team: Team) -> Owner:
    person = team.memberships.get(user__username="mo").user
    return Owner(person.pk, "mo", team.pk, "c1", "demo", "10.0.0.7")


def test_line_that_the_database_refused_at_first_is_written_later(
    owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, tries = events.record, []

    def unsteady(*args: object, **kwargs: object) -> Event:
        tries.append(args)
        if len(tries) < 3:
            raise OperationalError("the server closed the connection")
        return record(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(journal, "PATIENCE_S", (0.01, 0.01))
    monkeypatch.setattr(events, "record", unsteady)
    lines = DatabaseJournal()
    lines.opened("session-one", owner, None)
    lines.closed(
        "session-one", owner, Ending("idle", "Nothing was typed."), None, lasted_s=7, bytes_in=1, bytes_out=2
    )
    lines.close()
    opened, closed = Event.objects.filter(target="session-").order_by("pk")
    assert (opened.verb, opened.who, opened.address) == ("opened a terminal", "mo", "10.0.0.7")
    assert opened.target == closed.target == "session-"
    assert closed.detail == {"reason": "idle", "status": None, "lasted_s": 7, "bytes_in": 1, "bytes_out": 2}


def test_worker_that_is_stopped_waits_for_no_database_that_is_away(
    owner: Owner, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def away(*args: object, **kwargs: object) -> Event:
        raise OperationalError("the server is away")

    monkeypatch.setattr(journal, "LAST_S", 0.5)
    monkeypatch.setattr(events, "record", away)
    lines = DatabaseJournal()
    for number in range(200):
        lines.opened(f"session-{number}", owner, None)
    began = time.monotonic()
    lines.close()
    assert time.monotonic() - began < 20
    assert caplog.text.count("not written down of mo's terminal on demo") == 200


def test_person_who_was_deleted_meanwhile_stops_no_line(owner: Owner) -> None:
    Team.objects.get().members.get(username="mo").delete()
    lines = DatabaseJournal()
    lines.opened("session-one", owner, None)
    lines.close()
    assert Event.objects.latest("pk").user is None
