"""One's own account: a new password ends other sessions, and a token is shown once."""

import hashlib
import re

import pytest
from django.test import Client

from console.models import ApiToken, Event, User
from console.tokens import make_token

OLD, NEW = "correct-horse-battery", "another-staple-entirely"


@pytest.fixture
def ada(db: None) -> User:
    return User.objects.create_user("ada", password=OLD)


def signed_in(name: str = "ada", password: str = OLD) -> Client:
    client = Client()
    assert client.login(username=name, password=password)
    return client


def change(client: Client, old: str = OLD, new: str = NEW, again: str = NEW):  # type: ignore[no-untyped-def]
    return client.post("/profile/", {"old_password": old, "new_password1": new, "new_password2": again})


def test_new_password_keeps_this_session_and_ends_the_others(ada: User) -> None:
    here, there = signed_in(), signed_in()
    assert there.get("/profile/").status_code == 200
    response = change(here)
    assert response.status_code == 302 and response.headers["Location"] == "/profile/"
    assert b"signed out everywhere else" in here.get("/profile/").content
    assert there.get("/profile/").headers["Location"].startswith("/sign-in/")
    assert not Client().login(username="ada", password=OLD)
    signed_in(password=NEW)
    event = Event.objects.latest("pk")
    assert (event.verb, event.who, event.detail) == ("password.change", "ada", {})


def test_new_password_ends_no_api_token(ada: User) -> None:
    token = make_token(ada, "script")
    change(signed_in())
    assert Client(headers={"authorization": f"Bearer {token}"}).get("/api/v1/teams").status_code == 200


@pytest.mark.parametrize(
    ("old", "new", "again", "why"),
    [
        ("wrong", NEW, NEW, "Your old password was entered incorrectly"),
        (OLD, "short", "short", "too short"),
        (OLD, "q1w2e3r4t5y6", "q1w2e3r4t5y6", "too common"),
        (OLD, NEW, "something-else-again", "didn’t match"),
        ("", "", "", "This field is required"),
    ],
)
def test_password_that_will_not_do_changes_nothing(
    ada: User, old: str, new: str, again: str, why: str
) -> None:
    response = change(signed_in(), old, new, again)
    html = response.content.decode()
    assert response.status_code == 422 and why in html
    assert NEW not in html and OLD not in html
    signed_in()


def test_token_is_shown_once_and_then_only_its_beginning(ada: User) -> None:
    client = signed_in()
    made = client.post("/profile/tokens/new/", {"name": "nightly"})
    assert made.status_code == 201 and made.headers["Cache-Control"] == "no-store"
    token = re.search(r'id="made-token">(qd_[\w-]+)<', made.content.decode())[1]  # type: ignore[index]
    row = ApiToken.objects.get()
    assert row.digest == hashlib.sha256(token.encode()).hexdigest()
    kept = str(ApiToken.objects.values().get()) + str(list(Event.objects.values()))
    assert token not in kept
    page = client.get("/profile/").content.decode()
    assert token not in page and row.prefix in page and "nightly" in page
    assert Client(headers={"authorization": f"Bearer {token}"}).get("/api/v1/teams").status_code == 200
    assert "never" not in client.get("/profile/").content.decode()


def test_open_page_gets_the_new_list_with_the_token(ada: User) -> None:
    headers = {"HX-Request": "true", "HX-Target": "dialog"}
    made = signed_in().post("/profile/tokens/new/", {"name": "nightly"}, headers=headers).content.decode()
    assert 'hx-swap-oob="true"' in made and "<html" not in made


def test_token_needs_a_name(ada: User) -> None:
    assert signed_in().post("/profile/tokens/new/", {"name": " "}).status_code == 422
    assert not ApiToken.objects.exists()


def test_revoked_token_is_refused(ada: User) -> None:
    token = make_token(ada, "old")
    page = f"/profile/tokens/{ApiToken.objects.get().pk}/revocation/"
    client = signed_in()
    assert b"every script that uses it" in client.get(page).content
    assert client.post(page).headers["Location"] == "/profile/"
    assert Client(headers={"authorization": f"Bearer {token}"}).get("/api/v1/teams").status_code == 401
    assert list(Event.objects.order_by("pk").values_list("verb", flat=True)) == ["token.make", "token.revoke"]


def test_nobody_reaches_another_persons_token(ada: User) -> None:
    make_token(ada, "hers")
    User.objects.create_user("ben", password=OLD)
    client = signed_in("ben")
    page = f"/profile/tokens/{ApiToken.objects.get().pk}/revocation/"
    assert client.get(page).status_code == 404 and client.post(page).status_code == 404
    assert ApiToken.objects.exists() and b"hers" not in client.get("/profile/").content


def test_hostile_token_name_is_text(ada: User) -> None:
    client = signed_in()
    made = client.post("/profile/tokens/new/", {"name": "<script>alert(1)</script>"})
    page = client.get("/profile/").content + client.get("/admin/").content + made.content
    assert b"<script>alert" not in page


def test_stranger_is_asked_to_sign_in(db: None) -> None:
    for path in ("/profile/", "/profile/tokens/new/", "/profile/tokens/1/revocation/"):
        assert Client().get(path).headers["Location"].startswith("/sign-in/")


def test_menu_leads_to_the_profile(ada: User) -> None:
    assert b'href="/profile/"' in signed_in().get("/").content
