"""What a page shows while something below it is dead or frozen, and that it heals by itself: nothing is loaded again.

Daemons of the cluster are killed and come back within 10 s; processes of the console are stopped and let go by hand.
"""

import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from console.run.identity import Identity, identity_of, send
from tests.demo.console import DemoConsole, until
from tests.demo.tab import PageOf, Tab

BACK_WITHIN_S = 10.0
# A page's own limit is 5 s; the rest is what Chromium and two busy cores take.
SAID_WITHIN_S = 6.0
PROCESSES = ("web", "worker", "watch", "terminals")


@pytest.fixture
def running(console: DemoConsole) -> Iterator[int]:
    """A job that must outlive what the test does."""
    number = console.submit("#SBATCH --job-name=trial-survivor --partition=cpu-workers --time=10\nsleep 500")
    until(lambda: console.job(number).get("state") == "RUNNING", "the job runs", within_s=20)
    yield number
    assert console.job(number)["state"] == "RUNNING"
    console.post("/actions/cancel", {"jobs": [str(number)]})


def frail(page_of: PageOf, size: str = "wide", path: str = "") -> Tab:
    """A tab that may lose its connection, live already."""
    tab = page_of("kim", size)
    tab.may_lose_connection = True
    tab.open(path).expect_live()
    return tab


def until_written_down(console: DemoConsole) -> None:
    """Until the controller has saved what it knows now: it does so some seconds after a change (SAVE_MAX_WAIT), and
    begins jobs anew that are younger when it is killed. The change is a job that never runs.
    """
    [state] = console.var.glob("clusters/*/state/job_state")
    number = console.submit("#SBATCH --job-name=trial-held --hold --partition=cpu-workers\ntrue")
    since = time.time()
    until(lambda: state.stat().st_mtime > since, "the controller's state is saved", within_s=30)
    console.post("/actions/cancel", {"jobs": [str(number)]})


def kill(processes: list[Identity]) -> None:
    assert processes and all(send(one, signal.SIGKILL) for one in processes)


@contextmanager
def frozen(processes: list[Identity]) -> Iterator[None]:
    """The first of them must be there; what is below it may have ended meanwhile."""
    try:
        stopped = [send(one, signal.SIGSTOP) for one in processes]
        assert stopped and stopped[0]
        yield
    finally:
        for one in processes:
            send(one, signal.SIGCONT)


def all_up(console: DemoConsole) -> bool:
    body = console.get("").body
    return not body["observed_problem"] and {part["state"] for part in body["parts"]} == {"up"}


@pytest.mark.parametrize("name", ["slurmctld", "slurmd", "slurmdbd", "sshd", "mariadbd"])
def test_killed_daemon_is_back_within_10_s_and_the_page_says_so(
    console: DemoConsole, page_of: PageOf, running: int, name: str
) -> None:
    until(lambda: all_up(console), "all is up before", within_s=30)
    tab = frail(page_of)
    if name == "slurmctld":
        until_written_down(console)
    others = {
        one.pid
        for daemon in ("slurmctld", "slurmdbd", "mariadbd", "munged")
        for one in console.daemons(daemon)
    }
    victim = console.daemons(name)[:1]
    kill(victim)
    began = time.monotonic()
    until(lambda: identity_of(victim[0].pid) != victim[0], f"{name} is dead")
    count = {"slurmd": 6}.get(name, 1)
    until(lambda: len(console.daemons(name)) >= count, f"{name} runs again", within_s=BACK_WITHIN_S)
    until(
        lambda: all_up(console),
        f"{name} is up again",
        within_s=BACK_WITHIN_S - (time.monotonic() - began) + 2,
    )
    tab.see("#services", re.compile(r"ended and was started again (just now|\d+ s ago)"))
    tab.expect_live()
    after = {
        one.pid
        for daemon in ("slurmctld", "slurmdbd", "mariadbd", "munged")
        for one in console.daemons(daemon)
    }
    assert others - {victim[0].pid} <= after, "nothing else was touched"


def test_silent_watcher_makes_the_page_stale_and_it_heals(
    console: DemoConsole, page_of: PageOf, size: str
) -> None:
    tab = frail(page_of, size, "nodes/")
    with frozen(console.group("watch")):
        expect(tab.page.locator("#live")).to_have_text("stale", timeout=SAID_WITHIN_S * 1000)
        tab.see("#stale-why", "The watcher has not reported")
        expect(tab.page.locator("html")).to_have_attribute("data-stale", "")
        tab.expect_sound()
    tab.expect_live(within_s=15)
    expect(tab.page.locator("#stale-why")).to_be_hidden()


def test_killed_watcher_is_started_again_and_the_page_heals(console: DemoConsole, page_of: PageOf) -> None:
    tab = frail(page_of)
    dead = console.pid("watch")
    kill([dead])
    until(lambda: console.recorded().get("watch", dead) != dead, "it is started again", within_s=15)
    number = console.submit("#SBATCH --job-name=trial-after --hold --partition=cpu-workers\ntrue")
    tab.page.get_by_role("navigation", name="Parts").get_by_role("link", name="Jobs").click()
    expect(tab.row(str(number))).to_be_visible(timeout=25_000)
    tab.expect_live(within_s=25)
    console.post("/actions/cancel", {"jobs": [str(number)]})


def test_frozen_redis_is_said_within_5_s_and_the_page_heals(console: DemoConsole, page_of: PageOf) -> None:
    tab = frail(page_of)
    with frozen([console.pid("redis")]):
        expect(tab.page.locator("#live")).to_have_text(
            re.compile("stale|reconnecting"), timeout=SAID_WITHIN_S * 1000
        )
        expect(tab.page.locator("#stale-why")).to_be_visible()
    tab.expect_live(within_s=20)


def test_frozen_database_is_said_within_5_s_and_the_page_heals(console: DemoConsole, page_of: PageOf) -> None:
    tab = frail(page_of)
    with frozen(console.group("postgres")):
        expect(tab.page.locator("#live")).to_have_text(
            re.compile("stale|reconnecting"), timeout=SAID_WITHIN_S * 1000
        )
        expect(tab.page.locator("#stale-why")).to_be_visible()
    tab.expect_live(within_s=20)


@pytest.mark.parametrize("name", ["redis", "postgres"])
def test_killed_store_is_started_again_and_loses_nothing(
    console: DemoConsole, page_of: PageOf, running: int, name: str
) -> None:
    tab = frail(page_of)
    before = console.get("").body["revision"]
    dead = console.pid(name)
    kill([dead])
    until(lambda: console.recorded().get(name, dead) != dead, f"{name} is started again", within_s=20)
    until(lambda: console.get("").status == 200, "the API answers", within_s=20)
    tab.expect_live(within_s=30)
    assert console.get("").body["revision"] == before
    until(lambda: console.job(running)["state"] == "RUNNING", "its job is listed")


def test_restarted_console_processes_end_no_job_and_pages_come_back(
    console: DemoConsole, page_of: PageOf, running: int, size: str
) -> None:
    jobs = {job["job_id"] for job in console.get("/jobs?q=state:running+gpus:>3").body["results"]}
    tab = frail(page_of, size)
    old = {name: console.pid(name) for name in PROCESSES}
    kill(list(old.values()))
    expect(tab.page.locator("#live")).to_have_text("reconnecting", timeout=SAID_WITHIN_S * 1000)
    until(
        lambda: all(console.recorded().get(name, old[name]) != old[name] for name in PROCESSES),
        "all are started again",
        within_s=30,
    )
    tab.expect_live(within_s=40)
    until(lambda: console.get("").status == 200, "the API answers", within_s=20)
    assert {job["job_id"] for job in console.get("/jobs?q=state:running+gpus:>3").body["results"]} == jobs
