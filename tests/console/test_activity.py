"""What happened in a team: seen by its members alone, searched by the database, taken away as a harmless file."""

import csv
import io
import json
from datetime import date, timedelta

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.db import connection
from django.test import AsyncClient, Client
from django.test.utils import CaptureQueriesContext

from clusters.machine import LIVE, ChangeStatus
from console import events
from console.activity import VERBS
from console.models import Event, Membership, Team
from tests.cast import Cast, person, the_cast

ACTIVITY = "/t/research/activity/"
SHEET = "/t/research/activity.csv"
LINES = "/t/research/activity.jsonl"


@pytest.fixture
def cast(db: None) -> Cast:
    """With one event of each kind that the filters tell apart, and one of another team."""
    cast = the_cast()
    team = cast.team
    events.record(
        "node.drain", by=cast.ben.user, team=team, cluster="tiny", target="slinky-3",
        detail={"reason": "XID 79"}, address="192.0.2.7",
    )  # fmt: skip
    events.record(
        "job.cancel", by=cast.mo.user, team=team, cluster="big", target="4127", outcome="refused",
        detail={"error": "To control jobs you need to be operator of research; you are member."},
    )  # fmt: skip
    events.record("node.down", by=None, team=team, cluster="tiny", target="slinky-1")
    other = Team.objects.create(slug="other", name="Other")
    events.record("node.drain", by=cast.dee, team=other, cluster="secret", target="hidden-9")
    return cast


def signed_in(name: str) -> Client:
    client = Client()
    client.force_login(person(name))
    return client


def download(path: str, query: dict[str, str] | None = None, name: str = "cy") -> str:
    response = signed_in(name).get(path, query or {})
    assert response.status_code == 200 and response.streaming
    return b"".join(response).decode()


def targets(query: dict[str, str], name: str = "cy") -> set[str]:
    rows = signed_in(name).get("/api/v1/teams/research/activity", query).json()["results"]
    return {row["target"] for row in rows}


def test_viewer_reads_who_did_what_where_and_how_it_went(cast: Cast) -> None:
    html = signed_in("cy").get(ACTIVITY).content.decode()
    for words in ("ben", "Drain nodes", "slinky-3", "XID 79", "192.0.2.7", "refused", "quarterdeck"):
        assert words in html
    assert "you need to be operator" in html
    assert "Node went down" in html


def test_another_teams_events_are_not_shown(cast: Cast) -> None:
    client = signed_in("cy")
    for path in (ACTIVITY, SHEET, LINES, "/api/v1/teams/research/activity"):
        content = b"".join([*client.get(path, {"q": "hidden"}), *client.get(path)])
        assert b"hidden-9" not in content and b"secret" not in content, path
    assert client.get("/t/other/activity/").status_code == 404
    assert client.get("/t/other/activity.csv").status_code == 404
    assert client.get("/t/other/activity.jsonl").status_code == 404


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, {"slinky-3", "4127", "slinky-1"}),
        ({"who": "ben"}, {"slinky-3"}),
        ({"who": "quarterdeck"}, {"slinky-1"}),
        ({"verb": "job.cancel"}, {"4127"}),
        ({"cluster": "tiny"}, {"slinky-3", "slinky-1"}),
        ({"cluster": "tiny", "who": "ben"}, {"slinky-3"}),
        ({"q": "SLINKY"}, {"slinky-3", "slinky-1"}),
        ({"q": "xid 79"}, {"slinky-3"}),
        ({"q": "went down"}, {"slinky-1"}),
        ({"q": "100%"}, set()),
        ({"who": "nobody"}, set()),
        ({"outcome": "refused"}, {"4127"}),
        ({"outcome": "done", "who": "ben"}, {"slinky-3"}),
        ({"since": "2000-01-01", "until": "2999-12-31"}, {"slinky-3", "4127", "slinky-1"}),
        ({"since": f"{date.today() + timedelta(days=2)}"}, set()),
        ({"until": f"{date.today() - timedelta(days=2)}"}, set()),
    ],
)
def test_filters_narrow_what_is_found(cast: Cast, query: dict[str, str], found: set[str]) -> None:
    assert targets(query) == found
    page = signed_in("cy").get(ACTIVITY, query)
    assert {row.event.target for row in page.context["rows"]} == found


def test_lists_of_the_filter_offer_what_occurred(cast: Cast) -> None:
    offered = signed_in("cy").get(ACTIVITY, {"who": "long-gone"}).context["choices"]
    assert offered.people == ["ben", "long-gone", "mo", "quarterdeck"]
    assert offered.clusters == ["big", "tiny"]
    assert offered.verbs[0] == ("job.cancel", "Cancel jobs")


def test_hundred_a_page_read_by_the_database(cast: Cast) -> None:
    for n in range(450):
        events.record("job.hold", by=cast.ada.user, team=cast.team, target=str(n))
    client = signed_in("cy")
    with CaptureQueriesContext(connection) as queries:
        page = client.get(ACTIVITY, {"verb": "job.hold", "page": "2"})
    assert len(page.context["rows"]) == 100
    assert "101–200 of 450" in page.content.decode()
    assert any("LIMIT 100 OFFSET 100" in query["sql"] for query in queries)
    assert len(queries) < 20


def test_filter_asks_for_its_region_alone(cast: Cast) -> None:
    region = signed_in("cy").get(ACTIVITY, {"q": "slinky-3"}, headers={"HX-Request": "true"}).content
    assert region.lstrip().startswith(b'<div id="activity">') and b"<html" not in region


def test_nothing_found_says_so(cast: Cast) -> None:
    assert b"Nothing fits the filter" in signed_in("cy").get(ACTIVITY, {"q": "nowhere"}).content
    quiet = Team.objects.create(slug="quiet", name="Quiet")
    Membership.objects.create(team=quiet, user=person("cy"))
    assert b"Nothing has happened yet" in signed_in("cy").get("/t/quiet/activity/").content


def test_hostile_events_are_text(cast: Cast) -> None:
    events.record(
        "<b>x</b>", by=cast.ben.user, team=cast.team, cluster='"><script>1', target="<script>alert(1)</script>",
        detail={"reason": "<img src=x onerror=alert(1)>"},
    )  # fmt: skip
    html = signed_in("cy").get(ACTIVITY, {"q": "<script>"}).content.decode()
    assert "<script>alert" not in html and "<img src=x" not in html and '"><script>1' not in html


@pytest.mark.parametrize("start", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx"])
def test_file_holds_no_formula(cast: Cast, start: str) -> None:
    events.record("job.submit", by=cast.mo.user, team=cast.team, target=start, detail={"reason": start})
    rows = list(csv.DictReader(io.StringIO(download(SHEET, {"verb": "job.submit"}), newline="")))
    assert [(row["target"], row["about"]) for row in rows] == [(f"'{start}", f"'{start}")]


def test_file_is_the_filtered_list_to_download(cast: Cast) -> None:
    response = signed_in("cy").get(SHEET, {"cluster": "tiny"})
    assert response.headers["Content-Disposition"].startswith('attachment; filename="activity-research-')
    assert response.headers["Content-Type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(b"".join(response).decode())))
    assert [row["target"] for row in rows] == ["slinky-1", "slinky-3"]
    assert rows[1]["who"] == "ben" and rows[1]["from"] == "192.0.2.7" and rows[1]["outcome"] == "done"


@pytest.mark.parametrize(
    ("address", "kept"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8::1", "2001:db8::1"),
        ("fe80::1%eth0", "fe80::1"),
        ("", None),
        ("unix:", None),
    ],
)
def test_event_of_a_request_is_from_its_address(db: None, address: str, kept: str | None) -> None:
    with events.coming_from(address):
        made = events.record("node.drain", by=None)
    assert Event.objects.get(pk=made.pk).address == kept
    assert events.record("node.drain", by=None).address is None


def test_day_that_is_none_is_refused(cast: Cast) -> None:
    for path in (ACTIVITY, SHEET, LINES, "/api/v1/teams/research/activity"):
        assert signed_in("cy").get(path, {"since": "2026-02-30"}).status_code == 422, path


def test_lines_hold_every_detail_for_programs(cast: Cast) -> None:
    rows = [json.loads(line) for line in download(LINES, {"cluster": "tiny"}).splitlines()]
    assert [row["target"] for row in rows] == ["slinky-1", "slinky-3"]
    assert rows[1]["detail"] == {"reason": "XID 79"} and rows[1]["address"] == "192.0.2.7"
    assert rows[1]["digest"] == Event.objects.get(target="slinky-3").digest


def test_file_longer_than_a_batch_leaves_nothing_out_and_repeats_nothing(cast: Cast, monkeypatch) -> None:
    monkeypatch.setattr("console.activity.BATCH", 3)
    for n in range(10):
        events.record("job.hold", by=cast.mo.user, team=cast.team, target=str(n))
    rows = [json.loads(line)["target"] for line in download(LINES, {"verb": "job.hold"}).splitlines()]
    assert rows == [str(n) for n in reversed(range(10))]


def test_file_is_sent_in_pieces_by_the_real_server_side(cast: Cast, monkeypatch) -> None:
    """An asynchronous body: Django collects any other one whole before it sends the first byte."""
    monkeypatch.setattr("console.activity.BATCH", 1)

    async def pieces() -> list[bytes]:
        client = AsyncClient()
        await sync_to_async(client.force_login)(person_of_the_test)
        response = await client.get(SHEET)
        return [piece async for piece in response]

    person_of_the_test = person("cy")
    assert len(async_to_sync(pieces)()) == 1 + 3


def test_every_end_of_a_change_has_words() -> None:
    ends = [status for status in ChangeStatus if status is ChangeStatus.PROPOSED or status not in LIVE]
    assert {f"change.{status}" for status in ends} <= VERBS.keys()
