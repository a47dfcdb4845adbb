"""Signing in and out of the demo, with what `run.json` says."""

import re

import pytest
from playwright.sync_api import expect

from tests.demo.console import DemoConsole
from tests.demo.tab import PageOf, sign_in


def test_run_json_is_for_its_owner_alone_and_names_a_person_of_each_role(console: DemoConsole) -> None:
    assert (console.var / "run.json").stat().st_mode & 0o777 == 0o600
    assert console.run["url"] == console.url
    roles = {user["role"] for user in console.run["users"].values()}
    assert roles == {"viewer", "member", "operator", "admin", "owner"}


def test_password_of_run_json_leads_to_the_page_that_was_asked_for(
    console: DemoConsole, page_of: PageOf, size: str
) -> None:
    tab = page_of(size=size).open("nodes/")
    expect(tab.page).to_have_url(re.compile(r"/sign-in/\?next="))
    tab.expect_sound()
    sign_in(tab.page, "ada", "wrong")
    tab.see("[role=alert].note", "do not belong together")
    expect(tab.page.get_by_label("Name")).to_have_value("ada")
    sign_in(tab.page, "ada", console.run["users"]["ada"]["password"])
    tab.page.wait_for_url("**/c/demo/nodes/")
    tab.expect_live()


def test_signing_out_ends_the_session(page_of: PageOf, console: DemoConsole) -> None:
    tab = page_of().open("/sign-in/")
    sign_in(tab.page, "kim", console.run["users"]["kim"]["password"])
    tab.page.get_by_label("You: kim").click()
    tab.page.get_by_role("button", name="Sign out").click()
    tab.page.wait_for_url("**/sign-in/**")
    tab.open()
    expect(tab.page).to_have_url(re.compile("/sign-in/"))


@pytest.mark.parametrize("name", ["ada", "lin", "noor", "mo", "kim"])
def test_each_person_of_the_demo_signs_in_and_sees_the_cluster(page_of: PageOf, name: str) -> None:
    tab = page_of(name).open("/t/research/")
    row = tab.page.get_by_role("row").filter(has_text="demo")
    expect(row).to_contain_text("Running")
