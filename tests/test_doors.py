"""Every route and every socket has a declared action, and every role meets it as the table says."""

from collections.abc import Iterator

import pytest
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from clusters.identities import identify
from clusters.spec import Logins, LoginUser
from console.access import PUBLIC, SIGNED_IN, STAFF
from console.models import Membership, User
from console.roles import Action, Role, may
from console.sockets import websocket_urlpatterns
from storage.models import Volume
from tests.cast import Cast, a_node, person, the_cast, tiny_cluster, tiny_spec

FOREIGN = ("admin/", "api/schema/", "api/docs/")


def routes(patterns: list[URLPattern | URLResolver], prefix: str = "") -> Iterator[tuple[str, URLPattern]]:
    for pattern in patterns:
        path = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, path)
        else:
            yield path, pattern


def own_routes() -> list[tuple[str, URLPattern]]:
    return [(path, p) for path, p in routes(get_resolver().url_patterns) if not path.startswith(FOREIGN)]


def declared(pattern: URLPattern) -> set[object]:
    """What the view asks for: a function's or a class's `action`, or an API class's `actions` by method."""
    view = pattern.callback
    known = getattr(view, "cls", None) or getattr(view, "view_class", None) or view
    if getattr(known, "actions", None):
        return set(known.actions.values())
    return {getattr(known, "action", None)}


@pytest.mark.parametrize(("path", "pattern"), own_routes(), ids=[path for path, _ in own_routes()])
def test_route_declares_its_action(path: str, pattern: URLPattern) -> None:
    actions = declared(pattern)
    assert actions and all(isinstance(a, Action) or a in (PUBLIC, SIGNED_IN, STAFF) for a in actions), (
        f"{path}: {actions}"
    )


def test_every_socket_declares_its_action() -> None:
    consumers = [route.callback.consumer_class for route in websocket_urlpatterns]
    assert consumers
    assert all(isinstance(consumer.action, Action) for consumer in consumers)


FILLED = {"<slug:team>": "research", "<slug:cluster>": "tiny", "<int:number>": "1"}
FILLED |= {"<str:job>": "7", "<str:job_id>": "7", "<str:part>": "login", "<str:member>": "mo"}
FILLED |= {"<str:upload>": "0" * 32, "<slug:volume>": "scratch"}
FILLED |= {"<str:account>": "llm", "<str:user>": "mo", "<str:qos>": "short"}
FILLED |= {"<str:login>": "mo"}
FILLED |= {"<str:token>": "abc", "<slug:recording>": "abc", "<str:hook>": "worker_prolog"}
METHODS = ("get", "post", "put", "delete")
ROLES = ("ada", "lin", "ben", "mo", "cy", "dee")


def team_routes() -> list[tuple[str, URLPattern]]:
    return [(path, pattern) for path, pattern in own_routes() if "<slug:team>" in path]


def asked(pattern: URLPattern, method: str) -> Action | None:
    """The action that this method of the route declares; None when an API route does not have the method."""
    view = pattern.callback
    known = getattr(view, "cls", None) or getattr(view, "view_class", None) or view
    if getattr(known, "actions", None):
        return dict(known.actions).get(method.upper())
    return known.action


@pytest.fixture
def everybody(db: None) -> Cast:
    """The cast with an admin too, one cluster, one node, one job, one change and one volume: something behind every
    route."""
    cast = the_cast()
    Membership.objects.create(team=cast.team, user=person("lin"), role=Role.ADMIN)
    logins = Logins(on=True, users=(LoginUser(identify(cast.team, cast.mo.user).name, 20_000),))
    cluster = tiny_cluster(cast.team, spec=tiny_spec(logins=logins))
    a_node(cluster, "slinky-0")
    cluster.jobs.create(key="7", number=7, job_id="7", submit_at=timezone.now(), user="mo", state="RUNNING")
    cluster.changes.create(number=1, kind="create", status="committed", summary="", revision=cluster.revision)
    Volume.objects.create(team=cast.team, region=cluster.region, slug="scratch", kind="pfs", size_gib=1)
    return cast


def asks_more(action: object, url: str) -> bool:
    """A member's job of somebody else is refused further in, by the job itself, and an answer to a change by its kind:
    a restart may be answered by whoever may order one."""
    return action is Action.RESTART_CLUSTER and "/changes/1/" in url


@pytest.mark.parametrize("name", ROLES)
@pytest.mark.parametrize("method", METHODS)
def test_every_role_meets_every_route_as_said(
    everybody: Cast, client: Client, name: str, method: str
) -> None:
    user = person(name)
    client.force_login(user)
    membership = Membership.objects.filter(user=user).first()
    client.raise_request_exception = False
    for path, pattern in team_routes():
        action = asked(pattern, method)
        url = "/" + path.replace("<str:name>", "debug" if "partitions" in path else "slinky-0")
        for word, value in FILLED.items():
            url = url.replace(word, value)
        with transaction.atomic():
            status = client.generic(method.upper(), url, "{}", content_type="application/json").status_code
            transaction.set_rollback(True)
        if membership is None:
            assert status in (404, 405), (url, method, status)
        elif action is None or not may(Role(membership.role), action):
            assert status in (403, 405), (url, method, status)
        else:
            by_the_thing = action is Action.CONTROL_OWN_JOB or asks_more(action, url)
            assert status != 403 or by_the_thing, (url, method, status)


def test_nobody_gets_in_without_signing_in(everybody: Cast, client: Client) -> None:
    for path, _ in team_routes():
        url = "/" + path.replace("<str:name>", "slinky-0")
        for word, value in FILLED.items():
            url = url.replace(word, value)
        response = client.get(url)
        signed_out = response.status_code == 302 and response.headers["Location"].startswith("/sign-in/")
        assert signed_out or response.status_code == 401, (url, response.status_code)


def staff_routes() -> list[tuple[str, str]]:
    """Path and method of what is for platform staff, filled in."""
    found = [(path, pattern) for path, pattern in own_routes() if declared(pattern) == {STAFF}]
    words = {"<slug:region>": "lab", "<slug:provisioner>": "fake", "<str:document>": "rights.yaml"}
    urls = []
    for path, _ in found:
        for word, value in words.items():
            path = path.replace(word, value)
        urls += [(f"/{path}", method) for method in METHODS]
    return urls


def met(client: Client, url: str, method: str) -> int:
    with transaction.atomic():
        status = client.generic(method.upper(), url, "{}", content_type="application/json").status_code
        transaction.set_rollback(True)
    return status


@pytest.mark.parametrize("name", ROLES)
def test_no_role_in_a_team_opens_what_is_for_staff(everybody: Cast, client: Client, name: str) -> None:
    client.force_login(person(name))
    assert {met(client, url, method) for url, method in staff_routes()} <= {403, 405}


def test_staff_opens_what_is_for_staff_without_being_in_a_team(everybody: Cast, client: Client) -> None:
    client.force_login(User.objects.create(username="ops", is_staff=True))
    client.raise_request_exception = False
    met_by = {(url, method): met(client, url, method) for url, method in staff_routes()}
    assert met_by and all(status in (200, 202, 302, 405, 422) for status in met_by.values()), met_by


def test_what_is_for_staff_is_signed_in_for(everybody: Cast, client: Client) -> None:
    for url, _ in staff_routes():
        response = client.get(url)
        assert response.status_code == 401 or response.headers.get("Location", "").startswith("/sign-in/"), (
            url
        )
