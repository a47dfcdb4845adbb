"""The node list, a node's page, and the dialogs that drain, resume and reboot."""

import re

import pytest
from django.test import Client

from console import events
from slurm import operations
from slurm.node_query import parse_query
from tests.clusters.test_pages import CLUSTER, page, signed_in, words
from tests.seed import Seed, seed

pytestmark = pytest.mark.django_db
NODES = f"{CLUSTER}nodes/"
IN_DIALOG = {
    "HX-Request": "true",
    "HX-Target": "dialog",
    "HX-Current-URL": f"http://testserver{NODES}?q=state:down",
}


@pytest.fixture
def seeded() -> Seed:
    return seed()


@pytest.fixture
def ops(seeded: Seed) -> Client:
    return signed_in(seeded, "ops")


def listed(client: Client, query: str = "") -> list[str]:
    return re.findall(r'<tr [^>]*data-key="([^"]+)"', page(client, NODES + query))


def test_list_shows_both_names_state_use_and_reason(ops: Client) -> None:
    text = words(page(ops, NODES))
    assert "e2e_node_644 (slinky-3) draining Ready 2 / 8 16 / 192 0.1 / 2 TiB slinky 4131" in text
    assert "fell off the bus, twice in ten minutes by ops, 12 min ago" in text


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("slinky-[0-1,3]", ["slinky-0", "slinky-1", "slinky-3"]),
        ("slinky-[0-2] state:alloc", ["slinky-0", "slinky-1"]),
        ("state:down", ["cpu-workers-1"]),
        ("state:busy", ["slinky-0", "slinky-1", "slinky-2"]),
        ("partition:debug", ["slinky-0", "slinky-1"]),
        ("group:cpu reason:responding", ["cpu-workers-1"]),
        ("e2e_node_701", ["slinky-2"]),
        ("cpu-workers-0 slinky-1", ["slinky-1", "cpu-workers-0"]),
    ],
)
def test_filter_box_finds(ops: Client, query: str, names: list[str]) -> None:
    assert listed(ops, f"?q={query}") == names


def test_filter_that_is_not_understood_says_so_and_filters_the_rest(ops: Client) -> None:
    html = page(ops, f"{NODES}?q=colour:red slinky-0")
    assert "“colour:red” is not a filter here" in html
    assert listed(ops, "?q=colour:red slinky-0") == ["slinky-0"]
    assert parse_query("state:idle").problem == ""


def test_nothing_found_says_how_to_filter(ops: Client) -> None:
    assert "No node fits the filter" in page(ops, f"{NODES}?q=nope")


def test_columns_sort_both_ways(ops: Client) -> None:
    up, down = listed(ops, "?sort=gpus"), listed(ops, "?sort=-gpus")
    assert up[0].startswith("cpu-workers") and down[0] in ("slinky-0", "slinky-1")


def test_chips_count_by_health(ops: Client) -> None:
    text = words(page(ops, NODES))
    assert "All 6 Idle 1 In use 3 Draining 1 Down 1" in text


def test_fragment_of_the_watcher_leaves_the_jobs_cell_alone(seeded: Seed) -> None:
    from django.template.loader import render_to_string

    node = seeded.cluster.nodes.get(name="slinky-0")
    pushed = render_to_string("clusters/_node_row.html", {"node": node, "cluster": seeded.cluster})
    assert re.match(rf'<tr id="node-{node.pk}"', pushed.strip())
    assert "data-later" in pushed and "<form" not in pushed and "hx-" not in pushed


def test_hostile_reason_is_shown_as_text(ops: Client, seeded: Seed) -> None:
    seeded.cluster.nodes.filter(name="slinky-0").update(reason="<img src=x onerror=alert(1)>")
    for path in (NODES, f"{NODES}slinky-0/", CLUSTER):
        assert "<img src=x" not in page(ops, path)


def test_node_page_shows_jobs_facts_and_what_was_done(ops: Client, seeded: Seed) -> None:
    who = seeded.users["ops"]
    events.record(
        "node.drain", by=who, team=seeded.team, cluster="llama-pretrain", target="slinky-3, slinky-2"
    )
    text = words(page(ops, f"{NODES}slinky-3/"))
    assert "4131 lin eval-sweep" in text and "24.11.5" in text and "node.drain by ops" in text
    assert "has no node slinky-9" in page(ops, f"{NODES}slinky-9/", status=404)


def test_drain_dialog_says_what_goes_on_and_asks_for_a_reason(ops: Client) -> None:
    text = words(page(ops, f"{NODES}drain/?node=slinky-0&node=slinky-3"))
    assert "Drain 2 nodes" in text and "Goes on 4127 train-70b" in text and "Ends no job" in text
    assert "slinky-3: already draining" in text


def test_reboot_dialog_says_what_is_waited_for_or_ends_and_what_is_lost(ops: Client) -> None:
    text = words(page(ops, f"{NODES}reboot/?node=slinky-2"))
    assert "When their jobs have ended" in text and "Reboot when idle" in text and "/dev/shm" in text
    assert "Waits for" in text and "Ends no job" in text
    text = words(page(ops, f"{NODES}reboot/?node=slinky-2&when=now"))
    assert "Reboot now, ending 2 jobs" in text and "Waits for" not in text


def test_reboot_of_an_idle_node_offers_no_wait(ops: Client, seeded: Seed) -> None:
    seeded.cluster.jobs.update(is_finished=True)
    text = words(page(ops, f"{NODES}reboot/?node=slinky-2"))
    assert "Reboot now" in text and "When the job" not in text


@pytest.mark.parametrize(("when", "is_later"), [("idle", True), ("now", False), ("", True)])
def test_reboot_comes_when_it_was_asked_to(
    ops: Client, monkeypatch: pytest.MonkeyPatch, when: str, is_later: bool
) -> None:
    asked = []
    monkeypatch.setattr(
        operations, "reboot", lambda door, names, *, when_idle: asked.append((list(names), when_idle))
    )
    response = ops.post(f"{NODES}reboot/", {"node": "slinky-2", "when": when}, headers=IN_DIALOG)
    assert response.status_code == 204 or response.headers["HX-Redirect"]
    assert asked == [(["slinky-2"], is_later)]


def test_rows_and_pages_say_who_keeps_a_node_out(ops: Client, seeded: Seed) -> None:
    reason = "slurm-operator: Pod (research-lab/llama-3) is pending termination for scale-in"
    seeded.cluster.nodes.filter(name="slinky-3").update(reason=reason, reason_by="slurm")
    for path in (NODES, f"{NODES}slinky-3/", f"{NODES}resume/?node=slinky-3"):
        text = words(page(ops, path))
        assert "Scale-in: goes when its jobs have ended" in text and "by the operator" in text, path
        assert "slurm-operator" not in text


def test_draining_acts_and_returns_to_the_filtered_list(ops: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(operations, "drain", lambda door, names, reason: asked.append((list(names), reason)))
    typed = {"node": ["slinky-0", "slinky-1"], "reason": "XID 79"}
    response = ops.post(f"{NODES}drain/", typed, headers=IN_DIALOG)
    assert asked == [(["slinky-0", "slinky-1"], "XID 79")]
    assert response.headers["HX-Redirect"] == f"{NODES}?q=state:down"
    assert "slinky-0 and slinky-1 are being drained." in page(ops, NODES)


def test_a_refused_drain_keeps_the_dialog_and_what_was_typed(ops: Client) -> None:
    response = ops.post(f"{NODES}drain/", {"node": "slinky-0", "reason": " "}, headers=IN_DIALOG)
    assert response.status_code == 422
    assert "Say why" in response.content.decode() and 'value="slinky-0"' in response.content.decode()


def test_nodes_that_are_not_there_cannot_be_named(ops: Client) -> None:
    assert "has no node ALL" in page(ops, f"{NODES}drain/?node=ALL", status=404)
    assert "No node is chosen" in page(ops, f"{NODES}drain/", status=404)


@pytest.mark.parametrize("name", ["mo", "vic"])
def test_who_may_not_operate_nodes_is_offered_no_selection(seeded: Seed, name: str) -> None:
    client = signed_in(seeded, name)
    html = page(client, NODES)
    assert "data-select=" not in html and "Needs the role operator" in html
    page(client, f"{NODES}drain/?node=slinky-0", status=403)


def test_nodes_of_all_clusters_are_listed_with_their_cluster(ops: Client) -> None:
    text = words(page(ops, "/t/research/nodes/?q=state:draining"))
    assert "e2e_node_644 (slinky-3) llama-pretrain draining" in text and "4131" in text
    assert "e2e_node_682" not in text
