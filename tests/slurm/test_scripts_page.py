"""The Scripts page and its API: who may do what, what is checked, and what a failing script offers."""

import json
from dataclasses import asdict
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from clusters.life_scripts import version_of
from clusters.machine import ChangeStatus
from clusters.models import Change, Cluster
from clusters.nodes import NodeState
from clusters.observation import NodeSeen, Part, PartState
from clusters.provisioner import Completed
from clusters.run import run
from clusters.spec import LifeScripts
from console.models import Event
from console.tokens import make_token
from slurm.scripts.failures import failed_hook, failures
from slurm.scripts.life import review
from tests.cast import Cast, a_node, the_cast, tiny_cluster, tiny_spec
from tests.fakes import FakeExecutor
from tests.slurm.job_rows import make_job
from tests.slurm.pages import at, signed_in
from tests.yardstick import in_yardsticks

pytestmark = pytest.mark.django_db
OLD, BAD = "#!/bin/bash\nexit 0\n", "#!/bin/bash\nexit 1\n"
HOSTILE = "#!/bin/bash\n</textarea><script>alert(1)</script>\n"
CLUSTER_API = "/api/v1/teams/research/clusters/tiny"
API = f"{CLUSTER_API}/scripts"


@pytest.fixture
def cast() -> Cast:
    return the_cast()


@pytest.fixture
def cluster(cast: Cast) -> Cluster:
    return tiny_cluster(cast.team, spec=tiny_spec(scripts=LifeScripts(worker_prolog=OLD)))


@pytest.fixture
def client(cast: Cast) -> Client:
    return signed_in(cast.ada)


def page_of(client: Client, url: str) -> str:
    answer = client.get(url)
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def carried(change: Change) -> Change:
    run(change.pk)
    return Change.objects.select_related("cluster__revision", "revision").get(pk=change.pk)


# Reading


def test_every_script_is_listed_with_its_version(client: Client, cluster: Cluster) -> None:
    page = page_of(client, at(cluster, "scripts"))
    assert page.count("data-row-link") == 6
    assert "Worker prolog" in page and review(cluster, "worker_prolog", OLD, base=1).version in page


@pytest.mark.parametrize("who", ["cy", "mo", "ben"])
def test_who_may_not_change_it_reads_it_and_learns_why(cluster: Cluster, cast: Cast, who: str) -> None:
    client = signed_in(getattr(cast, who))
    page = page_of(client, at(cluster, "script", "worker_prolog"))
    assert "exit 0" in page and "Needs the role admin" in page and "readonly" in page
    for name in ("script-review", "script-apply", "script-revert"):
        assert client.post(at(cluster, name, "worker_prolog"), {"text": BAD, "base": 1}).status_code == 403


def test_there_is_no_other_script(client: Client, cluster: Cluster) -> None:
    assert client.get(at(cluster, "script", "prolog")).status_code == 404


def test_each_worker_is_shown_with_the_init_script_that_it_started_with(
    client: Client, cluster: Cluster
) -> None:
    seen(cluster, Part("worker", "slinky-0", PartState.UP, init="0123456789ab"))
    page = page_of(client, at(cluster, "scripts"))
    assert "0123456789ab" in page and "not the current one" in page


def seen(cluster: Cluster, *parts: Part) -> None:
    cluster.parts = [{**asdict(part), "since": None} for part in parts]
    cluster.save()


def test_each_worker_is_shown_with_the_prolog_and_the_epilog_that_it_has(
    client: Client, cluster: Cluster
) -> None:
    current = version_of(OLD)
    seen(
        cluster,
        Part("worker", "slinky-0", PartState.UP, prolog=current, epilog=""),
        Part("worker", "slinky-1", PartState.STARTING, prolog="0123456789ab", epilog=""),
        Part("worker", "cpu-workers-0", PartState.UP),
        Part("login", "login", PartState.UP),
    )
    page = page_of(client, at(cluster, "scripts"))
    assert page.count("not the current one") == 1 and page.count("not told here") == 2 and "not up" in page
    found = {one["node"]: one for one in client.get(f"{CLUSTER_API}/worker-scripts").json()}
    assert [one["is_current"] for one in found.values()] == [True, False, True]
    assert [had["version"] for had in found["slinky-1"]["scripts"]] == ["", "0123456789ab", ""]
    assert [had["version"] for had in found["cpu-workers-0"]["scripts"]] == ["", None, None]


# Changing


def test_a_review_shows_advice_difference_and_cost(client: Client, cluster: Cluster) -> None:
    text = "#!/bin/bash\nscontrol show job $SLURM_JOB_ID\n"
    answer = client.post(at(cluster, "script-review", "worker_prolog"), {"text": text, "base": 1})
    page = " ".join(answer.content.decode().split())
    assert "scontrol asks the controller" in page and "What applying it does" in page and "Apply" in page
    assert not Change.objects.exists()


@pytest.mark.parametrize("text", ["echo no program\n", "#!bash\n"])
def test_what_cannot_be_a_script_is_not_offered_to_be_applied(
    client: Client, cluster: Cluster, text: str
) -> None:
    answer = client.post(at(cluster, "script-review", "worker_prolog"), {"text": text, "base": 1})
    page = answer.content.decode()
    assert (
        "The first line must name the program" in page
        and at(cluster, "script-apply", "worker_prolog") not in page
    )
    answer = client.post(at(cluster, "script-apply", "worker_prolog"), {"text": text, "base": 1})
    assert answer.status_code == 422 and not Change.objects.exists()


def test_what_is_too_long_for_a_script_is_refused_before_it_is_compared(
    client: Client, cluster: Cluster
) -> None:
    fields = {"text": "#!/bin/sh\n" + ":\n" * 1_000_000, "base": "1"}

    def review() -> None:
        answer = client.post(at(cluster, "script-review", "worker_prolog"), fields)
        assert answer.status_code == 200 and b"At most 64 KiB" in answer.content

    assert in_yardsticks(review, tries=1) < 40


def test_applied_it_is_a_change_and_then_the_clusters(client: Client, cluster: Cluster) -> None:
    typed = {"text": BAD.replace("\n", "\r\n"), "base": 1}
    answer = client.post(at(cluster, "script-apply", "worker_prolog"), typed)
    assert answer.status_code == 302
    change = carried(Change.objects.get())
    assert (change.status, change.summary) == (ChangeStatus.COMMITTED, "Worker prolog: 1 line")
    assert change.cluster.spec.scripts == LifeScripts(worker_prolog=BAD)


def test_it_may_start_later(client: Client, cluster: Cluster) -> None:
    later = timezone.now() + timedelta(days=1)
    typed = {"text": BAD, "base": 1, "start_at": f"{later:%Y-%m-%dT%H:%M}"}
    assert client.post(at(cluster, "script-apply", "worker_prolog"), typed).status_code == 302
    assert Change.objects.get().status == ChangeStatus.SCHEDULED


def test_taken_away_there_is_none(client: Client, cluster: Cluster) -> None:
    typed = {"text": OLD, "base": 1, "remove": "1"}
    page = client.post(at(cluster, "script-review", "worker_prolog"), typed).content.decode()
    assert "Take it away" in page
    assert client.post(at(cluster, "script-apply", "worker_prolog"), typed).status_code == 302
    assert carried(Change.objects.get()).cluster.spec.scripts == LifeScripts()


def test_a_stale_base_shows_both_sides_and_keeps_the_text(client: Client, cluster: Cluster) -> None:
    client.post(at(cluster, "script-apply", "login_init"), {"text": OLD, "base": 1})
    carried(Change.objects.get())
    answer = client.post(at(cluster, "script-apply", "worker_prolog"), {"text": BAD, "base": 1})
    page = answer.content.decode()
    assert answer.status_code == 409 and "What the others changed" in page and "exit 1" in page


def test_hostile_text_stays_text(client: Client, cluster: Cluster) -> None:
    answer = client.post(at(cluster, "script-review", "worker_prolog"), {"text": HOSTILE, "base": 1})
    assert b"<script>alert" not in answer.content and b"&lt;script&gt;alert" in answer.content


# ShellCheck


# Failing scripts


def drained(cluster: Cluster, name: str, reason: str, **fields: object) -> None:
    a_node(cluster, name, state="drained", health="draining", reason=reason, reason_by="slurm", **fields)


@pytest.mark.parametrize(
    ("reason", "by", "hook"),
    [
        ("Prolog error", "slurm", "worker_prolog"),
        ("Epilog error", "root", "worker_epilog"),
        ("Prolog error (by ben)", "root", None),
        ("Prolog error", "mo", None),
        ("Kill task failed", "slurm", None),
        ("", "", None),
    ],
)
def test_only_slurms_own_word_tells_of_a_failed_script(reason: str, by: str, hook: str | None) -> None:
    assert failed_hook(reason, by) == hook


def broken(client: Client, cluster: Cluster) -> Cluster:
    """The prolog was changed to one that fails, and has drained a node since."""
    client.post(at(cluster, "script-apply", "worker_prolog"), {"text": BAD, "base": 1})
    carried(Change.objects.get())
    drained(cluster, "slinky-0", "Prolog error", reason_at=timezone.now())
    return Cluster.objects.get(pk=cluster.pk)


def test_a_script_that_drains_nodes_is_named_on_every_page(client: Client, cluster: Cluster) -> None:
    cluster = broken(client, cluster)
    for name in ("cluster", "scripts"):
        assert "Worker prolog" in page_of(client, at(cluster, name))
    assert "worker prolog failed here" in page_of(client, at(cluster, "nodes"))
    assert "Revert the script and resume it" in page_of(client, at(cluster, "scripts"))


def test_reverted_the_script_before_it_is_back_and_its_nodes_take_jobs(
    client: Client, cluster: Cluster
) -> None:
    cluster = broken(client, cluster)
    drained(cluster, "slinky-1", "bad fan")
    dialog = page_of(client, at(cluster, "script-revert", "worker_prolog"))
    assert "slinky-0" in dialog and ">slinky-1<" not in dialog and "exit 0" in dialog
    answer = client.post(at(cluster, "script-revert", "worker_prolog"), {"base": 2})
    assert answer.status_code == 302
    change = Change.objects.latest("number")
    assert change.resumes == {"slinky-0": "Prolog error"} and "1 node resumed" in change.summary
    assert carried(change).cluster.spec.scripts.worker_prolog == OLD
    assert "slinky-0 takes jobs again." in [line.text for line in change.lines.all()]


def test_jobs_that_its_failure_holds_are_said_to_need_a_release(client: Client, cluster: Cluster) -> None:
    cluster = broken(client, cluster)
    assert "Slurm holds" not in page_of(client, at(cluster, "script-revert", "worker_prolog"))
    make_job(cluster, 31, reason="launch failed requeued held", priority=0)
    dialog = page_of(client, at(cluster, "script-revert", "worker_prolog"))
    assert "1 job</a> that could not be started: release it afterwards" in dialog


def test_who_is_out_for_another_reason_by_then_stays_out(client: Client, cluster: Cluster) -> None:
    cluster = broken(client, cluster)
    client.post(at(cluster, "script-revert", "worker_prolog"), {"base": 2})
    cluster.nodes.update(reason="bad fan (by ben)")
    change = carried(Change.objects.latest("number"))
    assert change.status == ChangeStatus.COMMITTED
    assert not [line for line in change.lines.all() if "take" in line.text and "again" in line.text]


def test_what_failed_before_the_present_script_came_is_only_resumed(client: Client, cluster: Cluster) -> None:
    cluster = broken(client, cluster)
    cluster.nodes.update(reason_at=timezone.now() - timedelta(days=1))
    assert [failure.is_past for failure in failures(cluster)] == [True]
    page = page_of(client, at(cluster, "scripts"))
    assert "no longer in force" in page and "Revert the script" not in page
    assert client.post(at(cluster, "script-revert", "worker_prolog"), {"base": 2}).status_code == 409


def test_without_a_failure_there_is_nothing_to_revert(client: Client, cluster: Cluster) -> None:
    assert client.get(at(cluster, "script-revert", "worker_prolog")).status_code == 409


# The API


@pytest.fixture
def ask(cluster: Cluster, cast: Cast) -> Any:
    client = Client(headers={"authorization": f"Bearer {make_token(cast.ada.user, 'test')}"})

    def ask(method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        return client.generic(method, f"{API}{path}", json.dumps(body or {}), content_type="application/json")

    return ask


def test_scripts_are_read_and_put(ask: Any, cluster: Cluster) -> None:
    listed = ask("GET", "").json()
    assert [one["hook"] for one in listed if one["version"]] == ["worker_prolog"] and len(listed) == 6
    assert ask("GET", "/worker_prolog").json()["text"] == OLD
    answer = ask("PUT", "/worker_epilog", {"base": 1, "text": BAD})
    assert answer.status_code == 202
    assert carried(Change.objects.get()).cluster.spec.scripts == LifeScripts(
        worker_prolog=OLD, worker_epilog=BAD
    )


def test_a_check_says_what_is_wrong_and_touches_nothing(ask: Any, cluster: Cluster) -> None:
    body = ask("POST", "/worker_prolog/check", {"text": "echo\n"}).json()
    assert body["refused"] and body["problems"][0]["path"] == "scripts.worker_prolog"
    body = ask("POST", "/worker_prolog/check", {"text": BAD}).json()
    assert not body["refused"] and "+exit 1" in body["diff"] and not Change.objects.exists()


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/prolog", {"base": 1, "text": BAD}, 404),
        ("/worker_prolog", {"base": 9, "text": BAD}, 409),
        ("/worker_prolog", {"base": 1, "text": "no\n"}, 422),
        ("/worker_prolog", {"base": 1, "text": "#!/bin/sh\n" + "x" * 200_000}, 422),
        ("/worker_prolog", {"text": BAD}, 422),
    ],
)
def test_what_is_put_wrongly_is_told(ask: Any, path: str, body: dict[str, Any], status: int) -> None:
    answer = ask("PUT", path, body)
    assert answer.status_code in (status, 400 if status == 422 else status), answer.content
    assert not Change.objects.exists()


# Trying one first


def trial_of(client: Client, cluster: Cluster, node: str, hook: str = "worker_prolog") -> Any:
    return client.post(at(cluster, "script-trial", hook), {"text": BAD, "base": 1, "node": node})


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What slinky-0 prints to whatever is tried on it; which command that was is kept behind it."""
    kept: list[Any] = [Completed(0, b"<b>no disk</b>\n", "3\n")]

    def run(self: FakeExecutor, argv: Any, *, timeout_s: float = 4.0, stdin: bytes = b"") -> Completed:
        kept.append((list(argv), stdin))
        return kept[0]

    monkeypatch.setattr(FakeExecutor, "run", run)
    nodes = (_seen("slinky-0", {"DRAIN"}), _seen("slinky-1", set()))
    monkeypatch.setattr("slurm.client.Slurm.nodes", lambda self: nodes)
    return kept


def _seen(name: str, flags: set[str]) -> NodeSeen:
    state = NodeState("IDLE", frozenset(flags))
    return NodeSeen(name, "", state, "", 4, 0, 1000, 0, 0, 0, ("all",))


def test_a_trial_shows_status_and_output_and_changes_nothing(
    client: Client, cluster: Cluster, answers: list[Any]
) -> None:
    drained(cluster, "slinky-0", "to try a script (by ada)")
    page = client.post(
        at(cluster, "script-review", "worker_prolog"), {"text": BAD, "base": 1}
    ).content.decode()
    assert "Run it there once" in page
    page = trial_of(client, cluster, "slinky-0").content.decode()
    assert "with status 3" in page and "&lt;b&gt;no disk" in page and not Change.objects.exists()
    argv, stdin = answers[1]
    assert stdin.decode() == BAD and "SLURM_SCRIPT_CONTEXT=prolog_slurmd" in argv
    event = Event.objects.latest("pk")
    assert (event.verb, event.outcome) == ("script.try", "done")


def test_a_node_that_takes_jobs_is_left_alone(client: Client, cluster: Cluster, answers: list[Any]) -> None:
    assert trial_of(client, cluster, "slinky-1").status_code == 409
    assert trial_of(client, cluster, "slinky-9").status_code == 404
    assert len(answers) == 1


@pytest.mark.parametrize("hook", ["login_init", "controller_prolog"])
def test_what_runs_elsewhere_cannot_be_tried(
    client: Client, cluster: Cluster, answers: list[Any], hook: str
) -> None:
    assert trial_of(client, cluster, "slinky-0", hook).status_code == 409
    page = client.post(at(cluster, "script-review", hook), {"text": BAD, "base": 1}).content.decode()
    assert "Run it there once" not in page and "Try it" not in page


def test_a_script_tries_one_as_well(ask: Any, cluster: Cluster, answers: list[Any]) -> None:
    body = ask("POST", "/worker_init/try", {"text": BAD, "node": "slinky-0"}).json()
    assert (body["code"], body["output"]) == (3, "<b>no disk</b>\n")
    argv, _ = answers[1]
    assert not [word for word in argv if word.startswith("SLURM_JOB")]


def test_a_trial_of_nothing_is_refused_at_the_text(ask: Any, cluster: Cluster, answers: list[Any]) -> None:
    answer = ask("POST", "/worker_init/try", {"text": " ", "node": "slinky-0"})
    assert answer.status_code == 422
    assert [problem["path"] for problem in answer.json()["errors"]] == ["text"]
