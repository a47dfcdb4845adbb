"""What hands do: keys, selection, dialogs, copying, theme, the form's preview; all without a mouse where it can be."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from clusters.models import Cluster
from slurm import operations
from tests.browser.conftest import PHONE, Console
from tests.seed import KEY

CLUSTER = "/t/research/c/llama-pretrain/"
NODES = f"{CLUSTER}nodes/"
Look = Callable[..., Page]


def test_keys_filter_move_select_and_open(look: Look) -> None:
    page = look(NODES)
    page.keyboard.press("/")
    expect(page.locator("[data-filter]")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.locator("tr[data-key='slinky-1']")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Shift+X")
    expect(page.get_by_text("3 selected")).to_be_visible()
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{NODES}slinky-2/")


def test_help_lists_the_keys_and_escape_returns(look: Look) -> None:
    page = look(NODES)
    page.keyboard.press("j")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.locator("[data-row-link]").first).to_be_focused()


def test_selected_nodes_are_drained_in_a_dialog_that_keeps_its_mistakes(
    look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[list[str], str]] = []
    monkeypatch.setattr(operations, "drain", lambda door, names, reason: asked.append((list(names), reason)))
    page = look(f"{NODES}?q=slinky")
    expect(page.get_by_role("button", name="Drain")).to_be_disabled()
    page.locator("tr[data-key='slinky-0'] input").check()
    page.locator("tr[data-key='slinky-2'] input").click(modifiers=["Shift"])
    page.get_by_role("button", name="Drain").click()
    dialog = page.get_by_role("dialog", name="Drain 3 nodes")
    expect(dialog).to_contain_text("4127 train-70b")
    expect(dialog.get_by_label("Reason")).to_be_focused()
    page.keyboard.type("XID 79")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{NODES}?q=slinky")
    expect(page.get_by_text("are being drained")).to_be_visible()
    assert asked == [(["slinky-0", "slinky-1", "slinky-2"], "XID 79")]


def test_dialog_shows_the_refusal_and_focus_comes_back_on_escape(look: Look) -> None:
    page = look(CLUSTER)
    opener = page.get_by_role("link", name="Scale").first
    opener.click()
    dialog = page.get_by_role("dialog", name="Scale llama-pretrain")
    dialog.get_by_role("button", name="Scale").click()
    expect(dialog).to_contain_text("This changes nothing")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(opener).to_be_focused()


def test_scale_dialog_counts_while_it_is_typed(look: Look, console: Console) -> None:
    page = look(CLUSTER)
    page.get_by_role("link", name="Scale").first.click()
    page.get_by_label("slinky", exact=True).fill("3")
    impact = page.locator("#scale-impact")
    expect(impact).to_contain_text("slinky-3")
    expect(impact).to_contain_text("4131 eval-sweep")
    page.get_by_label("slinky", exact=True).fill("6")
    expect(impact).to_contain_text("slinky-4, slinky-5")
    page.get_by_role("dialog").get_by_role("button", name="Scale").click()
    page.wait_for_url(f"**{CLUSTER}changes/4/")


def test_every_dialog_is_a_page_too(look: Look) -> None:
    page = look(f"{CLUSTER}terminate/")
    expect(page.get_by_role("heading", name="Terminate llama-pretrain")).to_be_visible()
    page.get_by_label("Type llama-pretrain to confirm").fill("wrong")
    page.get_by_role("button", name="Terminate, ending 3 jobs").click()
    expect(page.get_by_text("That is not the name")).to_be_visible()


def test_ssh_command_is_copied(look: Look, console: Console) -> None:
    page = look(CLUSTER)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=console.url)
    page.get_by_role("button", name="Copy the ssh command").click()
    expect(page.locator(".qd-toast")).to_contain_text("Copied ssh -p 2222")
    assert page.evaluate("navigator.clipboard.readText()") == "ssh -p 2222 root@login.llama.example"


def test_theme_follows_the_system_until_chosen_and_is_kept(look: Look) -> None:
    page = look("/t/research/", theme="dark")
    expect(page.locator("html")).to_have_attribute("data-bs-theme", "dark")
    page.get_by_role("button", name="Theme: follows the system").click()
    expect(page.locator("html")).to_have_attribute("data-bs-theme", "light")
    page.reload()
    expect(page.get_by_role("button", name="Theme: light")).to_be_visible()


def test_spec_beside_the_form_follows_what_is_typed(look: Look) -> None:
    page = look("/t/research/clusters/new/")
    page.get_by_label("Name", exact=True).fill("tiny")
    expect(page.locator("#preview")).to_contain_text("name: tiny")
    page.locator("#id_gpu_nodes").fill("3")
    expect(page.locator("#preview")).to_contain_text("ordinals: [0, 1, 2]")
    page.get_by_label("SSH keys").fill(KEY)
    expect(page.locator("#preview")).to_contain_text("ada@laptop")
    page.locator("#id_gpu_nodes").fill("99")
    expect(page.locator("#preview")).to_contain_text("Ask for 1 to 16 nodes")
    page.get_by_role("button", name="Create cluster").click()
    expect(page.locator("[data-field=gpu_nodes]")).to_contain_text("Ask for 1 to 16 nodes")
    expect(page.get_by_label("SSH keys")).to_have_value(KEY)
    page.locator("#id_gpu_nodes").fill("1")
    page.get_by_role("button", name="Create cluster").click()
    page.wait_for_url("**/t/research/c/tiny/")
    assert Cluster.objects.get(slug="tiny").spec.node_names == ("slinky-0",)


def test_menu_opens_by_key_and_closes_on_escape(look: Look) -> None:
    page = look(CLUSTER)
    page.locator("#cluster-head summary").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("link", name="Scale…")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name="Scale…")).to_be_hidden()


def test_phone_has_its_bar_at_the_bottom_and_dialogs_as_sheets(look: Look) -> None:
    page = look(NODES, size=PHONE)
    bar = page.get_by_role("navigation", name="Main").bounding_box()
    assert bar and bar["y"] > PHONE[1] - 70
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator("tr[data-key='slinky-0'] input").check()
    page.get_by_role("button", name="Drain").click()
    box = page.get_by_role("dialog").bounding_box()
    assert box and abs(box["y"] + box["height"] - PHONE[1]) < 2
