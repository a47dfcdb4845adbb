"""Live pages in a real browser: pushed rows, what survives a swap, and what shows when nobody watches any more."""

from collections.abc import Callable

import pytest
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from playwright.sync_api import Page, expect

from clusters.lifecycle import Status
from clusters.models import Cluster, Node
from console import live
from tests.browser.conftest import Console

CLUSTER = "/t/research/c/llama-pretrain/"
NODES = f"{CLUSTER}nodes/"
Look = Callable[..., Page]


def node(console: Console, name: str, **changed: object) -> Node:
    """The node as the watcher would write it."""
    console.made.cluster.nodes.filter(name=name).update(**changed)
    return console.made.cluster.nodes.get(name=name)


def push_row(console: Console, changed: Node) -> None:
    row = live.fragment(
        "clusters/_node_row.html", f"node-{changed.pk}", node=changed, cluster=console.made.cluster
    )
    console.push([row])


def fresh(page: Page) -> None:
    expect(page.locator("#live")).to_have_text("live")


def test_pushed_row_is_swapped_and_keeps_selection_focus_and_jobs(look: Look, console: Console) -> None:
    page = look(NODES)
    fresh(page)
    row = page.locator("tr[data-key='slinky-0']")
    row.locator("input").check()
    row.locator("[data-row-link]").focus()
    push_row(console, node(console, "slinky-0", state="drained", health="draining", gpus_allocated=0))
    expect(row).to_contain_text("drained")
    expect(row).to_contain_text("0 / 8")
    expect(row).to_contain_text("4127")
    expect(row.locator("input")).to_be_checked()
    expect(row).to_have_attribute("aria-selected", "true")
    expect(row.locator("[data-row-link]")).to_be_focused()
    expect(page.get_by_text("1 selected")).to_be_visible()


def test_rows_that_come_are_fetched_when_told_and_text_typed_stays(look: Look, console: Console) -> None:
    page = look(NODES)
    fresh(page)
    page.locator("[data-filter]").fill("slin")
    copy = node(console, "slinky-3")
    copy.pk, copy.name, copy.ordinal, copy.machine = None, "slinky-4", 4, "e2e_node_999"
    copy.save()
    console.push(refresh=["nodes", "cluster"])
    expect(page.locator("tr[data-key='slinky-4']")).to_be_visible()
    expect(page.locator("tr[data-key='slinky-4'] input")).to_have_count(1)
    expect(page.locator("#tabs a", has_text="Nodes")).to_contain_text("7")
    expect(page.locator("[data-filter]")).to_have_value("slin")


def test_silent_watcher_turns_the_page_stale_within_5_s_and_heals_by_itself(
    look: Look, console: Console
) -> None:
    page = look(NODES)
    fresh(page)
    console.watcher.paused = True
    expect(page.locator("#live")).to_have_text("stale", timeout=5000)
    expect(page.locator("#stale-why")).to_contain_text("The watcher has not reported")
    expect(page.locator("html")).to_have_attribute("data-stale", "")
    node(console, "slinky-1", state="down*", health="down")
    console.watcher.paused = False
    fresh(page)
    expect(page.locator("#stale-why")).to_be_hidden()
    expect(page.locator("tr[data-key='slinky-1']")).to_contain_text("down*")


def test_a_cluster_that_does_not_answer_is_shown_as_last_known(look: Look, console: Console) -> None:
    page = look(CLUSTER)
    fresh(page)
    console.watcher.problem = "slurmctld does not answer"
    expect(page.locator("#stale-why")).to_contain_text("slurmctld does not answer")
    console.watcher.problem = ""
    expect(page.locator("#stale-why")).to_be_hidden()


def test_lost_socket_reconnects_and_fetches_what_was_missed(look: Look, console: Console) -> None:
    page = look(NODES)
    fresh(page)
    page.context.set_offline(True)
    page.evaluate("() => 0")
    console.watcher.paused = True
    expect(page.locator("#live")).to_have_text("stale", timeout=5000)
    node(console, "slinky-2", state="drained", health="draining")
    page.context.set_offline(False)
    console.watcher.paused = False
    fresh(page)
    expect(page.locator("tr[data-key='slinky-2']")).to_contain_text("drained")


def test_change_of_status_redraws_the_header_and_its_menu(look: Look, console: Console) -> None:
    page = look(CLUSTER)
    fresh(page)
    cluster = Cluster.objects.get(pk=console.made.cluster.pk)
    cluster.enter(Status.FAILED, "slurmctld: fatal: no space")
    piece = live.fragment("clusters/_overview.html", f"overview-{cluster.key}", cluster=cluster)
    console.push([piece])
    expect(page.locator("#cluster-head")).to_contain_text("Failed")
    expect(page.locator(".live-body")).to_contain_text("slurmctld: fatal: no space")
    page.locator("#cluster-head summary").click()
    expect(page.get_by_role("link", name="Delete…")).to_be_visible()


def test_change_log_grows_on_its_page_and_its_end_is_fetched(look: Look, console: Console) -> None:
    change = console.made.cluster.changes.get(number=3)
    change.status, change.why = "observing", ""
    change.save()
    page = look(f"{CLUSTER}changes/3/")
    fresh(page)
    expect(page.locator("#strips")).not_to_contain_text("Follow it")
    change.lines.create(text="The workers registered again.")
    change.status = "committed"
    change.save()
    pieces = [
        live.fragment(f"clusters/_change_{part}.html", f"change-{part}-{change.pk}", change=change)
        for part in ("status", "lines")
    ]
    console.push(pieces)
    expect(page.locator(f"#change-lines-{change.pk}")).to_contain_text("The workers registered again.")
    expect(page.locator(f"#change-status-{change.pk}")).to_have_text("committed")


def test_a_change_whose_end_was_told_to_nobody_is_read_again(look: Look, console: Console) -> None:
    change = console.made.cluster.changes.get(number=3)
    change.status, change.why = "applying", ""
    change.save()
    page = look(f"{CLUSTER}changes/3/")
    fresh(page)
    expect(page.locator(f"#change-status-{change.pk}")).to_have_text("applying")
    change.lines.create(text="The workers registered again.")
    change.status = "committed"
    change.save()
    console.push(refresh=["changes"])
    expect(page.locator(f"#change-status-{change.pk}")).to_have_text("committed")
    expect(page.locator(f"#change-lines-{change.pk}")).to_contain_text("The workers registered again.")


def test_figures_and_map_come_when_a_new_cluster_runs(look: Look, console: Console) -> None:
    cluster = Cluster.objects.get(pk=console.made.cluster.pk)
    nodes = list(cluster.nodes.all())
    cluster.nodes.all().delete()
    Cluster.objects.filter(pk=cluster.pk).update(status=Status.CREATING)
    page = look(CLUSTER)
    fresh(page)
    expect(page.locator("#gpu-map, #services")).to_have_count(0)
    Node.objects.bulk_create(nodes)
    Cluster.objects.filter(pk=cluster.pk).update(status=Status.RUNNING)
    cluster.refresh_from_db()
    console.push([live.fragment("clusters/_overview.html", f"overview-{cluster.key}", cluster=cluster)])
    expect(page.locator("#gpu-map")).to_contain_text("slinky-0")
    expect(page.locator("#numbers")).to_contain_text("of 32")
    expect(page.locator("#services")).to_contain_text("Controller")


def test_losing_access_ends_the_page_without_trying_again(look: Look, console: Console) -> None:
    page = look(CLUSTER)
    fresh(page)
    console.made.team.memberships.filter(user__username="ada").delete()
    topic = live.user_topic(console.made.users["ada"].pk)
    send = async_to_sync(get_channel_layer().group_send)
    console.elsewhere(lambda: send(topic, {"type": "rights.changed"}))
    expect(page.locator("#live")).to_have_text("ended")
    expect(page.locator("#stale-why")).to_contain_text("no longer have access")


@pytest.mark.parametrize("slug", ["old-sweeps"])
def test_a_cluster_that_nobody_watches_is_not_called_stale(look: Look, slug: str) -> None:
    page = look(f"/t/research/c/{slug}/")
    page.wait_for_timeout(2500)
    expect(page.locator("#stale-why")).to_be_hidden()
    expect(page.locator("#live")).to_be_hidden()


def test_filtered_list_lets_go_of_a_row_that_no_longer_fits(look: Look, console: Console) -> None:
    page = look(f"{NODES}?q=state:draining")
    fresh(page)
    expect(page.locator("tr[data-key='slinky-3']")).to_be_visible()
    node(console, "slinky-3", state="mixed", health="busy")
    console.push(refresh=["cluster"])
    expect(page.get_by_text("No node fits the filter")).to_be_visible()
    expect(page.locator("#node-chips")).to_contain_text("Draining0")
    node(console, "slinky-2", state="drained", health="draining")
    console.push(refresh=["cluster"])
    expect(page.locator("tr[data-key='slinky-2'] input")).to_have_count(1)
