"""slurm.conf of the demo, edited in the dialog: caught while typed, tried by a shadow, applied, or rolled back."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.demo.console import CLUSTER, DemoConsole, until
from tests.demo.tab import PageOf, Tab

# Nothing but the daemon itself knows that it lacks the plugin.
DEADLY = "SwitchType=switch/hpe_slingshot"
EDITOR = "document.getElementById('conf').editor"


@pytest.fixture(autouse=True)
def settings_as_before(console: DemoConsole) -> Iterator[str]:
    console.settle()
    before = console.get("/slurm-conf").body["settings"]
    yield before
    console.settle()
    now = console.get("/slurm-conf").body
    if now["settings"] != before:
        answer = console.ask("PUT", f"{CLUSTER}/slurm-conf", {"settings": before, "base": now["revision"]})
        assert answer.status == 202 and console.settle()["status"] == "committed"


def editor(tab: Tab) -> Tab:
    tab.open("conf/").page.wait_for_selector("#conf[data-ready]")
    return tab


def text(tab: Tab) -> list[str]:
    return str(tab.page.evaluate(f"() => {EDITOR}.getValue()")).split("\n")


def add(tab: Tab, line: str) -> None:
    """Type a line at the end of the user's block, as hands do."""
    last = next(number for number, one in enumerate(text(tab), 1) if one.startswith("# <<<")) - 1
    tab.page.evaluate(f"row => {{ {EDITOR}.focus(); {EDITOR}.gotoLine(row, 0) }}", last)
    tab.page.keyboard.press("End")
    tab.page.keyboard.insert_text(f"\n{line}")
    tab.page.keyboard.press("Escape")


def applied(console: DemoConsole, key: str) -> str:
    """What the running controller says of a key: asked in a job of the cluster."""
    number = console.submit(
        f"#SBATCH --job-name=trial-ask --partition=cpu-workers --time=2 --output=/shared/asked-{key}\n"
        f"scontrol show config | grep -i '^{key} '"
    )
    until(lambda: console.job(number).get("state") == "COMPLETED", "the job has asked", within_s=30)
    [found] = console.var.glob(f"volumes/*/asked-{key}")
    return found.read_text()


def test_bad_key_is_seen_at_its_line_fixed_reviewed_and_applied(
    console: DemoConsole, page_of: PageOf, size: str
) -> None:
    value = {"wide": "45", "phone": "46"}[size]
    jobs = {job["job_id"] for job in console.get("/jobs?q=state:running+gpus:>3").body["results"]}
    tab = editor(page_of("lin", size))
    add(tab, f"MesageTimeout={value}")
    line = text(tab).index(f"MesageTimeout={value}") + 1
    problem = tab.see(
        "#conf-problems .note", "MesageTimeout is not a key of slurm.conf. Did you mean MessageTimeout?"
    )
    expect(problem).to_contain_text(f"Line {line}")
    expect(tab.page.locator(".ace_gutter-cell.qd-problem")).to_have_text(str(line))
    tab.expect_sound()
    problem.get_by_role("button", name="MessageTimeout", exact=True).click()
    expect(tab.page.locator("#conf-problems")).to_be_hidden()
    tab.page.get_by_role("button", name="Review and apply").click()
    expect(tab.dialog).to_contain_text("A controller started on a copy of this file.")
    expect(tab.dialog).to_contain_text("MessageTimeout")
    tab.expect_sound()
    tab.dialog.get_by_role("button", name="Apply").click()
    tab.page.wait_for_url(re.compile(r"/changes/\d+/$"))
    expect(tab.page.locator(".live-body .qd-panel").first).to_contain_text("committed", timeout=60_000)
    assert value in applied(console, "MessageTimeout")
    assert {job["job_id"] for job in console.get("/jobs?q=state:running+gpus:>3").body["results"]} == jobs


def test_what_only_the_daemon_knows_comes_back_from_the_shadow_at_its_line(
    console: DemoConsole, page_of: PageOf
) -> None:
    before = console.get("/changes?limit=1").body["results"][0]["number"]
    tab = editor(page_of("lin"))
    add(tab, DEADLY)
    line = text(tab).index(DEADLY) + 1
    tab.page.get_by_role("button", name="Review and apply").click()
    expect(tab.dialog).to_contain_text("The cluster would not take this.")
    expect(tab.dialog).to_contain_text("switch/hpe_slingshot")
    expect(tab.dialog.get_by_role("button", name="Apply")).to_have_count(0)
    tab.dialog.get_by_role("button", name=f"Line {line}").click()
    expect(tab.dialog).to_have_count(0)
    assert DEADLY in text(tab), "what was typed is still there"
    assert console.get("/changes?limit=1").body["results"][0]["number"] == before


def test_file_that_kills_the_controller_is_rolled_back_with_its_words_and_jobs_go_on(
    console: DemoConsole, page_of: PageOf, settings_as_before: str
) -> None:
    jobs = {job["job_id"] for job in console.get("/jobs?q=state:running+gpus:>3").body["results"]}
    revision = console.get("").body["revision"]
    change = console.run_unchecked(f"{settings_as_before.rstrip()}\n{DEADLY}\n")
    assert change["status"] == "rolled back", change
    assert console.get("").body["revision"] == revision
    tab = page_of("lin").open(f"changes/{change['number']}/")
    tab.see(".live-body", "rolled back")
    tab.see(".live-body", "switch/hpe_slingshot")
    tab.see(".live-body", f"Revision {revision} is still what the cluster runs")
    excerpt = tab.see(".live-body", "# <<< Your settings end here")
    expect(excerpt).to_contain_text(re.compile(rf"\d+\s*{DEADLY}"))
    tab.page.get_by_text("Go on with this text").click()
    tab.page.wait_for_selector("#conf[data-ready]")
    assert DEADLY in text(tab), "the text is not lost"
    until(lambda: console.get("").body["observed_problem"] == "", "the controller answers", within_s=20)
    assert {job["job_id"] for job in console.get("/jobs?q=state:running+gpus:>3").body["results"]} == jobs


def test_locked_line_refuses_the_key_and_says_why(page_of: PageOf) -> None:
    tab = editor(page_of("lin"))
    before = text(tab)
    row = next(number for number, one in enumerate(before, 1) if one.startswith("AuthType"))
    tab.page.evaluate(f"row => {{ {EDITOR}.focus(); {EDITOR}.gotoLine(row, 3) }}", row)
    tab.page.keyboard.type("x")
    tab.see("#toasts", "belongs to the platform")
    assert text(tab) == before


def test_form_and_text_are_one_document(page_of: PageOf) -> None:
    tab = editor(page_of("lin"))
    add(tab, "InactiveLimit=77")
    tab.page.get_by_role("tab", name="Form").click()
    search = tab.page.locator("#pane-form input[type=search]")
    search.fill("InactiveLimit")
    field = tab.page.locator("#pane-form").get_by_label(re.compile("^InactiveLimit")).first
    expect(field).to_have_value("77")
    field.fill("88")
    tab.page.get_by_role("tab", name="Text").click()
    until(lambda: "InactiveLimit=88" in text(tab), "the text follows the form")
    tab.page.get_by_role("tab", name="Diff").click()
    tab.see("#pane-diff", "InactiveLimit=88")


def test_operator_reads_it_and_learns_why_not_more(page_of: PageOf, size: str) -> None:
    tab = page_of("noor", size).open("conf/")
    tab.see(".conf-notice[role=note]", "Needs the role admin")
    expect(tab.page.get_by_role("button", name="Review and apply")).to_have_count(0)
    tab.expect_sound()
