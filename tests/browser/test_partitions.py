"""Partitions in a real browser: nodes chosen by pressing them, problems at their fields as one types, the change."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from clusters.models import Cluster
from tests.browser.conftest import PHONE

PARTITIONS = "/t/research/c/llama-pretrain/partitions/"
Look = Callable[..., Page]


def test_a_partition_is_made_by_pressing_nodes(look: Look) -> None:
    page = look(PARTITIONS)
    page.get_by_role("link", name="Add partition").click()
    dialog = page.get_by_role("dialog", name="Add a partition to llama-pretrain")
    expect(dialog.get_by_label("Name", exact=True)).to_be_focused()
    page.keyboard.type("train")
    for name in ("slinky-0", "slinky-2", "slinky-3"):
        dialog.locator(f"[data-pick='{name}']").click()
        expect(dialog.locator(f"[data-pick='{name}']")).to_have_attribute("aria-pressed", "true")
    expect(dialog.get_by_label("Nodes", exact=True)).to_have_value("slinky-[0,2-3]")
    expect(dialog.locator(".sum")).to_contain_text("24 GPUs")
    dialog.get_by_label("Longest job").fill("2h")
    expect(dialog.locator("pre.line")).to_have_text(
        "PartitionName=train Nodes=slinky-[0,2-3] MaxTime=120 State=UP"
    )
    dialog.get_by_role("button", name="Add partition").click()
    page.wait_for_url("**/changes/4/")
    made = Cluster.objects.get(slug="llama-pretrain").revisions.latest("number").parsed.partitions[-1]
    assert (made.name, made.nodes, made.max_time_minutes) == ("train", "slinky-[0,2-3]", 120)


def test_problems_come_and_go_at_their_fields_without_losing_the_cursor(look: Look) -> None:
    page = look(PARTITIONS)
    page.get_by_role("link", name="Edit debug").click()
    dialog = page.get_by_role("dialog", name="Edit partition debug")
    nodes = dialog.get_by_label("Nodes", exact=True)
    expect(nodes).to_have_value("slinky-[0-1]")
    nodes.fill("slinky-[0-9]")
    expect(dialog.locator("#id_nodes-about .problem")).to_contain_text("slinky-4")
    expect(nodes).to_be_focused()
    nodes.fill("slinky-[0-3]")
    expect(dialog.locator("#id_nodes-about .problem")).to_have_count(0)
    expect(dialog.locator("[aria-pressed=true]")).to_have_count(4)
    dialog.get_by_label("Longest job").fill("soon")
    expect(dialog.locator("#id_max_time_minutes-about .problem")).to_contain_text("is not a time")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.locator("#id_max_time_minutes-about .problem")).to_contain_text("is not a time")
    expect(dialog.get_by_label("Longest job")).to_have_value("soon")


def test_deleting_says_what_it_costs_first(look: Look) -> None:
    page = look(PARTITIONS)
    page.get_by_role("link", name="Delete debug").click()
    dialog = page.get_by_role("dialog", name="Delete partition debug")
    expect(dialog.locator(".impact")).to_contain_text("no job")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.get_by_role("link", name="Delete debug").click()
    dialog.get_by_role("button", name="Delete").click()
    page.wait_for_url("**/changes/4/")


def test_the_dialog_is_a_page_too_and_fits_a_phone(look: Look) -> None:
    page = look(f"{PARTITIONS}new/", size=PHONE)
    page.locator("[data-pick='cpu-workers-1']").click()
    expect(page.get_by_label("Nodes", exact=True)).to_have_value("cpu-workers-1")
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")


def test_viewer_sees_the_lists_and_the_reason(look: Look) -> None:
    page = look(PARTITIONS, name="vic")
    expect(page.get_by_role("button", name="Add partition")).to_be_disabled()
    expect(page.get_by_role("link", name="Edit debug")).to_have_count(0)
    expect(page.locator("footer").get_by_text("Needs the role admin; you are viewer.")).to_be_visible()
