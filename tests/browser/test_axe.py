"""axe-core over every page, wide and light, on a phone and dark: no serious finding."""

import time
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import Browser, Page

from console import events
from console.admission import CONFIRMED
from tests.browser.conftest import PHONE, WIDE, Console
from tests.browser.pages import CLUSTER, furnish, pages_shown_to

# Every page twice: minutes on a busy machine.
pytestmark = pytest.mark.timeout(900)
AXE = Path(settings.BASE_DIR, "static", "vendor", "axe", "axe.min.js")
# Pages that ask for more than their address, and clusters in another state; `every_page` finds the others.
PAGES = (
    "/t/research/members/role/?name=mo",
    "/t/research/members/removal/?name=mo",
    "/t/research/members/slurm-users/?name=mo",
    f"{CLUSTER}people/grant/?name=mo",
    f"{CLUSTER}people/withdrawal/?name=mo",
    "/t/research/clusters/new/?from=llama-pretrain",
    "/t/research/c/vision-lab/",
    "/t/research/c/asr-nightly/",
    "/t/research/c/old-sweeps/",
    f"{CLUSTER}nodes/drain/?node=slinky-0",
    f"{CLUSTER}nodes/reboot/?node=slinky-0",
    f"{CLUSTER}changes/1/objects/",
    f"{CLUSTER}changes/1/rollback/",
    f"{CLUSTER}scale/?slinky=2",
    f"{CLUSTER}scripts/worker_prolog/",
    f"{CLUSTER}jobs/cancellation/?job=4127",
    "/t/research/volumes/sweeps-2029/deletion/",
    f"{CLUSTER}volumes/mount/?volume=sweeps-2029&path=/old",
    "/t/research/c/nothing/",
    "/regions/new/?provisioner=slinky",
    "/sign-in/",
)


def findings(page: Page) -> list[str]:
    """Serious and critical ones, one line each."""
    page.add_script_tag(path=str(AXE))
    result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{found['id']}: {node['html'][:160]} {node['failureSummary'][:200]}"
        for found in result["violations"]
        if found["impact"] in ("serious", "critical")
        for node in found["nodes"]
    ]


# Colours are a theme's and layout is a size's: two looks at each page see all four.
@pytest.mark.parametrize(("size", "theme"), [(WIDE, "light"), (PHONE, "dark")], ids=["wide", "phone"])
def test_pages_have_no_serious_finding(
    browser: Browser, console: Console, size: tuple[int, int], theme: str
) -> None:
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme=theme,  # type: ignore[arg-type]
        bypass_csp=True,
        reduced_motion="reduce",
    )
    made = console.made
    events.record(
        "node.drain", by=made.users["ops"], team=made.team, cluster="llama-pretrain", target="slinky-3",
        detail={"reason": "XID 79"}, address="192.0.2.7",
    )  # fmt: skip
    client = Client()
    client.force_login(furnish(made))
    session = client.session
    session[CONFIRMED] = time.time()
    session.save()
    cookie = {"name": "sessionid", "value": str(session.session_key), "url": console.url}
    page = context.new_page()
    wrong: list[str] = []
    for path in (*pages_shown_to(client), *PAGES):
        if path != "/sign-in/":
            context.add_cookies([cookie])  # type: ignore[list-item]
        else:
            context.clear_cookies()
        page.goto(console.url + path)
        wrong += [f"{path}: {line}" for line in findings(page)]
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wrong.append(f"{path}: wider than the screen")
    context.close()
    assert not wrong, "\n".join(wrong)
