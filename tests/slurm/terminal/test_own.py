"""A person's own open terminals: listed wherever they were left, opened again, closed from afar, and bounded."""

import asyncio
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.db import connections
from django.http import HttpResponse
from django.test import Client
from playwright.sync_api import expect

from clusters.models import Cluster
from console.models import Event, Team, User
from slurm.models import TerminalPolicy
from slurm.terminal.registry import Place
from slurm.terminal.wire import Kind
from tests.slurm.terminal.client import Page
from tests.slurm.terminal.conftest import Console, TabOf
from tests.slurm.terminal.rig import Nowhere, rig, run
from tests.slurm.terminal.sshd import Sshd

Open = Callable[..., Page]
WORDS = {"on a page": "seen", "left behind": "unseen"}


class Elsewhere(Nowhere):
    """Another worker holds one of everybody's."""

    async def of_person(self, user: int) -> dict[str, Place]:
        return {"another": Place("/elsewhere.sock", user, "c1")}


class Person:
    """Somebody's requests, each in a thread: the views run an event loop, and so does Playwright in the tests' own."""

    def __init__(self, name: str) -> None:
        self.client = Client()
        self.client.force_login(User.objects.get(username=name))

    def get(self, path: str) -> str:
        return self._asked(lambda: self.client.get(path))

    def post(self, path: str) -> str:
        return self._asked(lambda: self.client.post(path, follow=True))

    def _asked(self, ask: Callable[[], HttpResponse]) -> str:
        def act() -> HttpResponse:
            try:
                return ask()
            finally:
                connections.close_all()

        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(act).result(60)
        return answer.content.decode() if answer.status_code == 200 else answer.headers["Location"]


def listed(client: Person) -> dict[str, str]:
    """The sessions that the page lists, with how they are shown."""
    text = client.get("/profile/terminals/")
    rows = re.findall(r"<tr>(.*?)</tr>", text.partition("<tbody>")[2], re.DOTALL)
    found = {}
    for row in rows:
        named = re.search(r"/profile/terminals/([\w-]+)/closing/", row)
        assert named, row
        found[named[1]] = next(short for word, short in WORDS.items() if word in row)
    return found


def until(client: Person, expected: dict[str, str]) -> None:
    """The list is late by a beat."""
    deadline = time.monotonic() + 30
    while listed(client) != expected:
        assert time.monotonic() < deadline, listed(client)
        time.sleep(0.2)


def test_list_shows_one_s_own_and_which_were_left_behind(page: Open) -> None:
    kept, left = page("mo"), page("mo")
    first, second = str(kept.open()["session"]), str(left.open()["session"])
    until(Person("mo"), {first: "seen", second: "seen"})
    left.socket.close()
    until(Person("mo"), {first: "seen", second: "unseen"})
    assert listed(Person("ada")) == {}
    assert Client().get("/profile/terminals/").status_code == 302


def test_closing_from_the_list_ends_it_and_tells_its_page(page: Open) -> None:
    mo = page("mo")
    session = str(mo.open()["session"])
    mo.read_until("ready> ")
    until(Person("mo"), {session: "seen"})
    assert "has ended already" in Person("ada").post(f"/profile/terminals/{session}/closing/")
    assert mo.run("echo still-here").strip() == "still-here"
    assert "The terminal is closed." in Person("mo").post(f"/profile/terminals/{session}/closing/")
    ended = mo.wait_for("ended")
    assert (ended["code"], "list of open terminals" in str(ended["sentence"])) == ("closed", True)
    until(Person("mo"), {})
    assert "has ended already" in Person("mo").post(f"/profile/terminals/{session}/closing/")
    deadline = time.monotonic() + 10
    while not Event.objects.filter(verb="closed a terminal", detail__reason="closed").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_asking_alone_closes_nothing(page: Open) -> None:
    mo = page("mo")
    session = str(mo.open()["session"])
    until(Person("mo"), {session: "seen"})
    assert Person("mo").get(f"/profile/terminals/{session}/closing/") == "/profile/terminals/"
    assert listed(Person("mo")) == {session: "seen"}


def test_terminal_of_a_cluster_that_is_no_more_can_still_be_closed(page: Open) -> None:
    mo = page("mo")
    session = str(mo.open()["session"])
    until(Person("mo"), {session: "seen"})
    Cluster.objects.update(key="gone")
    text = Person("mo").get("/profile/terminals/")
    assert "a cluster that is no more" in text and "Open here" not in text and session in text


def test_one_of_another_browser_opens_here_with_what_it_printed(page: Open, tab_of: TabOf) -> None:
    mo = page("mo")
    session = str(mo.open()["session"])
    mo.read_until("ready> ")
    mo.run("mark=kept; echo of-another-browser")
    until(Person("mo"), {session: "seen"})
    tab = tab_of("mo", "/profile/terminals/")
    assert tab.serious("main") == []
    tab.page.get_by_role("link", name="Open here: terminal 1, on demo").click()
    tab.expect_state("Connected")
    tab.wait_for("^of-another-browser")
    tab.type("echo $mark-$mark")
    tab.wait_for("^kept-kept$")
    assert mo.wait_for("ended")["code"] == "taken"
    assert "session" not in tab.page.url
    tab.page.reload()
    tab.expect_state("Connected")
    expect(tab.page.get_by_role("tab")).to_have_count(1)
    tab.wait_for("^kept-kept$")


def test_without_redis_the_page_says_so(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django.conf.settings.REDIS_URL", "unix:///nowhere.sock")
    text = Person("mo").get("/profile/terminals/")
    assert "Redis, where terminals are found, does not answer." in text


def test_terminals_at_other_workers_count_too(
    ca: object,
    sshd: Sshd,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("slurm.terminal.worker.MOST_PER_PERSON", 2)

    async def work() -> None:
        async with rig(tmp_path, sshd, registry=Elsewhere) as made:
            _kept, ready = await made.opened()
            assert ready["kind"] == Kind.READY
            assert (await made.opened())[1]["code"] == "too-many"

    run(work())


def test_many_opened_at_once_are_no_more_than_one_after_another(
    ca: object,
    sshd: Sshd,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("slurm.terminal.worker.MOST_PER_PERSON", 2)

    async def work() -> None:
        async with rig(tmp_path, sshd) as made:
            found = await asyncio.gather(*(made.opened() for _ in range(6)))
            kinds = [ready["kind"] for _, ready in found]
            assert (kinds.count(Kind.READY), kinds.count(Kind.REFUSED)) == (2, 4)

    run(work())


def test_list_leads_to_recordings_of_one_s_own(console: Console, team: Team) -> None:
    assert "Recordings of your terminals" not in Person("mo").get("/profile/terminals/")
    TerminalPolicy.objects.create(team=team, record=True, keep_days=7)
    text = Person("mo").get("/profile/terminals/")
    assert 'href="/t/research/recordings/"' in text and "kept 7 days" in text and "none yet" in text
