"""Whatever Slurm prints, a person types or a file is called: no script of theirs runs in a real browser.

The content security policy is switched off here, so that escaping alone has to hold; with it on, the policy would stop
what slips by.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import cycle
from urllib.parse import quote

import pytest
from django.db import connections
from django.db.models import Model
from django.http import HttpResponse
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Browser, Page, expect

from clusters.finding import Finding, State, as_stored
from clusters.models import Change, ChangeLine, Cluster, Image, Node, Partition, PersonalKey, Plan, Region
from clusters.spec import Logins, LoginUser, to_json
from console import events
from console.models import ApiToken, BrowserSession, Invitation, Team, User
from slurm.models import Job, Recording
from storage.models import Offer, Volume
from tests.browser.conftest import WIDE, Console, session_of
from tests.browser.pages import CLUSTER, every_page, furnish
from tests.seed import KEY, Seed, seed

Aside = Callable[[Callable[[], HttpResponse]], HttpResponse]
pytestmark = pytest.mark.timeout(900)
HERE = "http://console.test/"
OWN = "window.owned=1"
PAYLOADS = (
    f"<img src=x onerror={OWN}>",
    f'"><script>{OWN}</script>',
    f"</script><script>{OWN}</script>",
    f"</title><svg/onload={OWN}>",
    f"' onmouseover={OWN} autofocus onfocus={OWN} x='",
    f'" onfocus={OWN} autofocus x="',
    f"javascript:{OWN}",
    f'</textarea><iframe srcdoc="<script>parent.{OWN[7:]}</script>">',
    f"<!--<img src=x onerror={OWN}>-->",
    "{{ request.user.password }}{% debug %}",
    "\u202e\x1b]0;owned\x07\r\n\t",
)
# One for each way out of where a page might put it: between tags, out of an attribute, as an address.
REFLECTED = (PAYLOADS[1], PAYLOADS[4], PAYLOADS[6])
# A payload with anything before and after it: half an entity, a quote, a byte that HTML reads in its own way.
odd = st.text(st.sampled_from("<>\"'&=/`\\ ;#\n\t\u2028\u202ea-"), max_size=6)
hostile = st.builds(lambda before, text, after: before + text + after, odd, st.sampled_from(PAYLOADS), odd)
# What shows them most: each of these has to answer.
PAGES = (
    "/t/research/", CLUSTER, f"{CLUSTER}nodes/", f"{CLUSTER}nodes/slinky-3/", f"{CLUSTER}jobs/", f"{CLUSTER}jobs/4127/",
    f"{CLUSTER}jobs/cancellation/?job=4127", f"{CLUSTER}nodes/drain/?node=slinky-0", f"{CLUSTER}partitions/",
    f"{CLUSTER}partitions/debug/", f"{CLUSTER}partitions/debug/edit/", f"{CLUSTER}changes/", f"{CLUSTER}changes/3/",
    f"{CLUSTER}changes/2/objects/", f"{CLUSTER}changes/1/rollback/", f"{CLUSTER}conf/", f"{CLUSTER}conf/?from=3",
    f"{CLUSTER}people/", f"{CLUSTER}people/grant/?name=mo", "/t/research/members/role/?name=vic",
    "/t/research/members/removal/?name=vic", "/t/research/members/slurm-users/?name=vic", f"{CLUSTER}users/",
    f"{CLUSTER}scripts/", f"{CLUSTER}scripts/worker_prolog/",
    f"{CLUSTER}image/", f"{CLUSTER}volumes/", f"{CLUSTER}terminate/",
    f"{CLUSTER}restart/workers/", "/t/research/c/asr-nightly/",
    "/t/research/clusters/new/?from=llama-pretrain", "/t/research/jobs/", "/t/research/nodes/", "/t/research/volumes/",
    "/t/research/activity/", "/t/research/members/", "/t/research/recordings/", "/profile/", "/profile/sessions/",
    "/teams/", "/regions/", "/regions/lab/", "/admin/console/event/", "/admin/clusters/cluster/",
)  # fmt: skip
LOOK = """() => [...document.querySelectorAll("*")].flatMap((element) => [...element.attributes]
  .filter((one) => /^on/i.test(one.name)
    || (/^(href|src|action|formaction)$/i.test(one.name) && /^\\s*javascript:/i.test(one.value)))
  .map((one) => element.tagName + " " + one.name))"""


# The free fields of what pages show: Slurm's, the platform's and people's to choose.
FREE: dict[type[Model], tuple[str, ...]] = {
    Job: ("name", "reason", "why", "user", "account", "qos", "comment", "work_dir", "dependency", "nodes"),
    Node: ("reason", "reason_by", "machine", "version"),
    Partition: ("state", "nodes"),
    Change: ("summary", "why"),
    ChangeLine: ("text",),
    Cluster: ("observed_drift", "status_why"),
    Region: ("name",), Plan: ("name", "gpu_model", "fabric"), Image: ("name",), Offer: ("name",),
    Volume: ("phase_why", "storage_class"),
    Team: ("name",), User: ("first_name", "last_name"), PersonalKey: ("comment",), ApiToken: ("name",),
    Invitation: ("email",), Recording: ("who",), BrowserSession: ("browser",),
}  # fmt: skip


def plant(texts: list[str]) -> None:
    """The texts into every free field, as far as each holds them."""
    turn = cycle(texts)
    for model, names in FREE.items():
        for row in model._default_manager.all():
            for name in names:
                most = getattr(model._meta.get_field(name), "max_length", None)
                setattr(row, name, next(turn).replace("\0", "")[:most])
            row.save(update_fields=names)
    for cluster in Cluster.objects.all():
        found = [{**part, "detail": next(turn), "name": next(turn)} for part in cluster.parts]
        Cluster.objects.filter(pk=cluster.pk).update(parts=found)
    problem = {"path": "slurm_conf", "line": 4, "blocking": True}
    for change in Change.objects.all():
        change.problems = [{**problem, "message": text, "hint": next(turn)} for text in texts]
        change.save()


def record(made: Seed, texts: list[str]) -> User:
    """As if the texts had been done, found, and done to. Ada, who may see all of it."""
    ada = furnish(made)
    for text in texts:
        clean = text.replace("\0", "")
        events.record(
            "job.cancel", by=ada, team=made.team, cluster=clean[:40], target=clean, detail={"why": clean}
        )
    found = [Finding("api", text, State.BAD, text, text, (text,), (text,)) for text in texts]
    Region.objects.filter(slug="lab").update(readiness=as_stored(found))
    return ada


def conf_of(texts: Sequence[str]) -> str:
    """A slurm.conf with the texts as values, in quotes, as keys, in and before comments; a line holds no control."""
    lines = ["".join(mark for mark in text if mark.isprintable()) for text in texts]
    return "".join(
        f'{key}={line}\nMailDomain="{line}"\n{line}=1\n# {line}\nKillWait=30 # {line}\n'
        for key, line in zip(cycle(("SchedulerParameters", "PrologFlags", "Comment")), lines, strict=False)
    )


def revise(cluster: Cluster, texts: list[str]) -> None:
    """The texts into what a specification may say, other ones in each revision, so that differences show them, too."""
    turn = cycle(texts)
    for number, revision in enumerate(cluster.revisions.order_by("number")):
        spec = revision.parsed
        user = LoginUser("mo", 20_001, groups=(next(turn),))
        spec = replace(
            spec,
            slurm_conf=conf_of(texts[number:]),
            ssh_keys=tuple(f"{KEY.rpartition(' ')[0]} {' '.join(text.split())}" for text in texts),
            logins=Logins(on=True, users=(user,)),
        )
        revision.spec = to_json(spec)
        revision.save()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": WIDE[0], "height": WIDE[1]}, bypass_csp=True)
    yield context.new_page()
    context.close()


@pytest.fixture
def aside(db: None) -> Iterator[Aside]:
    """Acts in a thread that shares this one's transaction: some views run an event loop, as Playwright does here."""
    shared = connections["default"]
    shared.inc_thread_sharing()

    def begin() -> None:
        connections["default"] = shared

    with ThreadPoolExecutor(1, initializer=begin) as pool:
        yield lambda act: pool.submit(act).result(60)
    shared.dec_thread_sharing()


def show(page: Page, html: bytes) -> None:
    """The page as Chromium reads it from a server, by itself: what it would fetch is not there."""
    page.unroute_all()
    page.route("**/*", lambda route: route.abort())
    page.route(HERE, lambda route: route.fulfill(body=html, content_type="text/html; charset=utf-8"))
    page.goto(HERE)


def hostile_console(texts: list[str]) -> Client:
    """Signed in as Ada, owner and platform staff, over rows full of the texts."""
    made = seed()
    ada = record(made, texts)
    plant(texts)
    revise(made.cluster, texts)
    client = Client()
    client.force_login(ada)
    return client


def asked(texts: Sequence[str]) -> Iterator[str]:
    """Addresses that hold the texts, where a page may say again what it was asked for."""
    for text in texts:
        query, part = quote(text, safe=""), quote(" ".join(text.split()).replace("/", ""), safe="")
        for path in ("jobs/", "nodes/", "jobs/new/", "changes/"):
            yield f"{CLUSTER}{path}?q={query}&user={query}&state={query}&sort={query}&name={query}"
        yield f"/t/research/activity/?q={query}&who={query}&verb={query}&since={query}"
        yield f"/t/research/members/role/?name={query}"
        yield f"{CLUSTER}users/keys/removal/?fingerprint={query}"
        yield f"/sign-in/?next={query}"
        for path in ("jobs", "nodes", "partitions", "scripts", "accounting/accounts", "restart", "users/of"):
            yield f"{CLUSTER}{path}/{part}/"
        yield f"/{part}/"


def typed(texts: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Forms that show again what was typed."""
    conf = conf_of(texts)
    for step in ("check", "review", "apply"):
        yield f"{CLUSTER}conf/{step}/", {"text": conf, "base": "2"}
    yield f"{CLUSTER}conf/", {"text": conf, "base": "1"}
    for text in texts:
        yield f"{CLUSTER}jobs/new/", {"script": f"#!/bin/sh\n#SBATCH -J {text}\n{text}", "name": text}
        yield f"{CLUSTER}partitions/new/", {"name": text, "nodes": text, "allow_accounts": text}
        yield f"{CLUSTER}scripts/worker_prolog/review/", {"text": text, "base": "2"}
        yield f"{CLUSTER}users/keys/new/", {"key": text, "base": "2"}
        yield "/profile/ssh-keys/new/", {"key": text}
        yield "/t/research/clusters/new/", {"name": text, "image": text, "slurm_conf": text}


def shown_in(answer: HttpResponse) -> bytes:
    """What a browser would make elements of: the page, or the HTML that a script asked for in JSON."""
    kind = "" if answer.streaming else answer.headers.get("Content-Type", "")
    if kind.startswith("application/json"):
        found = json.loads(answer.content)
        return str(found.get("diff", "")).encode() if isinstance(found, dict) else b""
    return bytes(answer.content) if "text/html" in kind else b""


def harmed(page: Page, path: str, answer: HttpResponse) -> list[str]:
    html = shown_in(answer)
    if not html:
        return []
    show(page, html)
    owned = ["a script ran"] if page.evaluate("window.owned") is not None else []
    return [f"{path}: {what}" for what in (*owned, *page.evaluate(LOOK))]


@settings(
    max_examples=2, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(st.lists(hostile, min_size=len(PAYLOADS), max_size=16))
def test_no_script_runs_whatever_slurm_prints(aside: Aside, page: Page, texts: list[str]) -> None:
    client = hostile_console(texts)
    wrong: list[str] = []
    for path in PAGES:
        answer = aside(partial(client.get, path))
        assert answer.status_code == 200, (path, answer.status_code)
        wrong += harmed(page, path, answer)
    assert not wrong, "\n".join(wrong)


def test_no_script_runs_on_any_other_page_nor_whatever_is_asked_for(aside: Aside, page: Page) -> None:
    client = hostile_console(list(PAYLOADS))
    wrong: list[str] = []
    for path in (*every_page(), *asked(REFLECTED)):
        answer = aside(partial(client.get, path))
        assert answer.status_code < 500 or answer.status_code == 503, (path, answer.status_code)
        wrong += harmed(page, path, answer)
    assert not wrong, "\n".join(wrong)


def test_no_script_runs_whatever_is_typed(aside: Aside, page: Page) -> None:
    client = hostile_console(list(PAYLOADS))
    wrong: list[str] = []
    for path, fields in typed(REFLECTED):
        answer = aside(partial(client.post, path, fields))
        assert answer.status_code in (200, 409, 422), (path, answer.status_code)
        wrong += harmed(page, f"POST {path}", answer)
    assert not wrong, "\n".join(wrong)


def test_the_trap_itself_works(page: Page) -> None:
    """Unescaped, the first payload would have been seen."""
    show(page, f"<!doctype html><title>x</title>{PAYLOADS[0]}".encode())
    page.wait_for_function("window.owned === 1")
    assert page.evaluate(LOOK) == ["IMG onerror"]


# Where our own scripts make elements of what they were sent: the editor, its form, its problems and differences.
SCRIPTED = (
    CLUSTER, f"{CLUSTER}jobs/", f"{CLUSTER}jobs/4127/", f"{CLUSTER}jobs/new/", f"{CLUSTER}nodes/slinky-3/",
    f"{CLUSTER}changes/3/", f"{CLUSTER}scripts/worker_prolog/", f"{CLUSTER}terminal/",
    f"{CLUSTER}partitions/debug/edit/", "/t/research/activity/", "/profile/",
)  # fmt: skip


def test_no_script_runs_where_ours_do(browser: Browser, console: Console) -> None:
    record(console.made, list(PAYLOADS))
    plant(list(PAYLOADS))
    revise(console.made.cluster, list(PAYLOADS))
    context = browser.new_context(viewport={"width": WIDE[0], "height": WIDE[1]}, bypass_csp=True)
    context.add_cookies([{"name": "sessionid", "value": session_of(console, "ada"), "url": console.url}])
    page = context.new_page()
    for path in SCRIPTED:
        page.goto(console.url + path, wait_until="networkidle")
        assert page.evaluate("window.owned") is None, path
        assert page.evaluate(LOOK) == [], path
    page.goto(f"{console.url}{CLUSTER}conf/?from=3", wait_until="networkidle")
    expect(page.locator("#conf-sum")).not_to_have_text("Nothing changed yet.")
    page.get_by_role("tab", name="Form").click()
    page.get_by_role("tab", name="Text").click()
    for mark in page.locator(".ace_gutter-cell.ace_error").all()[:3]:
        mark.hover()
        expect(page.locator(".ace_tooltip").first).to_be_visible()
    assert page.evaluate("window.owned") is None
    assert page.evaluate(LOOK) == []
    context.close()
