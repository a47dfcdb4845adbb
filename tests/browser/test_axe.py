"""axe-core over every page of clusters, nodes and people, wide and phone, light and dark: no serious finding."""

from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import settings
from django.utils import timezone
from playwright.sync_api import Browser, Page

from clusters.finding import Finding, State, as_stored
from clusters.models import Region
from console import events
from console.models import User
from console.tokens import make_token
from tests.browser.conftest import PHONE, WIDE, Console, session_of

# Every page four times: minutes on a busy machine.
pytestmark = pytest.mark.timeout(900)
AXE = Path(settings.BASE_DIR, "static", "vendor", "axe", "axe.min.js")
CLUSTER = "/t/research/c/llama-pretrain/"
PAGES = (
    "/t/research/members/",
    "/t/research/members/add/",
    "/t/research/members/role/?name=mo",
    "/t/research/members/removal/?name=mo",
    "/t/research/activity/",
    "/profile/",
    "/profile/tokens/new/",
    "/t/research/",
    "/t/research/clusters/new/?from=llama-pretrain",
    CLUSTER,
    "/t/research/c/vision-lab/",
    "/t/research/c/asr-nightly/",
    "/t/research/c/old-sweeps/",
    f"{CLUSTER}nodes/",
    f"{CLUSTER}nodes/slinky-3/",
    f"{CLUSTER}nodes/drain/?node=slinky-0",
    f"{CLUSTER}nodes/reboot/?node=slinky-0",
    f"{CLUSTER}partitions/debug/",
    f"{CLUSTER}partitions/new/",
    f"{CLUSTER}partitions/debug/edit/",
    f"{CLUSTER}partitions/debug/deletion/",
    f"{CLUSTER}changes/",
    f"{CLUSTER}changes/3/",
    f"{CLUSTER}changes/3/objects/",
    f"{CLUSTER}changes/1/objects/",
    f"{CLUSTER}changes/1/rollback/",
    f"{CLUSTER}scale/?slinky=2",
    f"{CLUSTER}restart/workers/",
    f"{CLUSTER}terminate/",
    f"{CLUSTER}jobs/",
    f"{CLUSTER}jobs/4127/",
    f"{CLUSTER}jobs/new/",
    f"{CLUSTER}partitions/",
    f"{CLUSTER}conf/",
    "/t/research/jobs/",
    "/t/research/nodes/",
    "/t/research/c/nothing/",
    "/regions/",
    "/regions/new/",
    "/regions/new/?provisioner=slinky",
    "/regions/lab/",
    "/regions/lab/settings/",
    "/regions/lab/credentials/",
    "/regions/lab/standing/",
    "/sign-in/",
)
# Of a region that lacks something, with all that a finding can carry.
FOUND = (
    Finding("api", "API server", State.OK, "It answers."),
    Finding("gpus", "GPUs", State.WARN, "None is free.", "Wait.", ("a: 0 of 8",), ("kubectl get nodes",)),
    Finding("images", "Images", State.UNKNOWN, "Not run here yet."),
    Finding("rights", "Permissions", State.BAD, "1 is missing.", "Apply the role."),
)
Look = Callable[..., Page]


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


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
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
    make_token(made.users["ada"], "nightly training")
    Region.objects.filter(slug="lab").update(readiness=as_stored(FOUND), readiness_at=timezone.now())
    User.objects.filter(username="ada").update(is_staff=True)
    page = context.new_page()
    wrong: list[str] = []
    for path in PAGES:
        if path != "/sign-in/":
            context.add_cookies(
                [{"name": "sessionid", "value": session_of(console, "ada"), "url": console.url}]
            )
        else:
            context.clear_cookies()
        page.goto(console.url + path)
        wrong += [f"{path}: {line}" for line in findings(page)]
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wrong.append(f"{path}: wider than the screen")
    context.close()
    assert not wrong, "\n".join(wrong)
