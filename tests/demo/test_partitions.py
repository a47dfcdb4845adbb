"""Partitions of the demo: the platform's are locked; own ones are added, edited and deleted, and Slurm has them."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.demo.console import CLUSTER, DemoConsole, until
from tests.demo.tab import PageOf, Tab

PLATFORM = {"all", "slinky", "cpu-workers", "llm", "vision"}


def own(console: DemoConsole) -> list[str]:
    found = console.get("/partitions").body["results"]
    return [partition["name"] for partition in found if partition["name"] not in PLATFORM]


@pytest.fixture(autouse=True)
def no_own_partition(console: DemoConsole) -> Iterator[None]:
    console.settle()
    yield
    console.settle()
    for name in own(console):
        base = console.get("").body["revision"]
        assert console.ask("DELETE", f"{CLUSTER}/partitions/{name}?base={base}").status == 202
        console.settle()


def follow(tab: Tab) -> None:
    tab.page.wait_for_url(re.compile(r"/changes/\d+/$"))
    expect(tab.page.locator(".live-body .qd-panel").first).to_contain_text("committed", timeout=60_000)


def test_platform_s_partitions_are_locked_with_the_reason(page_of: PageOf, size: str) -> None:
    tab = page_of("lin", size).open("partitions/")
    for name in PLATFORM:
        row = tab.page.locator(f"#partition-{name}")
        expect(row).to_contain_text("UP")
        expect(row.locator(".lock")).to_have_attribute("title", re.compile(r"\w{4}"))
        expect(row.get_by_role("link", name="Edit")).to_have_count(0)
    tab.expect_sound()


def test_partition_is_added_with_live_feedback_used_edited_and_deleted(
    console: DemoConsole, page_of: PageOf, size: str
) -> None:
    tab = page_of("lin", size).open("partitions/")
    tab.page.get_by_role("link", name="Add partition").click()
    dialog = tab.dialog
    dialog.get_by_label("Name", exact=True).fill("trial")
    dialog.get_by_label("Nodes", exact=True).fill("slinky-[1-9]")
    expect(dialog.locator("#id_nodes-about .problem")).to_contain_text("slinky-4")
    dialog.get_by_label("Nodes", exact=True).fill("slinky-[1-3]")
    expect(dialog.locator("#id_nodes-about .problem")).to_have_count(0)
    expect(dialog.locator(".sum")).to_contain_text("24 GPUs")
    dialog.get_by_label("Longest job").fill("2h")
    expect(dialog.locator("pre.line")).to_contain_text("PartitionName=trial Nodes=slinky-[1-3]")
    tab.expect_sound()
    dialog.get_by_role("button", name="Add partition").click()
    follow(tab)
    until(lambda: "trial" in own(console), "the controller has it", within_s=20)
    number = console.submit("#SBATCH --job-name=trial-in --partition=trial --time=10\nsleep 300")
    until(lambda: console.job(number).get("state") == "RUNNING", "a job runs in it", within_s=20)
    tab.open("partitions/")
    tab.see("#partition-trial", "UP")
    tab.page.get_by_role("link", name="Edit trial").click()
    tab.dialog.get_by_label("Nodes", exact=True).fill("slinky-[2-3]")
    tab.dialog.get_by_role("button", name="Save").click()
    follow(tab)
    tab.open("partitions/")
    tab.see("#partition-trial", "slinky-[2-3]")
    tab.page.get_by_role("link", name="Delete trial").click()
    expect(tab.dialog.get_by_role("button", name="Delete, ending 1 job")).to_be_visible()
    expect(tab.dialog).to_contain_text("trial-in")
    tab.expect_sound()
    tab.dialog.get_by_role("button", name="Delete").click()
    follow(tab)
    until(lambda: own(console) == [], "it is gone", within_s=20)
    until(lambda: console.job(number)["state"] == "NODE_FAIL", "its job has ended, as was said", within_s=20)


@pytest.mark.parametrize("name", ["default", "all", "llm", "no such name"])
def test_name_that_slurm_or_the_platform_takes_is_refused_at_its_field(page_of: PageOf, name: str) -> None:
    tab = page_of("lin").open("partitions/new/")
    tab.page.get_by_label("Name", exact=True).fill(name)
    tab.page.get_by_label("Nodes", exact=True).fill("slinky-0")
    tab.page.get_by_role("button", name="Add partition").click()
    expect(tab.page.locator("#id_name-about .problem")).to_be_visible()
    tab.complaints[:] = [text for text in tab.complaints if "422" not in text]


def test_operator_sees_them_and_why_there_is_nothing_to_press(page_of: PageOf) -> None:
    tab = page_of("noor").open("partitions/")
    expect(tab.page.get_by_role("button", name="Add partition")).to_be_disabled()
    tab.see(".live-body", "Needs the role admin")
