"""The admin site of the demo: for staff alone, mostly to read."""

from urllib.parse import urljoin

import pytest
from playwright.sync_api import expect

from tests.demo.tab import PageOf

PAGES = (
    "clusters/region",
    "clusters/plan",
    "clusters/image",
    "clusters/cluster",
    "clusters/change",
    "console/team",
    "console/user",
)


def test_staff_finds_the_admin_site_in_the_menu_and_everything_in_it(page_of: PageOf) -> None:
    tab = page_of("ada").open("/t/research/")
    tab.page.get_by_label("You: ada").click()
    tab.page.get_by_role("link", name="Admin site").click()
    for page in PAGES:
        tab.open(f"/admin/{page}/")
        expect(tab.page.locator("#result_list tbody tr").first).to_be_visible()


@pytest.mark.parametrize("name", ["lin", "kim"])
def test_others_are_not_let_in(page_of: PageOf, name: str) -> None:
    tab = page_of(name).open("/t/research/")
    tab.page.get_by_label(f"You: {name}").click()
    expect(tab.page.get_by_role("link", name="Admin site")).to_have_count(0)
    answer = tab.page.request.get(urljoin(tab.page.url, "/admin/"))
    assert "app-clusters" not in answer.text() and "result_list" not in answer.text()


def test_cluster_and_change_open_without_an_error(page_of: PageOf) -> None:
    tab = page_of("ada")
    for kind in ("cluster", "change"):
        tab.open(f"/admin/clusters/{kind}/")
        tab.page.locator("#result_list tbody th a, #result_list tbody td a").first.click()
        expect(tab.page.locator("#content h1, #content h2").first).to_be_visible()
