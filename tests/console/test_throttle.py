"""Trying too often: wrong passwords, unknown tokens, floods of requests; what a proxy may say; Redis away."""

import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.hashers import Argon2PasswordHasher, make_password
from django.test import Client
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from console import asgi, throttle
from console.models import User
from console.tokens import make_token

ACCOUNT = replace(throttle.ACCOUNT, most=2)
ADDRESS = replace(throttle.ADDRESS, most=4)
TOKENS = replace(throttle.TOKENS, most=2)
PASSWORD = "correct-horse-battery"


@pytest.fixture(autouse=True)
def own_counters(settings) -> None:
    """In the middle of one window of counters that no other test counts in."""
    settings.CACHES = {"default": {**settings.CACHES["default"], "KEY_PREFIX": f"throttle-{time.time_ns()}"}}


@pytest.fixture(autouse=True)
def still_clock(monkeypatch) -> None:
    """No window ends within a test."""
    monkeypatch.setattr("console.counters.time.time", lambda: 1_800_000_010.0)


@pytest.fixture(autouse=True)
def small_limits(monkeypatch) -> None:
    """The same with fewer attempts."""
    for where, name, limit in (
        ("console.passwords", "ACCOUNT", ACCOUNT),
        ("console.passwords", "ADDRESS", ADDRESS),
        ("console.tokens", "TOKENS", TOKENS),
    ):
        monkeypatch.setattr(f"{where}.{name}", limit)


@pytest.fixture
def ada(db: None) -> User:
    return User.objects.create(username="ada", password=make_password(PASSWORD))


@pytest.fixture
def quick(settings) -> None:
    """What is counted here is attempts, not what each costs."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def attempt(name: str = "ada", password: str = "wrong", address: str = "192.0.2.1", path: str = "/sign-in/"):  # type: ignore[no-untyped-def]
    return Client().post(path, {"username": name, "password": password}, REMOTE_ADDR=address)


@pytest.mark.parametrize("name", ["ada", "nobody"])
def test_wrong_passwords_for_one_name_are_stopped_from_everywhere(quick: None, ada: User, name: str) -> None:
    answers = [attempt(name, address=f"192.0.2.{n}") for n in range(ACCOUNT.most + 2)]
    assert [answer.status_code for answer in answers] == [200] * ACCOUNT.most + [429, 429]
    refused = answers[-1]
    assert 0 < int(refused.headers["Retry-After"]) <= ACCOUNT.window_s
    assert b"too many wrong passwords for this name" in refused.content and b"Try again in" in refused.content
    assert attempt("somebody-else").status_code == 200


def test_right_password_is_not_even_looked_at_meanwhile(quick: None, ada: User) -> None:
    for _ in range(ACCOUNT.most):
        attempt()
    assert attempt(password=PASSWORD).status_code == 429


def test_right_passwords_use_nothing_up(quick: None, db: None) -> None:
    User.objects.create_user("ada", password=PASSWORD)
    for _ in range(ACCOUNT.most + 5):
        assert attempt(password=PASSWORD).status_code == 302


def test_one_address_cannot_try_many_names(quick: None, db: None) -> None:
    answers = [attempt(f"name-{n}").status_code for n in range(ADDRESS.most + 1)]
    assert answers == [200] * ADDRESS.most + [429]
    assert attempt("name-x", address="192.0.2.2").status_code == 200


def test_admin_site_has_no_form_of_its_own(quick: None, ada: User) -> None:
    answers = [attempt(path="/admin/login/") for _ in range(ACCOUNT.most + 1)]
    assert {answer.headers["Location"] for answer in answers} == {"/sign-in/?next=%2Fadmin%2F"}
    assert attempt().status_code == 200


def test_unknown_name_costs_one_hash_like_a_known_one(ada: User, monkeypatch) -> None:
    hashed: list[str] = []
    for method in ("encode", "verify"):
        whole: Callable[..., object] = getattr(Argon2PasswordHasher, method)

        def noted(
            self: object, *args: object, whole: Callable[..., object] = whole, **kwargs: object
        ) -> object:
            hashed.append("argon2")
            return whole(self, *args, **kwargs)

        monkeypatch.setattr(Argon2PasswordHasher, method, noted)
    attempt("ada")
    known = len(hashed)
    attempt("nobody")
    assert known == 1 and len(hashed) - known == 1


def test_without_redis_people_still_sign_in(ada: User, settings, caplog) -> None:
    settings.CACHES = {"default": {**settings.CACHES["default"], "LOCATION": "redis://127.0.0.1:1/0"}}
    assert attempt(password=PASSWORD).status_code == 302
    assert "not counted" in caplog.text


def api(token: str, address: str = "192.0.2.1"):  # type: ignore[no-untyped-def]
    return Client().get("/api/v1/teams", headers={"authorization": f"Bearer {token}"}, REMOTE_ADDR=address)


def test_unknown_tokens_from_one_address_are_stopped_and_good_ones_are_not(ada: User) -> None:
    good = make_token(ada, "script")
    answers = [api("wrong").status_code for _ in range(TOKENS.most + 1)]
    assert answers == [401] * TOKENS.most + [429]
    assert api(good).status_code == 200 and api("wrong", "192.0.2.2").status_code == 401


def test_flood_of_one_person_is_refused_as_a_problem_and_others_go_on(ada: User, settings) -> None:
    settings.API_REQUESTS_A_MINUTE = 3
    tokens = [make_token(ada, "one"), make_token(ada, "two")]
    ben = make_token(User.objects.create(username="ben"), "ben's")
    answers = [api(tokens[n % 2]) for n in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    body = answers[-1].json()
    assert answers[-1].headers["Content-Type"] == "application/problem+json"
    assert (body["title"], body["status"], body["retryable"]) == ("too-many", 429, True)
    assert 0 < int(answers[-1].headers["Retry-After"]) <= 60
    assert api(ben).status_code == 200


@pytest.mark.parametrize(
    ("peer", "header", "seen"),
    [
        ("10.0.0.1", b"203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", b"1.2.3.4, 203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", b"203.0.113.9, 10.0.0.7", "203.0.113.9"),
        ("198.51.100.5", b"203.0.113.9", "198.51.100.5"),
        ("127.0.0.1", b"203.0.113.9", "127.0.0.1"),
    ],
)
def test_forwarded_header_counts_from_a_trusted_proxy_alone(peer: str, header: bytes, seen: str) -> None:
    scopes: list[dict[str, object]] = []

    async def app(scope, receive, send) -> None:  # type: ignore[no-untyped-def]
        scopes.append(scope)

    scope = {"type": "http", "client": (peer, 1), "headers": [(b"x-forwarded-for", header)], "scheme": "http"}
    async_to_sync(ProxyHeadersMiddleware(app, ["10.0.0.0/8"]))(scope, None, None)  # type: ignore[arg-type]
    assert scopes[0]["client"][0] == seen  # type: ignore[index]


def test_no_proxy_is_trusted_unless_named() -> None:
    assert asgi.application is asgi.routed
    assert Client().get("/sign-in/", headers={"x-forwarded-for": "203.0.113.9"}).wsgi_request.META[
        "REMOTE_ADDR"
    ] == ("127.0.0.1")
