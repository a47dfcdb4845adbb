"""Every cell of the table of statuses and steps, as scripts and pages meet it and as docs/cluster-life.md says it."""

import re
from pathlib import Path

import pytest
from django.test import Client

from clusters.lifecycle import ABOUT, ALLOWED, WHY, Status, Step, allows, refusal
from clusters.models import Cluster
from clusters.views.frame import MENU
from tests.cast import a_node, person, the_cast, tiny_cluster, tiny_spec
from tests.clusters.test_api import Script

PAGE = Path(__file__).parents[2] / "docs/cluster-life.md"
# One act of each step: path below the cluster and what is sent. Clone is read.
ACTS: dict[Step, tuple[str, dict[str, object]]] = {
    Step.CHANGE: ("actions/scale", {"groups": {"slinky": 3}, "base": 1}),
    Step.OPERATE: ("actions/drain", {"nodes": ["slinky-0"], "reason": "a test"}),
    Step.RECONFIGURE: ("actions/reconfigure", {}),
    Step.RESTART: ("actions/restart", {"part": "controller"}),
    Step.CLONE: ("clone", {}),
    Step.TERMINATE: ("actions/terminate", {}),
    Step.DELETE: ("actions/delete", {"name": "tiny"}),
}
DONE = {
    Step.CHANGE: 202,
    Step.OPERATE: 204,
    Step.RECONFIGURE: 202,
    Step.RESTART: 204,
    Step.CLONE: 200,
    Step.TERMINATE: 202,
    Step.DELETE: 202,
}
CELLS = [(status, step) for status in Status for step in Step]


@pytest.fixture
def cluster(db: None) -> Cluster:
    made = tiny_cluster(the_cast().team, spec=tiny_spec(partitions=()))
    a_node(made, "slinky-0")
    return made


@pytest.mark.parametrize(("status", "step"), CELLS, ids=[f"{status}-{step}" for status, step in CELLS])
def test_a_script_may_do_what_the_table_says(
    cluster: Cluster, monkeypatch, status: Status, step: Step
) -> None:
    monkeypatch.setattr("slurm.client.Slurm.drain", lambda *args: None)
    Cluster.objects.filter(pk=cluster.pk).update(status=status)
    path, body = ACTS[step]
    script, url = Script(person("ada")), f"/api/v1/teams/research/clusters/tiny/{path}"
    answer = script.get(url) if step is Step.CLONE else script.post(url, body)
    if status is Status.DELETED:
        assert answer.status_code == 404
    elif allows(status, step):
        assert answer.status_code == DONE[step], answer.content
    else:
        assert answer.status_code == 409
        assert refusal(status, step) in answer.json()["detail"]


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.DELETED])
def test_the_menu_offers_what_the_table_says(cluster: Cluster, client: Client, status: Status) -> None:
    Cluster.objects.filter(pk=cluster.pk).update(status=status)
    client.force_login(person("ada"))
    html = client.get("/t/research/c/tiny/changes/").content.decode()
    offered = "".join(re.findall(r'<details class="qd-menu">.*?</details>', html, re.S))
    for label, _icon, _route, _action, step in MENU:
        assert (f"{label}…" in offered) == allows(status, step), (label, offered)


def test_a_refusal_names_the_statuses_that_would_do() -> None:
    assert refusal(Status.TERMINATING, Step.DELETE) == (
        "A cluster that is Terminating cannot be deleted; it must be Failed or Terminated."
    )
    assert refusal(Status.RUNNING, Step.CHANGE) == ""


def test_the_page_of_documentation_is_the_table() -> None:
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    head, body = rows[0], rows[2:]
    assert head == ["Step", *(status.value for status in Status)]
    wanted = [[ABOUT[step], *("yes" if allows(s, step) else "–" for s in Status)] for step in Step]
    assert body == wanted


def test_the_page_of_documentation_has_every_reason() -> None:
    said = [line[2:] for line in PAGE.read_text().splitlines() if re.match(r"- \w+, \w+: ", line)]
    assert said == [f"{status}, {step.value.capitalize()}: {why}" for (status, step), why in WHY.items()]
    assert set(ALLOWED) == set(Status)
