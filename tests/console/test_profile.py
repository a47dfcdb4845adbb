"""One's own account: a new password ends other sessions, and a token is shown once."""

import contextlib
import hashlib
import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from console.access import membership_for
from console.errors import Forbidden
from console.models import ApiToken, Event, User
from console.roles import SCOPE_OF, Action, Role, Scope, covers, may
from console.tokens import make_token
from tests.cast import the_cast

NIGHTLY = {"name": "nightly", "scopes": ["read", "jobs"], "days": "90"}
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
    event = Event.objects.get(verb="password.change")
    assert (event.who, event.detail) == ("ada", {})


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
    made = client.post("/profile/tokens/new/", NIGHTLY)
    assert made.status_code == 201 and made.headers["Cache-Control"] == "no-store"
    token = re.search(r'id="made-token">(qdk_[A-Za-z0-9_-]{43})<', made.content.decode())[1]  # type: ignore[index]
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
    made = signed_in().post("/profile/tokens/new/", NIGHTLY, headers=headers).content.decode()
    assert 'hx-swap-oob="true"' in made and "<html" not in made


@pytest.mark.parametrize("wrong", [{"scopes": []}, {"scopes": ["root"]}, {"days": "9999"}, {"days": ""}])
def test_token_needs_scopes_and_a_known_end(ada: User, wrong: dict[str, object]) -> None:
    assert signed_in().post("/profile/tokens/new/", {**NIGHTLY, **wrong}).status_code == 422
    assert not ApiToken.objects.exists()


@pytest.mark.parametrize(("days", "left"), [("30", 30), ("90", 90), ("0", None)])
def test_token_ends_when_it_was_said_to(ada: User, days: str, left: int | None) -> None:
    signed_in().post("/profile/tokens/new/", {**NIGHTLY, "days": days})
    token = ApiToken.objects.get()
    assert (token.expires_at and (token.expires_at - token.created_at).days + 1) in (left, left and left + 1)
    assert token.scopes == "read jobs"


def test_token_of_the_profile_page_ends_after_ninety_days_unless_chosen(ada: User) -> None:
    page = signed_in().get("/profile/tokens/new/").content.decode()
    assert '<option value="90" selected>' in page and "qdk_[A-Za-z0-9_-]{43}" in page


def api(token: str, path: str = "/api/v1/teams"):  # type: ignore[no-untyped-def]
    return Client(headers={"authorization": f"Bearer {token}"}).get(path)


def test_expired_token_is_refused(ada: User) -> None:
    token = make_token(ada, "old")
    ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    answer = api(token)
    assert answer.status_code == 401 and "expired" in answer.json()["detail"]
    assert b"expired" in signed_in().get("/profile/").content
    assert ApiToken.objects.get().last_used_at is None


def test_last_use_is_written_at_most_once_a_minute(ada: User) -> None:
    token = make_token(ada, "busy")
    api(token)
    first = ApiToken.objects.get().last_used_at
    api(token)
    assert first is not None and ApiToken.objects.get().last_used_at == first
    ApiToken.objects.update(last_used_at=first - timedelta(seconds=61))
    api(token)
    assert ApiToken.objects.get().last_used_at > first


def test_script_sees_its_persons_tokens_without_their_values(ada: User) -> None:
    token = make_token(ada, "mine", scopes={Scope.READ})
    make_token(User.objects.create_user("ben"), "his")
    answer = api(token, "/api/v1/tokens")
    [row] = answer.json()["results"]
    assert (row["name"], row["scopes"], row["prefix"]) == ("mine", ["read"], token[:10])
    assert token not in answer.content.decode() and "digest" not in row


def test_every_action_has_a_scope() -> None:
    assert set(SCOPE_OF) == set(Action)


@pytest.mark.parametrize("scope", Scope)
@pytest.mark.parametrize("action", Action)
def test_scope_is_a_ceiling_over_the_role(db: None, scope: Scope, action: Action) -> None:
    cast = the_cast()
    for membership in (cast.ada, cast.cy):
        user = User.objects.get(pk=membership.user_id)
        user.token_scopes = frozenset([scope])
        reaches = may(Role(membership.role), action) and covers([scope], action)
        with contextlib.nullcontext() if reaches else pytest.raises(Forbidden):
            assert membership_for(user, "research", action).user.token_scopes == {scope}


def test_token_for_reading_changes_nothing_of_an_owner(db: None) -> None:
    cast = the_cast()
    reading = make_token(cast.ada.user, "reading", scopes={Scope.READ})
    changing = make_token(cast.ada.user, "changing", scopes={Scope.ADMIN})
    members = "/api/v1/teams/research/members"
    assert api(reading, members).status_code == api(changing, members).status_code == 200
    answers = [
        Client(headers={"authorization": f"Bearer {token}"}).post(
            members, {"name": "dee", "role": "viewer"}, content_type="application/json"
        )
        for token in (reading, changing)
    ]
    assert [answer.status_code for answer in answers] == [403, 201]
    assert "needs the scope admin" in answers[0].json()["detail"]
    assert Event.objects.get(verb="door").detail["reason"] == answers[0].json()["detail"]


def test_token_for_reading_opens_no_page_of_the_platform(db: None) -> None:
    staff = User.objects.create_user("root", is_staff=True)
    assert api(make_token(staff, "reading", scopes={Scope.READ}), "/api/v1/regions").status_code == 403
    assert api(make_token(staff, "all"), "/api/v1/regions").status_code == 200


def test_token_needs_a_name(ada: User) -> None:
    assert signed_in().post("/profile/tokens/new/", {**NIGHTLY, "name": " "}).status_code == 422
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
    made = client.post("/profile/tokens/new/", {**NIGHTLY, "name": "<script>alert(1)</script>"})
    page = client.get("/profile/").content + client.get("/admin/").content + made.content
    assert b"<script>alert" not in page


def test_stranger_is_asked_to_sign_in(db: None) -> None:
    for path in ("/profile/", "/profile/tokens/new/", "/profile/tokens/1/revocation/"):
        assert Client().get(path).headers["Location"].startswith("/sign-in/")


def test_menu_leads_to_the_profile(ada: User) -> None:
    assert b'href="/profile/"' in signed_in().get("/").content
