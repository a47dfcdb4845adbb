"""The Slurm configuration page in a real browser: typed, marked, explained, reviewed, applied, and never lost."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from clusters.changes import propose
from clusters.machine import ChangeStatus
from clusters.models import Cluster
from console.models import Membership
from slurm.conf import parse
from slurm.configuration import read
from tests.browser.conftest import PHONE, Console, session_of, until
from tests.browser.test_axe import findings
from tests.slurm.test_bad_configurations import USERS_PART

CONF = "/t/research/c/llama-pretrain/conf/"
Look = Callable[..., Page]


def text(page: Page) -> str:
    return str(page.evaluate("document.getElementById('conf').editor.getValue()"))


def opened(look: Look, **how: object) -> Page:
    """The page once its editor knows the catalogue."""
    page = look(CONF, **how)
    page.wait_for_selector("#conf[data-ready]")
    return page


def place(page: Page, line: str, *, at_end: bool = True) -> None:
    """Put the cursor on the first line that begins so."""
    row = next(n for n, one in enumerate(text(page).split("\n"), 1) if one.startswith(line))
    page.evaluate(
        "row => { const e = document.getElementById('conf').editor; e.focus(); e.gotoLine(row, 0) }", row
    )
    if at_end:
        page.keyboard.press("End")


def write(page: Page, words: str) -> None:
    page.keyboard.type(words)
    page.keyboard.press("Escape")  # closes the completion


def test_a_bad_key_is_seen_at_its_line_fixed_reviewed_and_applied(look: Look, console: Console) -> None:
    page = opened(look)
    place(page, "PriorityWeightAge")
    write(page, "\nKilWait=45")
    problem = page.locator("#conf-problems .note")
    expect(problem).to_contain_text("KilWait is not a key of slurm.conf. Did you mean KillWait?")
    line = text(page).split("\n").index("KilWait=45") + 1
    expect(problem).to_contain_text(f"Line {line}")
    expect(page.locator(".ace_gutter-cell.qd-problem")).to_have_text(str(line))
    problem.get_by_role("button", name="KillWait", exact=True).click()
    expect(page.locator("#conf-problems")).to_be_hidden()
    expect(page.locator("#conf-sum")).to_contain_text(
        "1 line changed · reconfigure is enough, no job is touched"
    )
    page.get_by_role("button", name="Review and apply").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("KillWait is read again by a reconfigure")
    dialog.get_by_role("button", name="Apply").click()
    page.wait_for_url("**/changes/4/")
    expect(page.get_by_role("heading", name="slurm.conf: 1 line")).to_be_visible()
    assert (
        "KillWait=45"
        in Cluster.objects.get(slug="llama-pretrain").revisions.latest("number").parsed.slurm_conf
    )


def test_bad_configurations_are_caught_as_they_are_typed(look: Look) -> None:
    page = opened(look)
    place(page, "PriorityWeightAge")
    for bad, key in USERS_PART.values():
        page.keyboard.press("Control+a")
        page.keyboard.insert_text(f"# ours\n{bad}")
        line = text(page).split("\n").index(bad.split("\n")[-1]) + 1
        problem = page.locator("#conf-problems .note.bad", has_text=key)
        expect(problem).to_contain_text(f"Line {line}")
        expect(page.locator(".ace_gutter-cell.qd-problem")).to_have_text(str(line))
        page.keyboard.press("Control+a")
        page.keyboard.insert_text("# ours")
        expect(page.locator("#conf-problems")).to_be_hidden()


def test_the_review_leads_back_to_the_line_with_the_text_kept(look: Look) -> None:
    page = opened(look)
    place(page, "PriorityWeightAge")
    write(page, "\nFooBar=1")
    page.get_by_role("button", name="Review and apply").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("The cluster would not take this.")
    expect(dialog.get_by_role("button", name="Apply")).to_have_count(0)
    dialog.get_by_role("button", name="Line ").click()
    expect(dialog).to_be_hidden()
    row = page.evaluate("document.getElementById('conf').editor.getCursorPosition().row")
    assert text(page).split("\n")[row] == "FooBar=1"


@pytest.mark.parametrize("act", ["type", "delete", "paste", "cut everything"])
def test_locked_lines_refuse_whatever_way_it_comes(look: Look, act: str) -> None:
    page = opened(look)
    before = text(page)
    place(page, "ClusterName")
    if act == "type":
        page.keyboard.type("x")
    elif act == "delete":
        page.keyboard.press("Control+d")
        page.keyboard.press("Backspace")
    elif act == "paste":
        page.evaluate("document.getElementById('conf').editor.onPaste('Evil=1\\nEvil=2')")
    else:
        page.evaluate("document.getElementById('conf').editor.selection.selectAll()")
        page.keyboard.press("Delete")
    expect(page.locator("#toasts")).to_contain_text("belongs to the platform")
    assert text(page) == before


@pytest.mark.parametrize("keys", ["Alt+ArrowUp", "Alt+ArrowDown", "Alt+Shift+ArrowUp"])
def test_a_line_moved_over_a_marker_is_not_lost(look: Look, keys: str) -> None:
    page = opened(look)
    before = text(page).split("\n")
    place(page, "# scheduling" if keys == "Alt+ArrowUp" else "PriorityWeightAge")
    page.keyboard.press(keys)
    after = text(page).split("\n")
    begin, end = (
        [n for n, line in enumerate(before) if line.startswith(mark)][0] for mark in ("# >>>", "# <<<")
    )
    assert after[: begin + 1] == before[: begin + 1] and after[-(len(before) - end) :] == before[end:]
    assert set(after) == set(before)


def test_select_all_takes_the_own_lines_alone(look: Look) -> None:
    page = opened(look)
    before = text(page).split("\n")
    place(page, "PriorityWeightAge")
    page.keyboard.press("Control+a")
    write(page, "KillWait=33")
    after = text(page).split("\n")
    begin = next(n for n, line in enumerate(before) if line.startswith("# >>>"))
    end = next(n for n, line in enumerate(before) if line.startswith("# <<<"))
    assert after == [*before[: begin + 1], "KillWait=33", *before[end:]]


def test_help_follows_the_cursor_and_says_now_and_then(look: Look) -> None:
    page = opened(look)
    place(page, "PriorityWeightAge")
    page.keyboard.press("Backspace")
    write(page, "1")
    card = page.locator("#conf-help")
    expect(card.get_by_role("heading", name="PriorityWeightAge")).to_be_visible()
    expect(card).to_contain_text("5000 → 5001")
    expect(card).to_contain_text("on reconfigure")
    expect(card).to_contain_text("PriorityType=priority/multifactor")
    place(page, "ClusterName")
    expect(card).to_contain_text("The platform names the cluster")
    place(page, "PartitionName=debug")
    expect(card.get_by_role("link", name="Open the Partitions tab")).to_be_visible()


def test_form_and_text_are_one_document(look: Look) -> None:
    page = opened(look)
    page.get_by_role("tab", name="Form").click()
    page.get_by_role("searchbox", name="Search keys").fill("wait polite")
    expect(page.locator(".conf-field:visible")).to_have_count(1)
    page.get_by_label("KillWait", exact=True).fill("45")
    assert "KillWait=45" in text(page).split("\n")
    page.get_by_role("tab", name="Text").click()
    place(page, "KillWait")
    page.keyboard.press("Backspace")
    write(page, "7")
    page.get_by_role("tab", name="Form").click()
    expect(page.get_by_label("KillWait", exact=True)).to_have_value("47")
    page.get_by_role("button", name="Unset KillWait").click()
    assert "KillWait" not in text(page)
    expect(page.locator("#conf-sum")).to_have_text("Nothing changed yet.")


def test_the_form_says_what_is_wrong_at_the_field(look: Look) -> None:
    page = opened(look)
    page.get_by_role("tab", name="Form").click()
    page.get_by_label("KillWait", exact=True).fill("soon")
    row = page.locator("[data-key='KillWait']")
    expect(row.locator(".problem")).to_contain_text("is not a whole number")
    expect(page.get_by_label("ClusterName", exact=True)).to_be_disabled()
    expect(page.get_by_label("ClusterName", exact=True)).to_have_value("llama-pretrain")


@pytest.mark.parametrize("value", ['a "b', "with # mark", "two words", "back\\slash"])
def test_the_form_writes_values_as_slurm_reads_them(look: Look, value: str) -> None:
    page = opened(look)
    page.get_by_role("tab", name="Form").click()
    field = page.get_by_label("MailDomain", exact=True)
    field.fill(value)
    if '"' in value:
        assert "MailDomain" not in text(page)
        return
    page.get_by_role("tab", name="Text").click()
    page.get_by_role("tab", name="Form").click()
    expect(field).to_have_value(value)
    assert parse(text(page)).get("MailDomain") == value


def test_completion_offers_keys_and_their_words(look: Look) -> None:
    page = opened(look)
    place(page, "PriorityWeightAge")
    page.keyboard.type("\nPreemptM", delay=60)
    popup = page.locator(".ace_autocomplete")
    expect(popup.locator(".ace_line").first).to_contain_text("PreemptMode")
    page.keyboard.press("Enter")
    expect(popup).to_be_hidden()
    page.keyboard.type("REQ", delay=100)
    expect(popup).to_contain_text("REQUEUE")
    page.keyboard.press("Enter")
    assert "PreemptMode=REQUEUE" in text(page).split("\n")


def test_the_diff_shows_the_cost_of_each_line_and_discard_takes_it_back(look: Look) -> None:
    page = opened(look)
    before = text(page)
    place(page, "PriorityWeightAge")
    page.keyboard.press("Backspace")
    write(page, "1\n# a note")
    expect(page.get_by_role("tab", name="Diff 2")).to_be_visible()
    page.get_by_role("tab", name="Diff").click()
    expect(page.locator("#pane-diff .ln.del")).to_have_text("21−PriorityWeightAge=5000")
    expect(page.locator("#pane-diff")).to_contain_text("costs nothing")
    page.get_by_role("button", name="Discard").click()
    expect(page.locator("#conf-sum")).to_have_text("Nothing changed yet.")
    assert text(page) == before


def test_search_works_without_inline_styles(look: Look) -> None:
    page = opened(look)
    place(page, "PriorityWeightAge")
    page.keyboard.press("Control+f")
    box = page.locator(".ace_search")
    expect(box).to_be_visible()
    assert box.evaluate("box => getComputedStyle(box).position") == "absolute"


def test_somebody_elses_change_is_said_and_the_review_shows_both(look: Look, console: Console) -> None:
    page = opened(look)
    place(page, "PriorityWeightAge")
    write(page, "\nKillWait=45")
    console.elsewhere(lambda: _change_by(console, "lin"))
    console.push(refresh=["cluster", "changes"])
    expect(page.locator("#conf-moved")).to_contain_text("Revision 4 became current while you edit")
    page.get_by_role("button", name="Review and apply").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Apply").click()
    expect(dialog).to_contain_text("What became current meanwhile")
    expect(dialog).to_contain_text("What you change")
    dialog.get_by_role("button", name="Put my text on revision 4").click()
    expect(page.get_by_text("Your text, now on top of revision 4.")).to_be_visible()
    page.wait_for_selector("#conf[data-ready]")
    assert "KillWait=45" in text(page)


def _change_by(console: Console, name: str) -> None:
    cluster = Cluster.objects.get(slug="llama-pretrain")
    by = Membership.objects.get(team=console.made.team, user=console.made.users[name])
    change = propose(cluster, cluster.spec.with_partitions(()), base=2, by=by)
    change.status = ChangeStatus.COMMITTED
    change.save()
    Cluster.objects.filter(pk=cluster.pk).update(revision=change.revision)


def test_viewer_reads_and_cannot_type(look: Look) -> None:
    page = opened(look, name="vic")
    before = text(page)
    place(page, "PriorityWeightAge")
    page.keyboard.type("x")
    assert text(page) == before
    expect(page.get_by_text("You can read this, not change it. Needs the role admin")).to_be_visible()
    expect(page.get_by_role("button", name="Review and apply")).to_have_count(0)


def test_without_javascript_the_text_can_be_reviewed_and_applied(browser, console: Console) -> None:
    context = browser.new_context(java_script_enabled=False)
    context.add_cookies([{"name": "sessionid", "value": session_of(console, "ada"), "url": console.url}])
    page = context.new_page()
    page.goto(console.url + CONF)
    area = page.get_by_label("slurm.conf")
    area.fill(area.input_value().replace("PriorityWeightAge=5000", "PriorityWeightAge=6000"))
    page.get_by_role("button", name="Review and apply").click()
    expect(page.get_by_text("A controller started on a copy of this file.")).to_be_visible()
    page.get_by_role("button", name="Apply").click()
    assert page.url.endswith("/changes/4/")
    context.close()


def test_leaving_with_changes_asks_first(look: Look) -> None:
    page = opened(look)
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    place(page, "PriorityWeightAge")
    write(page, "\nKillWait=45")
    page.get_by_role("link", name="Jobs").first.click(no_wait_after=True)
    until(lambda: asked or page.wait_for_timeout(20), "asked before leaving")
    assert asked == ["beforeunload"] and "KillWait=45" in text(page)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_review_has_no_serious_finding(browser, console: Console, theme: str) -> None:
    context = browser.new_context(
        viewport={"width": PHONE[0], "height": PHONE[1]},
        color_scheme=theme,
        bypass_csp=True,
        reduced_motion="reduce",
    )
    context.add_cookies([{"name": "sessionid", "value": session_of(console, "ada"), "url": console.url}])
    page = context.new_page()
    page.goto(console.url + CONF)
    page.wait_for_selector("#conf[data-ready]")
    place(page, "PriorityWeightAge")
    write(page, "\nKillWait=45\nFooBar=1")
    expect(page.locator("#conf-problems .note")).to_be_visible()
    assert not findings(page)
    page.get_by_role("tab", name="Form").click()
    assert not findings(page)
    page.get_by_role("tab", name="Diff").click()
    assert not findings(page)
    page.get_by_role("button", name="Review and apply").click()
    expect(page.get_by_role("dialog")).to_contain_text("would not take")
    assert not findings(page)
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
    context.close()


def test_the_file_on_the_page_is_the_file_that_would_be_written(look: Look, console: Console) -> None:
    assert text(opened(look)) == read(console.made.cluster).text
