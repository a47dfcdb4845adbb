"""Every route, met by those who are not simply a member: anonymous, of another team, with an expired or a narrow token,
and platform staff. `tests/test_doors.py` has the roles; what each route expects is declared beside its view.
"""

import re
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import transaction
from django.test import Client
from django.urls import get_resolver
from django.utils import timezone

from clusters.models import Grant
from console.access import PUBLIC, SIGNED_IN, STAFF
from console.models import ApiToken, Membership, Team, User
from console.roles import Action, Role, Scope, covers, may
from console.tokens import make_token
from tests.cast import Cast, person
from tests.test_doors import FILLED, METHODS, asked, asks_more, everybody, own_routes, routes

__all__ = ["everybody"]
# Routes of libraries: what they expect is declared here, for the views are not ours.
FOREIGN = {"admin/": STAFF, "api/schema/": SIGNED_IN, "api/docs/": SIGNED_IN}
# The admin site's own front door, and its way out.
OPEN_ADMIN = ("admin/login/", "admin/logout/")
VALUES = FILLED | {"<slug:region>": "lab", "<slug:provisioner>": "fake", "<str:document>": "rights.yaml"}
VALUES |= {"<str:name>": "slinky-0", "<str:token>": "qdi_guessed", "<str:version>": "24.11"}
VALUES |= {"<slug:session>": "none", "<str:upload>": "none"}
Door = tuple[str, str, object]


def doors() -> list[Door]:
    """Address, method and what it asks for, of every route and method of this console; fails on an unknown word."""
    return [
        (address(path), method, action)
        for path, pattern in own_routes()
        for method in METHODS
        if (action := asked(pattern, method)) is not None
    ]


def scopes() -> dict[tuple[str, str], Scope]:
    """Of what is a person's own: which scope a token needs for it, where not every token will do."""
    return {
        (address(path), method.lower()): scope
        for path, pattern in own_routes()
        for method, scope in getattr(getattr(pattern.callback, "cls", None), "scopes", {}).items()
    }


def address(path: str) -> str:
    url = "/" + (path.replace("<str:name>", "debug") if "partitions" in path else path)
    for word, value in VALUES.items():
        url = url.replace(word, value)
    assert "<" not in url, f"{path}: what stands for its parameter? Add it to VALUES"
    return url


def met(client: Client, url: str, method: str) -> int:
    client.raise_request_exception = False
    # Signing out is undone by the rollback, in the database; the client must not notice either.
    cookies = client.cookies.copy()
    with transaction.atomic():
        answer = client.generic(method.upper(), url, "{}", content_type="application/json")
        transaction.set_rollback(True)
    client.cookies = cookies
    if answer.status_code == 302 and "/sign-in/?next=" in answer.headers["Location"]:
        return 401
    return answer.status_code


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def bearer(token: str) -> Client:
    return Client(headers={"Authorization": f"Bearer {token}"})


def wrong(client: Client, expected: object, doors: Iterator[Door] | list[Door]) -> list[str]:
    """Doors that did not answer as `expected(url, method, action)` says: a set of statuses."""
    told = []
    for url, method, action in doors:
        allowed = expected(url, method, action)  # type: ignore[operator]
        status = met(client, url, method)
        if status not in allowed:
            told.append(f"{method} {url} ({action}): {status}")
    return told


REFUSING = {401, 403, 404, 405}
OPEN = set(range(200, 500)) - {401, 403} | {503}


def test_every_door_is_declared() -> None:
    known = doors()
    assert len(known) > 200
    assert {type(action) for _, _, action in known} == {Action, str}


def test_anonymous_is_sent_to_sign_in_by_every_door_but_public_ones(everybody: Cast) -> None:
    def expected(url: str, method: str, action: object) -> set[int]:
        return OPEN if action == PUBLIC else {401, 405}

    assert not wrong(Client(), expected, doors())


def test_owner_of_another_team_finds_no_team(everybody: Cast) -> None:
    other = Team.objects.create(slug="other", name="Other")
    eve = person("eve")
    Membership.objects.create(team=other, user=eve, role=Role.OWNER)

    def expected(url: str, method: str, action: object) -> set[int]:
        return {404, 405} if "research" in url else OPEN if action in (PUBLIC, SIGNED_IN) else {403, 405}

    assert not wrong(signed_in(eve), expected, doors())


def test_expired_token_opens_nothing(everybody: Cast) -> None:
    token = make_token(person("ada"), "old")
    ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    def expected(url: str, method: str, action: object) -> set[int]:
        return OPEN if action == PUBLIC else {401, 405}

    assert not wrong(bearer(token), expected, doors())


def test_unknown_and_half_tokens_open_nothing(everybody: Cast) -> None:
    token = make_token(person("ada"), "x")
    for value in ("", "qdk_", token[:-1], f"{token}x", token.upper()):
        assert bearer(value).get("/api/v1/teams").status_code == 401, value


@pytest.mark.parametrize("scope", list(Scope))
def test_token_reaches_no_further_than_its_scope(everybody: Cast, scope: Scope) -> None:
    """The owner's token: only the scope is in the way. Pages take no tokens at all."""
    client, own = bearer(make_token(person("ada"), scope, scopes={scope})), scopes()

    def expected(url: str, method: str, action: object) -> set[int]:
        if not url.startswith("/api/"):
            return OPEN if action == PUBLIC else {401, 405}
        if isinstance(action, Action) and not covers({scope}, action):
            return {403, 405}
        if action == STAFF or own.get((url, method), scope) is not scope:
            return {403, 405}
        return OPEN | {403} if asks_more(action, url) else OPEN

    assert len(own) >= 2
    assert not wrong(client, expected, doors())


def test_staff_opens_every_door_without_being_in_a_team(everybody: Cast) -> None:
    ops = User.objects.create(username="ops", is_staff=True)
    assert not wrong(signed_in(ops), lambda url, method, action: OPEN, doors())


def test_closed_account_is_signed_out(everybody: Cast) -> None:
    client, token = signed_in(person("ada")), bearer(make_token(person("ada"), "x"))
    User.objects.filter(username="ada").update(is_active=False)
    assert client.get("/t/research/").status_code == 302
    assert token.get("/api/v1/teams").status_code == 401


def test_grant_opens_what_its_role_reaches_on_that_cluster_alone(everybody: Cast) -> None:
    cluster = everybody.team.clusters.get()
    Grant.objects.create(cluster=cluster, membership=everybody.cy, role=Role.OWNER)

    def expected(url: str, method: str, action: object) -> set[int]:
        inside = "/c/tiny/" in url or "/clusters/tiny" in url
        return OPEN if inside or may(Role.VIEWER, Action(action)) else {403, 405}

    team_doors = [
        door
        for door in doors()
        if "research" in door[0] and door[1] in ("get", "post") and door[2] is not Action.LEAVE_TEAM
    ]
    assert not wrong(signed_in(person("cy")), expected, team_doors)


def foreign_routes() -> list[tuple[str, str]]:
    found = []
    for path, _ in routes(get_resolver().url_patterns):
        prefix = next((prefix for prefix in FOREIGN if path.startswith(prefix)), None)
        if prefix and not path.startswith(OPEN_ADMIN):
            plain = re.sub(r"\(\?P<\w+>[^)]*\)|<[^>]+>", "1", path).replace("^", "").replace("$", "")
            found.append(("/" + plain, FOREIGN[prefix]))
    return found


def test_libraries_routes_are_closed_as_declared(everybody: Cast) -> None:
    addresses = foreign_routes()
    assert len(addresses) > 30
    for url, action in addresses:
        stranger = Client().get(url)
        assert stranger.status_code in (302, 401, 403, 404), (url, stranger.status_code)
        for name in ("ada", "cy", "dee"):
            answer = signed_in(person(name)).get(url)
            if action == STAFF:
                assert answer.status_code in (302, 404), (url, name, answer.status_code)
                assert answer.status_code == 404 or "/login/?next=" in answer.headers["Location"], (url, name)
            else:
                assert answer.status_code == 200, (url, name, answer.status_code)
