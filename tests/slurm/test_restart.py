"""Restarting services: what the dialogs promise, who may, what is written down, and the API."""

import asyncio
import re
from dataclasses import replace
from datetime import timedelta

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from clusters.access import Door
from clusters.acts import RestartPart, Touch
from clusters.lifecycle import Status
from clusters.models import Cluster
from console.errors import Conflict, Forbidden, Missing, Unavailable
from console.models import Event, Membership
from console.tokens import make_token
from slurm import restarts
from slurm.terminal.registry import Place, Registry
from tests.clusters.test_pages import CLUSTER, page, signed_in, words
from tests.fake_foresight import foreseen
from tests.fakes import FakeProvisioner
from tests.nowhere import Nowhere
from tests.seed import Seed, seed

pytestmark = pytest.mark.django_db
API = "/api/v1/teams/research/clusters/llama-pretrain/actions/restart"
IN_DIALOG = {"HX-Request": "true", "HX-Target": "dialog"}


@pytest.fixture
def seeded() -> Seed:
    """No change of the seed is on its way."""
    return seed()


@pytest.fixture
def ops(seeded: Seed) -> Client:
    return signed_in(seeded, "ops")


@pytest.fixture
def restarted(seeded: Seed, settings, monkeypatch) -> list[str]:
    """The parts that the platform was told to restart."""
    told: list[str] = []
    settings.PROVISIONERS = {**settings.PROVISIONERS, "nowhere": "tests.fakes.FakeProvisioner"}
    monkeypatch.setattr(
        FakeProvisioner,
        "restart",
        lambda self, part, say, *, when_idle: told.append(f"{part} when idle" if when_idle else part),
    )
    return told


def door_of(seeded: Seed, name: str) -> Door:
    return Door(seeded.cluster, Membership.objects.get(team=seeded.team, user=seeded.users[name]))


def test_controller_dialog_says_that_jobs_stay_and_commands_pause(ops: Client) -> None:
    html = page(ops, f"{CLUSTER}restart/controller/")
    assert "do not answer for some seconds" in words(html)
    assert "3 running jobs go on, 4 waiting jobs in the queue" in words(html)
    assert button(html) == "Restart controller"


def test_workers_dialog_names_the_jobs_that_end_and_what_is_lost(ops: Client, seeded: Seed) -> None:
    html = page(ops, f"{CLUSTER}restart/workers/?when=now")
    text = words(html)
    assert "6 workers at once" in text
    assert "4127 train-70b of ada, 16 GPUs, started 1 d 6 h ago" in text
    assert "They go back into the queue" in text and "/dev/shm" in text
    assert button(html) == "Restart workers, ending 3 jobs"
    seeded.cluster.jobs.update(is_finished=True)
    html = page(ops, f"{CLUSTER}restart/workers/")
    assert "Ends no job" in words(html) and "go back into the queue" not in words(html)
    assert button(html) == "Restart workers"


def test_workers_dialog_offers_to_wait_for_each_workers_own_jobs(ops: Client, restarted: list[str]) -> None:
    html = page(ops, f"{CLUSTER}restart/workers/?when=idle")
    assert "6 workers: each takes no new jobs, and restarts when its own have ended" in words(html)
    assert button(html) == "Restart workers when idle"
    assert ops.post(f"{CLUSTER}restart/workers/", {"when": "idle"}).status_code == 302
    assert ops.post(f"{CLUSTER}restart/workers/", {"when": "now"}).status_code == 302
    assert restarted == ["workers when idle", "workers"]


def test_workers_dialog_promises_no_end_of_jobs_where_the_platform_waits_for_them(
    ops: Client, seeded: Seed, monkeypatch
) -> None:
    def waits(self: Nowhere, act: RestartPart) -> tuple[Touch, ...]:
        [touch] = foreseen(replace(act, when_idle=True))
        return (replace(touch, is_rolling=True),)

    monkeypatch.setattr(Nowhere, "foresee", waits)
    html = page(ops, f"{CLUSTER}restart/workers/")
    assert "6 workers, some at a time: each takes no new jobs, and restarts when its own have ended" in words(
        html
    )
    assert "Waits for 4127 train-70b of ada" in words(html)
    assert "at once" not in words(html) and "go back into the queue" not in words(html)
    assert button(html) == "Restart workers"


def test_workers_dialog_proposes_some_at_a_time_and_that_is_a_change_which_can_be_stopped(
    ops: Client, seeded: Seed, restarted: list[str]
) -> None:
    html = page(ops, f"{CLUSTER}restart/workers/")
    assert "6 workers, in this order, 1 at a time: each takes no new jobs" in words(html)
    assert button(html) == "Restart workers, 1 at a time"
    response = ops.post(f"{CLUSTER}restart/workers/", {"when": "idle", "at_once": "2", "start_at": ""})
    change = seeded.cluster.changes.latest("number")
    assert response.headers["Location"] == f"{CLUSTER}changes/{change.number}/"
    assert (change.kind, change.course["at_once"], change.course["when_idle"]) == ("restart", 2, True)
    assert change.summary == "Restart 6 workers, 2 at a time, each when its jobs have ended"
    html = page(ops, response.headers["Location"])
    assert "Cancel this change" in words(html) and "Restart 6 workers" in words(html)
    assert "what has restarted already stays so" in page(
        ops, f"{CLUSTER}changes/{change.number}/cancellation/"
    )
    assert ops.post(f"{CLUSTER}changes/{change.number}/cancellation/").status_code == 302
    assert restarted == []


@pytest.mark.parametrize("typed", ["0", "7", "-1", "many", "1.5", "9" * 30])
def test_a_number_that_is_none_is_told_at_its_field(ops: Client, restarted: list[str], typed: str) -> None:
    response = ops.post(f"{CLUSTER}restart/workers/", {"when": "now", "at_once": typed}, headers=IN_DIALOG)
    assert response.status_code == 422 and "Choose 1 to 6 at a time." in response.content.decode()
    assert restarted == []


def test_any_restart_may_begin_at_a_time(ops: Client, seeded: Seed, restarted: list[str]) -> None:
    at = f"{timezone.now() + timedelta(days=1):%Y-%m-%dT%H:%M}"
    for url, more in (("restart/login/", {}), ("nodes/reboot/", {"node": ["slinky-0"], "when": "now"})):
        seeded.cluster.changes.filter(kind="restart").delete()
        assert ops.post(f"{CLUSTER}{url}", {"start_at": at, **more}).status_code == 302
        change = seeded.cluster.changes.get(kind="restart")
        assert change.status == "scheduled" and f"{change.start_at:%Y-%m-%dT%H:%M}" == at
    response = ops.post(f"{CLUSTER}restart/login/", {"start_at": "tomorrow"}, headers=IN_DIALOG)
    assert response.status_code == 422 and "This is no time." in response.content.decode()
    assert restarted == []


@pytest.mark.parametrize(
    ("held", "ends", "label"),
    [
        (0, "every ssh session, and what was started", "Restart login node"),
        (1, "1 open terminal of this console, every ssh", "Restart login node, ending 1 terminal"),
        (2, "2 open terminals of this console, every ssh", "Restart login node, ending 2 terminals"),
        (None, "open terminals of this console, every ssh session", "Restart login node"),
    ],
)
def test_login_dialog_counts_open_terminals(ops: Client, monkeypatch, held, ends, label) -> None:
    async def answer(self: Registry, cluster: str) -> int:
        if held is None:
            raise Unavailable("Redis does not answer.")
        return held

    monkeypatch.setattr(Registry, "held", answer)
    html = page(ops, f"{CLUSTER}restart/login/")
    assert f"Sessions {ends}" in words(html) and "Lost files on the login node, in /tmp Stays" in words(html)
    assert button(html) == label


def button(html: str) -> str:
    found = re.search(r'<button class="qd-btn primary[^>]*>([^<]+)</button>', html)
    assert found
    return found[1]


def test_registry_counts_the_terminals_of_one_cluster_until_they_close() -> None:
    async def counts() -> list[int]:
        async with Registry(settings.REDIS_URL) as registry:
            places = {name: Place("/w.sock", 1, f"restart-{name[0]}") for name in ("a1", "a2", "b1")}
            await registry.beat("/w.sock", places.items())
            before = [await registry.held("restart-a"), await registry.held("restart-b")]
            for name, place in places.items():
                await registry.end(name, place, "Closed.")
            await registry.leave("/w.sock")
            return [*before, await registry.held("restart-a"), await registry.held("restart-b")]

    assert asyncio.run(counts()) == [2, 1, 0, 0]


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("controller", "The controller is being restarted."),
        ("login", "The login node is being restarted."),
        ("workers", "The workers are being restarted."),
    ],
)
def test_a_restart_acts_is_written_down_and_returns_to_where_it_was_opened(
    ops: Client, restarted: list[str], part: str, said: str
) -> None:
    jobs = f"{CLUSTER}jobs/?q=user:lin"
    headers = {**IN_DIALOG, "HX-Current-URL": f"http://testserver{jobs}"}
    response = ops.post(f"{CLUSTER}restart/{part}/", {"when": "now"}, headers=headers)
    assert response.headers["HX-Redirect"] == jobs
    assert restarted == [part]
    assert said in page(ops, f"{CLUSTER}changes/")
    event = Event.objects.get(verb="cluster.restart")
    assert (event.who, event.target, event.outcome, event.cluster) == ("ops", part, "done", "llama-pretrain")


def test_a_restart_opened_as_a_page_ends_on_the_overview(ops: Client, restarted: list[str]) -> None:
    response = ops.post(f"{CLUSTER}restart/login/")
    assert (response.status_code, response.headers["Location"]) == (302, CLUSTER)


def test_a_restart_is_no_change_and_makes_no_revision(
    ops: Client, seeded: Seed, restarted: list[str]
) -> None:
    before = (seeded.cluster.changes.count(), seeded.cluster.revisions.count())
    ops.post(f"{CLUSTER}restart/workers/")
    assert (seeded.cluster.changes.count(), seeded.cluster.revisions.count()) == before


@pytest.mark.parametrize("name", ["mo", "vic"])
def test_who_may_not_restart_reads_why_in_the_menu_and_is_refused(
    seeded: Seed, restarted: list[str], name: str
) -> None:
    client = signed_in(seeded, name)
    html = page(client, CLUSTER)
    assert "/restart/" not in html
    for entry in ("controller", "login node", "workers"):
        assert f"Restart {entry} Needs the role operator; you are" in words(html)
    page(client, f"{CLUSTER}restart/workers/", status=403)
    assert client.post(f"{CLUSTER}restart/workers/").status_code == 403
    with pytest.raises(Forbidden):
        restarts.restart(door_of(seeded, name), "workers")
    assert restarted == [] and Event.objects.latest("pk").outcome == "refused"


def test_menu_offers_each_restart_to_operators(ops: Client) -> None:
    html = page(ops, CLUSTER)
    for part in ("controller", "login", "workers"):
        assert f'href="{CLUSTER}restart/{part}/"' in html


@pytest.mark.parametrize("status", [s for s in Status if s not in (Status.RUNNING, Status.DELETED)])
def test_only_a_running_cluster_is_restarted(
    ops: Client, seeded: Seed, restarted: list[str], status: Status
) -> None:
    Cluster.objects.filter(pk=seeded.cluster.pk).update(status=status)
    for response in (ops.get(f"{CLUSTER}restart/login/"), ops.post(f"{CLUSTER}restart/login/")):
        assert response.status_code == 409 and f"is {status} cannot be restarted" in response.content.decode()
    assert "/restart/" not in page(ops, CLUSTER)
    assert restarted == []


def test_a_change_on_its_way_comes_first(ops: Client, seeded: Seed, restarted: list[str]) -> None:
    seeded.cluster.changes.create(
        number=4, kind="edit", status="applying", summary="Two lines", revision=seeded.cluster.revision
    )
    response = ops.post(f"{CLUSTER}restart/controller/", headers=IN_DIALOG)
    assert response.status_code == 409
    assert "Change 4 of llama-pretrain is applying, since" in response.content.decode()
    assert button(response.content.decode()) == "Restart controller"
    assert restarted == [] and Event.objects.latest("pk").outcome == "refused"


@pytest.mark.parametrize("part", ["all", "slinky-0", "Controller", "%3Cb%3E"])
def test_unknown_part_is_missing(ops: Client, seeded: Seed, restarted: list[str], part: str) -> None:
    """A node is no part: it has a reboot of its own, with its own impact."""
    assert "to restart" in page(ops, f"{CLUSTER}restart/{part}/", status=404)
    assert ops.post(f"{CLUSTER}restart/{part}/").status_code == 404
    with pytest.raises(Missing):
        restarts.restart(door_of(seeded, "ops"), part)
    assert restarted == []


def test_a_platform_that_refuses_keeps_the_dialog_open_and_leaves_a_failed_event(
    ops: Client, restarted: list[str], monkeypatch
) -> None:
    def refuse(self: FakeProvisioner, part: str, say: object, *, when_idle: bool) -> None:
        raise Unavailable("The machine does not answer.", "Try again.")

    monkeypatch.setattr(FakeProvisioner, "restart", refuse)
    response = ops.post(f"{CLUSTER}restart/controller/", headers=IN_DIALOG)
    assert response.status_code == 503 and "The machine does not answer." in response.content.decode()
    assert Event.objects.latest("pk").outcome == "failed"


def test_script_restarts_a_part(seeded: Seed, restarted: list[str]) -> None:
    assert ask(seeded, "ops", {"part": "workers"}).status_code == 204
    assert restarted == ["workers"]


@pytest.mark.parametrize(
    ("name", "body", "status"),
    [
        ("ops", {"part": "slinky-0"}, 400),
        ("ops", {}, 400),
        ("mo", {"part": "login"}, 403),
    ],
)
def test_script_is_told_why_not(seeded: Seed, restarted: list[str], name, body, status) -> None:
    response = ask(seeded, name, body)
    assert response.status_code == status
    assert response.headers["Content-Type"] == "application/problem+json"
    assert restarted == []


def test_script_restarts_some_at_a_time_follows_it_and_stops_it(seeded: Seed, restarted: list[str]) -> None:
    answer = ask(seeded, "ops", {"part": "workers", "when_idle": True, "at_once": 2})
    assert (answer.status_code, answer.json()["kind"]) == (202, "restart")
    number = answer.json()["number"]
    assert ask(seeded, "ops", {"part": "controller"}).status_code == 409
    told = signed_in(seeded, "ops").get(API.replace("actions/restart", f"changes/{number}")).json()["restart"]
    assert (len(told["targets"]), told["at_once"], told["when_idle"], told["done"]) == (6, 2, True, [])
    for deed, status in (("force", 409), ("cancel", 202), ("cancel", 409)):
        url = API.replace("actions/restart", f"changes/{number}/{deed}")
        assert ask(seeded, "mo", {}, url).status_code == 403
        assert ask(seeded, "ops", {}, url).status_code == status, deed
    assert restarted == []


def test_who_may_restart_gives_up_nothing_but_restarts(seeded: Seed) -> None:
    seeded.cluster.changes.create(
        number=9, kind="edit", status="applying", summary="Lines", revision=seeded.cluster.revision
    )
    for deed in ("force", "cancel", "confirm"):
        url = API.replace("actions/restart", f"changes/9/{deed}")
        assert ask(seeded, "ops", {}, url).status_code == 403


@pytest.mark.parametrize("act", ["drain", "resume", "cancel", "hold", "requeue", "release"])
def test_what_is_done_at_once_takes_no_time_and_says_so(seeded: Seed, act: str) -> None:
    body = {"nodes": ["slinky-0"], "jobs": ["4127"], "reason": "later", "start_at": "2030-01-01T00:00Z"}
    answer = ask(seeded, "ops", body, API.replace("restart", act))
    assert answer.status_code == 400
    assert "at once or not at all" in str(answer.json())


def test_script_meets_409_where_the_status_forbids_it(seeded: Seed, restarted: list[str]) -> None:
    Cluster.objects.filter(pk=seeded.cluster.pk).update(status=Status.FAILED)
    response = ask(seeded, "ops", {"part": "controller"})
    assert response.status_code == Conflict.status and restarted == []


def ask(seeded: Seed, name: str, body: dict[str, object], url: str = API):
    client = Client(headers={"authorization": f"Bearer {make_token(seeded.users[name], 'test')}"})
    return client.post(url, body, content_type="application/json")
