"""Recordings of terminals: told before, never what is typed, bounded, replayed, and deleted when their time is over."""

import json
import os
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from cryptography.fernet import Fernet
from django.test import Client
from django.utils import timezone
from playwright.sync_api import expect

from console import secrets
from console.errors import Unavailable
from console.models import Event, Secret, Team, User
from console.rotation import Turn, rotate
from console.sealed_stream import MAGIC, Sealer, make_key, opened
from slurm import recordings
from slurm.models import Recording, TerminalPolicy
from slurm.terminal import wire
from slurm.terminal.cast import Cast
from slurm.terminal.wire import Kind
from tests.slurm.terminal.client import Page
from tests.slurm.terminal.conftest import Console, TabOf, session_of
from tests.slurm.terminal.rig import rig, run, said, until
from tests.slurm.terminal.sshd import Sshd

Open = Callable[..., Page]


def events_in(text: bytes) -> list[Any]:
    """Those of a recording, without its header."""
    return [json.loads(line) for line in text.splitlines()][1:]


def kept(team: Team, name: str, text: bytes = b'{"version":3}\n', days: int = 0, **facts: Any) -> Recording:
    """A recording that ended, begun so many days ago, with its sealed file."""
    recordings.folder().mkdir(parents=True, exist_ok=True)
    key = make_key()
    sealer = Sealer(key)
    recordings.file_named(name).write_bytes(MAGIC + sealer.seal(text))
    secrets.put(recordings.key_owner(name), recordings.KEY, key)
    whose = User.objects.filter(username=facts.get("who", "mo")).first()
    facts = {"cluster": "demo", "who": "mo", "user": whose, "ended_at": timezone.now(), **facts}
    row = Recording.objects.create(team=team, name=name, **facts)
    Recording.objects.filter(pk=row.pk).update(began_at=timezone.now() - timedelta(days=days))
    return row


@pytest.fixture
def records(team: Team) -> Team:
    TerminalPolicy.objects.create(team=team, record=True, keep_days=7)
    return team


@pytest.fixture
def folder(console: Console, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the console under test writes recordings, for this process too."""
    path = console.scratch / "var" / "recordings"
    monkeypatch.setattr("django.conf.settings.TERMINAL_RECORDINGS_DIR", path)
    return path


def ended(count: int = 1) -> Recording:
    """The newest recording, once so many have ended."""
    deadline = time.monotonic() + 10
    while Recording.objects.exclude(ended_at=None).count() < count:
        assert time.monotonic() < deadline, list(Recording.objects.values())
        time.sleep(0.05)
    return Recording.objects.latest("pk")


def test_events_are_intervals_and_a_cut_character_waits_for_its_rest() -> None:
    cast = Cast(100.0)
    head = json.loads(cast.header(80, 24, 1764500000))
    assert head == {
        "version": 3, "term": {"cols": 80, "rows": 24, "type": "xterm-256color"}, "timestamp": 1764500000,
    }  # fmt: skip
    assert json.loads(cast.output(b"gr\xc3", 100.25)) == [0.25, "o", "gr"]
    assert cast.output(b"", 100.5) == b""
    assert json.loads(cast.output(b"\xbc\xc3\x9fe\x1b[1m", 101.0)) == [0.75, "o", "üße\x1b[1m"]
    assert json.loads(cast.resize(100, 30, 101.5)) == [0.5, "r", "100x30"]
    assert json.loads(cast.exit(3, 101.5)) == [0.0, "x", "3"]


def test_intervals_add_up_however_small_they_are() -> None:
    cast = Cast(0.0)
    total = sum(json.loads(cast.output(b"x", step * 0.0004))[0] for step in range(1, 5001))
    assert abs(total - 2.0) < 0.002


def test_file_that_reaches_its_size_is_cut_and_the_terminal_goes_on(
    ca: object,
    sshd: Sshd,
    tmp_path: Path,
) -> None:
    async def work() -> None:
        async with rig(tmp_path, sshd) as made:
            link, ready = await made.opened(record="a" * 32)
            assert ready["recorded"] is True
            await until(link, b"ready> ")
            link.send(wire.frame(Kind.INPUT, b"seq 1 40000; echo al''l\n"))
            await until(link, b"all\r\n")
            link.send(wire.frame(Kind.INPUT, b"exit\n"))
            await said(link, Kind.ENDED)
        recorded = made.journal.recorded
        assert recorded and recorded.cut
        path = tmp_path / "recordings" / f"{'a' * 32}.cast.sealed"
        assert made.journal.begun is not None and repr(made.journal.begun.key) not in repr(made.journal.begun)
        with path.open("rb") as file:
            text = b"".join(opened(file, made.journal.begun.key))
        assert len(text) == recorded.bytes < 101_000
        assert [event[1] for event in events_in(text)].count("m") == 1

    run(work())


def test_terminal_that_cannot_be_recorded_is_not_opened(
    ca: object,
    sshd: Sshd,
    tmp_path: Path,
) -> None:
    async def work() -> None:
        (tmp_path / "recordings").mkdir()
        (tmp_path / "recordings" / "old.cast").write_bytes(b"x" * 950_000)
        async with rig(tmp_path, sshd) as made:
            _, refused = await made.opened(record="b" * 32)
            assert (refused["kind"], refused["code"]) == (Kind.REFUSED, "no-recording")
            assert "is full" in refused["sentence"]
            assert made.worker.sessions == {}

    run(work())


def test_nothing_opens_before_the_person_was_told(records: Team, page: Open, folder: Path) -> None:
    refused = page("mo").open()
    assert (refused["code"], refused["retry"]) == ("recorded", False)
    assert "kept for 7 days" in str(refused["hint"])
    assert not Recording.objects.exists()
    assert page("mo").open(told=True)["recorded"] is True


def test_shown_is_recorded_and_typed_is_not(records: Team, page: Open, folder: Path) -> None:
    mo = page("mo")
    mo.open(columns=90, rows=30, told=True)
    mo.read_until("ready> ")
    mo.type("read -rsp 'Password: ' secret; echo; echo wel''come\n")
    mo.read_until("Password: ")
    mo.type("hunter2-hidden\n")
    mo.read_until("welcome")
    mo.say(kind="resize", columns=100, rows=40)
    mo.type("exit 3\n")
    mo.wait_closed()
    recording = ended()
    assert (recording.who, recording.cluster, recording.cut) == ("mo", "demo", False)
    path = folder / f"{recording.name}.cast.sealed"
    assert path.stat().st_mode & 0o077 == 0
    assert b"welcome" not in path.read_bytes() and b"version" not in path.read_bytes()
    text = b"".join(recordings.read(recording))
    assert len(text) == recording.bytes
    shown = "".join(event[2] for event in events_in(text) if event[1] == "o")
    assert "Password: " in shown and "welcome" in shown
    assert b"hunter2-hidden" not in text
    codes = [event[1] for event in events_in(text)]
    assert "i" not in codes and events_in(text)[-1][1:] == ["x", "3"]
    assert [event[2] for event in events_in(text) if event[1] == "r"][-1] == "100x40"


def test_keys_rotate_without_the_files(records: Team, folder: Path, settings: Any) -> None:
    one = kept(records, "one", b"what was shown")
    file = recordings.file_named("one").read_bytes()
    old = list(settings.SEALING_KEYS)
    settings.SEALING_KEYS = [Fernet.generate_key().decode(), *old]
    assert Turn.RESEALED in {turned.turn for turned in rotate()}
    settings.SEALING_KEYS = settings.SEALING_KEYS[:1]
    assert b"".join(recordings.read(one)) == b"what was shown"
    assert recordings.file_named("one").read_bytes() == file


def test_file_that_somebody_changed_is_not_replayed(records: Team, folder: Path) -> None:
    one = kept(records, "one")
    with recordings.file_named("one").open("r+b") as file:
        file.seek(40)
        file.write(b"x")
    with pytest.raises(Unavailable, match="not as it was written"):
        recordings.read(one)


def test_recordings_written_in_clear_by_an_earlier_release_are_sealed(records: Team, folder: Path) -> None:
    one = kept(records, "one")
    recordings.file_named("one").unlink()
    secrets.drop(recordings.key_owner("one"))
    (folder / "one.cast").write_bytes(b"shown long ago")
    (folder / "open.cast").write_bytes(b"of a terminal that is open")
    recordings.seal_earlier()
    recordings.seal_earlier()
    assert b"".join(recordings.read(one)) == b"shown long ago"
    assert [path.name for path in folder.glob("*.cast")] == ["open.cast"]
    (folder / "open.cast").unlink()


def test_old_recordings_go_with_their_files_and_young_ones_stay(records: Team, folder: Path) -> None:
    for name, days in {"young": 6, "old": 8, "of-today": 0}.items():
        kept(records, name, days=days)
    Recording.objects.filter(name="of-today").delete()  # as when its team is deleted
    assert recordings.drop_old() == 1
    assert [row.name for row in Recording.objects.all()] == ["young"]
    assert not recordings.file_named("old").exists() and recordings.file_named("young").exists()
    owners = Secret.objects.filter(kind=recordings.KEY).values_list("owner", flat=True)
    assert list(owners) == [recordings.key_owner("young")]
    assert Event.objects.get(verb="recording.drop").detail == {"count": 1}
    assert recordings.drop_old() == 0


def test_recording_of_a_killed_worker_ends_once_its_terminal_must_have(records: Team, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    then = timezone.now() - timedelta(hours=3)
    for name, silent_h in {"killed": 2, "alive": 0}.items():
        row = Recording.objects.create(team=records, name=name, cluster="demo", who="mo")
        Recording.objects.filter(pk=row.pk).update(began_at=then)
        recordings.file_named(name).write_text("{}")
        os.utime(recordings.file_named(name), (time.time() - silent_h * 3600,) * 2)
    recordings.settle_lost()
    killed, alive = Recording.objects.get(name="killed"), Recording.objects.get(name="alive")
    assert killed.ended_at and killed.cut and killed.bytes == 2 and abs(killed.seconds - 3600) < 60
    assert alive.ended_at is None


def test_people_see_their_own_recordings_and_admins_all(records: Team, folder: Path) -> None:
    for name, who in {"one": "mo", "two": "ada"}.items():
        kept(records, name, who=who)
    statuses = {}
    for name in ("ada", "mo", "kim", "dee"):
        client = Client()
        client.force_login(User.objects.get(username=name))
        paths = ("", "one/", "one/cast/", "two/", "two/cast/", "settings/")
        statuses[name] = [client.get(f"/t/research/recordings/{path}").status_code for path in paths]
        shown = client.get("/t/research/recordings/").content.decode()
        assert ("Replay mo's terminal" in shown) is (name in ("ada", "mo")), name
        assert ("Replay ada's terminal" in shown) is (name == "ada"), name
        assert ('aria-disabled="true" title="Needs the role admin' in shown) is (name in ("mo", "kim")), name
    assert statuses == {
        "ada": [200] * 6,
        "mo": [200, 200, 200, 404, 404, 403],
        "kim": [200, 404, 404, 404, 404, 403],
        "dee": [404] * 6,
    }
    played = [
        (e.who, e.cluster, e.detail["whose"])
        for e in Event.objects.filter(verb="recording.play").order_by("pk")
    ]
    assert played == [("ada", "demo", "mo"), ("ada", "demo", "ada"), ("mo", "demo", "mo")]


def test_people_find_the_recordings_of_their_own_terminals(records: Team, folder: Path) -> None:
    for name, who in {"one": "mo", "two": "ada", "three": "mo"}.items():
        kept(records, name, who=who)
    mo, dee = User.objects.get(username="mo"), User.objects.get(username="dee")
    assert [(one.team, one.count, one.policy.record) for one in recordings.recorded_of(mo)] == [
        (records, 2, True)
    ]
    assert recordings.recorded_of(dee) == []
    TerminalPolicy.objects.update(record=False)
    assert [(one.count, one.policy.record) for one in recordings.recorded_of(mo)] == [(2, False)]
    assert recordings.recorded_of(User.objects.get(username="kim")) == []


def test_replay_sends_what_was_shown(records: Team, page: Open, folder: Path, console: Console) -> None:
    kept(records, "one", b"a" * 3_000_000)
    asked = Request(f"{console.url}/t/research/recordings/one/cast/")
    asked.add_header("Cookie", f"sessionid={session_of('mo')}")
    with urlopen(asked, timeout=30) as answer:
        assert answer.read() == b"a" * 3_000_000
        assert answer.headers["Content-Disposition"].startswith("attachment")


def test_settings_say_what_is_wrong_at_the_field(team: Team) -> None:
    client = Client()
    client.force_login(User.objects.get(username="ada"))
    response = client.post("/t/research/recordings/settings/", {"record": "on", "keep_days": "400"})
    assert response.status_code == 422 and "less than or equal to 365" in response.content.decode()
    assert not TerminalPolicy.objects.exists()


def test_from_the_settings_to_the_replay(tab_of: TabOf, folder: Path) -> None:
    ada = tab_of("ada", "/t/research/recordings/")
    admin = ada.page
    admin.get_by_role("link", name="Settings").click()
    admin.get_by_label("Record what terminals show").check()
    admin.get_by_role("button", name="Save").click()
    expect(admin.locator(".qd-sub")).to_contain_text("are recorded and kept for 30 days")
    mo = tab_of("mo")
    mo.expect_state("Not connected")
    expect(mo.page.locator(".terminal-strip")).to_contain_text("The team research records its terminals.")
    mo.page.get_by_role("button", name="Open it, recorded").click()
    mo.expect_state("Connected")
    expect(mo.page.locator(".terminal-recorded")).to_be_visible()
    mo.type("echo first-$((1+1)); sleep 3; echo last-$((2+2))")
    mo.wait_for("^last-4$")
    mo.type("exit")
    mo.expect_state("Ended")
    ended()
    admin.reload()
    admin.get_by_role("link", name="Replay mo's terminal on demo").click()
    player = admin.locator("#player")
    expect(player.get_by_role("button", name="Pause")).to_be_visible()
    player.get_by_label("Speed").select_option("8")
    expect(player.get_by_role("button", name="Play")).to_be_visible(timeout=15_000)
    shown = """() => { const b = document.getElementById("player").terminal.buffer.active;
    return Array.from({length: b.length}, (_, i) => b.getLine(i).translateToString(true)).join("\\n"); }"""
    assert "\nfirst-2\nlast-4" in admin.evaluate(shown)
    assert ada.serious("#player") == []
    seek = """(to) => { const range = document.querySelector("#player [type=range]");
    range.value = to; range.dispatchEvent(new Event("input")); }"""
    length = float(player.get_by_label("Position in seconds").get_attribute("max") or 0)
    admin.evaluate(seek, length - 1.5)
    admin.wait_for_timeout(200)
    assert "first-2" in admin.evaluate(shown) and "\nlast-4" not in admin.evaluate(shown)
    assert Event.objects.filter(verb="recording.play", who="ada").exists()
