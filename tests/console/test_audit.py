"""The audit trail cannot be changed, and says so when it was: triggers, the hash chain, its check, its copy outside."""

import json
import os
import socket
import threading
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import ProgrammingError, connection, transaction

from console import events, refusals, sink
from console.access import membership_for, require_staff
from console.audit import verify
from console.errors import Forbidden, Missing
from console.models import Event, Team, User
from console.roles import Action
from tests.cast import Cast, person, the_cast, tiny_cluster


def some_events(cast: Cast, count: int = 4) -> list[Event]:
    return [
        events.record("job.hold", by=cast.mo.user, team=cast.team, target=str(n), detail={"n": n})
        for n in range(count)
    ]


def sql(text: str, *values: object) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(text, values)


def tampered(text: str, *values: object) -> None:
    """As somebody would who owns the table."""
    sql("ALTER TABLE console_event DISABLE TRIGGER event_stays")
    sql(text, *values)
    sql("ALTER TABLE console_event ENABLE ALWAYS TRIGGER event_stays")


def faults() -> list[str]:
    return [chain.fault for chain in verify() if chain.fault]


@pytest.mark.parametrize(
    "text",
    [
        "UPDATE console_event SET who = 'mallory'",
        "DELETE FROM console_event",
        "SET LOCAL session_replication_role = replica; DELETE FROM console_event",
    ],
)
def test_database_refuses_to_change_what_is_written(cast: Cast, text: str) -> None:
    some_events(cast)
    with pytest.raises(ProgrammingError, match="append-only"):
        sql(text)
    assert Event.objects.filter(who="mo").count() == 4


def test_database_refuses_to_empty_the_trail(cast: Cast) -> None:
    some_events(cast)
    sql("SET CONSTRAINTS ALL IMMEDIATE")
    sql("ALTER TABLE console_event ENABLE ALWAYS TRIGGER events_stay")  # the tests' own database sleeps here
    with pytest.raises(ProgrammingError, match="append-only"):
        sql("TRUNCATE console_event")


def test_event_outlives_the_account_and_the_team(cast: Cast) -> None:
    mo, team = cast.mo.user.pk, cast.team.pk
    made = some_events(cast)[0]
    User.objects.get(pk=mo).delete()
    Team.objects.get(pk=team).delete()
    kept = Event.objects.get(pk=made.pk)
    assert (kept.user_id, kept.who, kept.team_id, kept.team_slug) == (mo, "mo", team, "research")
    assert faults() == []


def test_whole_trail_fits_whatever_was_written(cast: Cast) -> None:
    some_events(cast)
    hostile = {
        "a": ["x\0y", "\ud800", (1, 2)],
        "f": [1.0, 0.1, 1e-7, 1e300, float("inf")],
        "ü": None,
        "n\0": {"b": True},
    }
    events.record("x", by=None, detail=hostile, target="\ud800" + "t" * 300, address="::ffff:192.0.2.1")
    events.record("x", by=cast.ada.user, team=cast.team, address="2001:DB8:0::1")
    assert Event.objects.filter(address="192.0.2.1").exists()
    assert faults() == []
    assert {chain.id: chain.events for chain in verify()} == {0: 1, cast.team.pk: 5}


@pytest.mark.parametrize(
    "text",
    [
        "UPDATE console_event SET who = 'ada' WHERE id = %s",
        "UPDATE console_event SET detail = '{}' WHERE id = %s",
        "UPDATE console_event SET at = at + interval '1 microsecond' WHERE id = %s",
        "UPDATE console_event SET outcome = 'refused' WHERE id = %s",
        "UPDATE console_event SET address = '192.0.2.1' WHERE id = %s",
        "UPDATE console_event SET user_id = NULL WHERE id = %s",
    ],
)
def test_changed_row_is_named(cast: Cast, text: str) -> None:
    row = some_events(cast)[1]
    tampered(text, row.pk)
    assert faults() == [f"event {row.pk} (number 2): it does not say what was written"]


def test_row_after_a_missing_one_is_named(cast: Cast) -> None:
    rows = some_events(cast)
    tampered("DELETE FROM console_event WHERE id = %s", rows[1].pk)
    assert faults() == [f"event {rows[2].pk} (number 3): number 2 should come here: what was before is gone"]
    tampered("UPDATE console_event SET number = number - 1 WHERE id = %s", rows[2].pk)
    assert faults() == [f"event {rows[2].pk} (number 2): it does not follow the event before it"]


def test_chain_made_anew_without_the_key_does_not_fit(cast: Cast) -> None:
    row = some_events(cast, 1)[0]
    event = Event.objects.get(pk=row.pk)
    event.who = "ada"
    forged = events.link(b"guessed", 1, event.previous, events.values_of(event)).digest
    tampered("UPDATE console_event SET who = 'ada', digest = %s WHERE id = %s", forged, row.pk)
    assert len(faults()) == 1


def test_command_says_what_it_found_and_fails(cast: Cast) -> None:
    out = StringIO()
    row = some_events(cast)[3]
    call_command("audit", "verify", stdout=out)
    assert f"team {cast.team.pk}: 4 events fit, the last is {row.digest}" in out.getvalue()
    tampered("UPDATE console_event SET verb = 'nothing' WHERE id = %s", row.pk)
    with pytest.raises(CommandError, match=rf"event {row.pk} \(number 4\)"):
        call_command("audit", "verify", stdout=StringIO())


@pytest.mark.django_db(transaction=True)
def test_writers_at_once_make_one_chain_without_a_gap() -> None:
    cast = the_cast()

    def write() -> None:
        try:
            for _ in range(10):
                with transaction.atomic():
                    events.record("job.hold", by=cast.mo.user, team=cast.team)
        finally:
            connection.close()

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [(chain.events, chain.fault) for chain in verify()] == [(40, "")]


@pytest.mark.django_db(transaction=True)
def test_what_was_rolled_back_leaves_no_gap_and_is_not_told(settings, tmp_path: Path) -> None:
    settings.AUDIT_SINK = str(tmp_path / "audit.jsonl")
    with pytest.raises(RuntimeError), transaction.atomic():
        events.record("first", by=None)
        raise RuntimeError
    events.record("second", by=None)
    sink.flush()
    told = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines()]
    assert [(line["verb"], line["number"]) for line in told] == [("second", 1)]
    assert faults() == []


@pytest.mark.django_db(transaction=True)
def test_events_of_an_older_console_are_chained_and_come_back() -> None:
    """Forward with rows there, back, and forward again: references become values and the other way round."""
    cast = the_cast()
    some_events(cast, 2)
    events.record("job.hold", by=cast.dee)
    try:
        User.objects.get(pk=cast.dee.pk).delete()
        call_command("migrate", "console", "0001", verbosity=0)
        call_command("migrate", "console", verbosity=0)
        assert {chain.id: chain.events for chain in verify()} == {0: 1, cast.team.pk: 2} and faults() == []
        assert Event.objects.filter(team_slug="research").count() == 2
    finally:
        # Of every app: those whose migrations stand on the console's went back with them.
        call_command("migrate", verbosity=0)
        sql("ALTER TABLE console_event DISABLE TRIGGER events_stay")


@pytest.fixture
def copy(settings, tmp_path: Path) -> Path:
    settings.AUDIT_SINK = str(tmp_path / "audit.jsonl")
    return tmp_path / "audit.jsonl"


def test_sink_proves_that_the_end_was_cut_off(
    cast: Cast, copy: Path, django_capture_on_commit_callbacks
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        rows = some_events(cast)
    sink.flush()
    assert copy.stat().st_mode & 0o777 == 0o600
    call_command("audit", "verify", sink=copy, stdout=StringIO())
    tampered("DELETE FROM console_event WHERE id = %s", rows[3].pk)
    call_command("audit", "verify", stdout=StringIO())
    with pytest.raises(CommandError, match="number 4 of chain"):
        call_command("audit", "verify", sink=copy, stdout=StringIO())


def test_sink_that_cannot_be_written_is_loud_and_stops_nothing(
    cast: Cast, settings, tmp_path: Path, caplog, django_capture_on_commit_callbacks
) -> None:
    settings.AUDIT_SINK = str(tmp_path / "no" / "such" / "file")
    with django_capture_on_commit_callbacks(execute=True):
        some_events(cast, 1)
    sink.flush()
    assert "not written" in caplog.text and '"verb": "job.hold"' in caplog.text
    assert Event.objects.count() == 1


def test_sink_that_does_not_take_delays_nobody(
    cast: Cast, settings, tmp_path: Path, caplog, monkeypatch, django_capture_on_commit_callbacks
) -> None:
    """A pipe that nobody reads: opening it blocks the sink's thread."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    settings.AUDIT_SINK = str(pipe)
    monkeypatch.setattr(sink, "MOST_WAITING", 2)
    sink._queue.cache_clear()
    with django_capture_on_commit_callbacks(execute=True):
        some_events(cast, 5)
    assert "too slow" in caplog.text and Event.objects.count() == 5
    with pipe.open() as reader:
        assert json.loads(reader.readline())["verb"] == "job.hold"
        sink.flush()
    sink._queue.cache_clear()


@pytest.fixture
def syslog(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.bind(str(tmp_path / "log"))
        server.settimeout(10)
        yield server


def test_syslog_hears_each_event(
    cast: Cast, settings, syslog: socket.socket, django_capture_on_commit_callbacks
) -> None:
    settings.AUDIT_SINK = f"syslog:{syslog.getsockname()}"
    with django_capture_on_commit_callbacks(execute=True):
        some_events(cast, 1)
    head, _, body = syslog.recv(65536).decode().partition(": ")
    assert head == "<134>quarterdeck-audit" and json.loads(body)["who"] == "mo"


def test_refusal_at_the_door_is_written_down(cast: Cast) -> None:
    with pytest.raises(Forbidden):
        membership_for(cast.cy.user, "research", Action.OPERATE_NODE)
    event = Event.objects.get()
    assert (event.who, event.verb, event.target, event.outcome) == ("cy", "door", "operate nodes", "refused")
    assert "you need to be operator" in event.detail["reason"]


def test_stranger_at_the_door_is_written_down(cast: Cast) -> None:
    for team in ("research", "no-such-team"):
        with pytest.raises(Missing):
            membership_for(cast.dee, team, Action.VIEW)
    event = Event.objects.get()
    assert (event.who, event.team_slug, event.detail["reason"]) == ("dee", "research", "Not in the team.")


def test_person_who_is_no_staff_is_written_down(cast: Cast) -> None:
    with pytest.raises(Forbidden):
        require_staff(cast.ada.user)
    event = Event.objects.get()
    assert (event.who, event.team, event.target, event.outcome) == ("ada", None, "platform pages", "refused")


def test_refused_page_of_a_cluster_names_the_cluster(cast: Cast, client) -> None:
    tiny_cluster(cast.team)
    client.force_login(person("cy"))
    assert client.post("/t/research/c/tiny/nodes/drain/").status_code == 403
    event = Event.objects.get()
    assert (event.cluster, event.address) == ("tiny", "127.0.0.1")


def test_flood_of_refusals_is_counted_and_not_written(cast: Cast) -> None:
    for _ in range(90):
        refusals.note(cast.cy.user, cast.team, Action.OPERATE_NODE, "no")
    counts = [event.detail.get("attempts") for event in Event.objects.order_by("pk")]
    assert counts[:10] == [None] * 10 and counts[10:] in ([20, 40, 80], [20, 40], [20])


def test_flood_without_redis_is_bounded_too(cast: Cast, settings, caplog) -> None:
    settings.CACHES = {"default": {**settings.CACHES["default"], "LOCATION": "redis://127.0.0.1:1/0"}}
    for _ in range(30):
        refusals.note(cast.cy.user, cast.team, Action.OPERATE_NODE, "no")
    assert Event.objects.count() == refusals.MOST_A_MINUTE and "not counted" in caplog.text
