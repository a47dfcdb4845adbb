"""Second factors: set up, asked for at sign-in, good once, sealed at rest, and reset by staff."""

import json
import re
import time
from dataclasses import replace
from urllib.parse import quote

import pytest
from allauth.mfa.models import Authenticator
from cryptography.fernet import Fernet
from django.contrib.auth.hashers import make_password
from django.core.management import call_command
from django.test import Client

from console import admission, factors, throttle
from console.models import BrowserSession, Event, User
from tests.authenticator import code_of

PASSWORD = "correct-horse-battery"
NEXT = "/profile/?from=mail"


@pytest.fixture(autouse=True)
def own_counters(settings) -> None:
    settings.CACHES = {"default": {**settings.CACHES["default"], "KEY_PREFIX": f"factors-{time.time_ns()}"}}
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def ada(db: None) -> User:
    return User.objects.create(username="ada", password=make_password(PASSWORD))


def first_step(client: Client, name: str = "ada", after: str = NEXT):  # type: ignore[no-untyped-def]
    return client.post("/sign-in/", {"username": name, "password": PASSWORD, "next": after})


def set_up(client: Client) -> tuple[str, list[str]]:
    """The secret that the app was given, and the recovery codes."""
    page = client.get("/profile/app/").content.decode()
    secret = re.search(r'id="app-secret">([A-Z2-7]{32})<', page)[1]  # type: ignore[index]
    made = client.post("/profile/app/", {"code": code_of(secret)})
    assert made.status_code == 201 and made.headers["Cache-Control"] == "no-store"
    return secret, re.findall(r"<code>(\d{8})</code>", made.content.decode())


@pytest.fixture
def app(ada: User) -> tuple[str, list[str]]:
    """Ada's app and recovery codes, set up in a browser that is of no more use."""
    client = Client()
    first_step(client)
    return set_up(client)


def is_in(client: Client) -> bool:
    return client.get("/profile/").status_code == 200


def second_step(client: Client, code: str):  # type: ignore[no-untyped-def]
    return client.post("/sign-in/second-factor/", {"code": code})


def test_password_alone_no_longer_signs_in(app: tuple[str, list[str]]) -> None:
    client = Client()
    assert first_step(client).headers["Location"] == "/sign-in/second-factor/"
    assert not is_in(client)
    assert b"Second factor of ada" in client.get("/sign-in/second-factor/").content


def test_code_of_the_app_signs_in_and_leads_where_the_person_wanted(app: tuple[str, list[str]]) -> None:
    client = Client()
    first_step(client)
    # The half minute of setting up is used up; the next one is let in already, as of a clock that is fast.
    assert second_step(client, code_of(app[0], later_s=30)).headers["Location"] == NEXT
    assert is_in(client)
    event = Event.objects.filter(verb="sign-in").latest("pk")
    assert (event.who, event.detail) == ("ada", {"why": "with password and authenticator app"})


def test_code_is_good_once(app: tuple[str, list[str]]) -> None:
    code = code_of(app[0], later_s=30)
    for expected in (302, 422):
        client = Client()
        first_step(client)
        assert second_step(client, code).status_code == expected
    assert not is_in(client)


def test_code_of_the_setting_up_does_not_sign_in_as_well(app: tuple[str, list[str]]) -> None:
    client = Client()
    first_step(client)
    assert second_step(client, code_of(app[0])).status_code == 422


@pytest.mark.parametrize("later_s", [-120, 120])
def test_code_of_another_time_is_refused_and_written_down(app: tuple[str, list[str]], later_s: int) -> None:
    client = Client()
    first_step(client)
    refused = second_step(client, code_of(app[0], later_s=later_s))
    assert refused.status_code == 422 and b"That code is not right" in refused.content
    assert not is_in(client)
    event = Event.objects.latest("pk")
    assert (event.verb, event.who, event.outcome, event.target) == (
        "sign-in",
        "ada",
        "refused",
        "second factor",
    )


def test_recovery_code_stands_in_once(app: tuple[str, list[str]]) -> None:
    codes = app[1]
    assert len(set(codes)) == 10
    client = Client()
    first_step(client)
    assert second_step(client, f"{codes[3][:4]} {codes[3][4:]}").status_code == 302
    assert b"9 left" in client.get("/profile/").content
    again = Client()
    first_step(again)
    assert second_step(again, codes[3]).status_code == 422


def test_too_many_wrong_codes_stop_the_right_one_too(app: tuple[str, list[str]], monkeypatch) -> None:
    monkeypatch.setattr(factors, "CODES", replace(throttle.CODES, most=2))
    client = Client()
    first_step(client)
    answers = [second_step(client, "000000").status_code for _ in range(3)]
    assert answers == [422, 422, 429]
    stopped = second_step(client, code_of(app[0], later_s=30))
    assert stopped.status_code == 429 and "Retry-After" in stopped.headers and not is_in(client)


def test_codes_are_taken_while_redis_is_away(app: tuple[str, list[str]], settings) -> None:
    settings.CACHES = {"default": {**settings.CACHES["default"], "LOCATION": "redis://127.0.0.1:1/0"}}
    client = Client()
    first_step(client)
    assert second_step(client, code_of(app[0], later_s=30)).status_code == 302


def test_half_way_ends_after_ten_minutes(app: tuple[str, list[str]], monkeypatch) -> None:
    client = Client()
    first_step(client)
    now = time.time()
    monkeypatch.setattr(admission.time, "time", lambda: now + admission.HALF_S + 1)
    assert client.get("/sign-in/second-factor/").headers["Location"] == "/sign-in/"


def test_half_way_ends_with_a_new_password_and_with_the_account(
    app: tuple[str, list[str]], ada: User
) -> None:
    for change in ({"password": make_password("another-staple-entirely")}, {"is_active": False}):
        ada.password, ada.is_active = make_password(PASSWORD), True
        ada.save()
        client = Client()
        first_step(client)
        assert client.get("/sign-in/second-factor/").status_code == 200
        User.objects.update(**change)
        assert client.get("/sign-in/second-factor/").headers["Location"] == "/sign-in/"


def test_start_over_forgets_who_it_was(app: tuple[str, list[str]]) -> None:
    client = Client()
    first_step(client)
    client.get("/sign-in/start-over/")
    assert client.get("/sign-in/second-factor/").headers["Location"] == "/sign-in/"


def test_nobody_is_half_way_without_a_password(app: tuple[str, list[str]]) -> None:
    assert second_step(Client(), code_of(app[0], later_s=30)).headers["Location"] == "/sign-in/"


def test_person_is_never_led_to_a_foreign_page(app: tuple[str, list[str]]) -> None:
    client = Client()
    first_step(client, after="https://evil.example/")
    assert second_step(client, app[1][0]).headers["Location"] == "/"


def test_admin_site_asks_for_the_second_factor_too(app: tuple[str, list[str]]) -> None:
    User.objects.update(is_staff=True, is_superuser=True)
    client = Client()
    assert client.get("/admin/").headers["Location"] == "/admin/login/?next=/admin/"
    client.post("/admin/login/", {"username": "ada", "password": PASSWORD})
    assert client.get("/admin/").status_code == 302
    first_step(client, after="/admin/")
    assert second_step(client, app[1][0]).headers["Location"] == "/admin/"
    assert client.get("/admin/").status_code == 200


def test_secrets_are_nowhere_in_the_clear(app: tuple[str, list[str]]) -> None:
    secret, codes = app
    kept = json.dumps([*Authenticator.objects.values("data")]) + str([*Event.objects.values()])
    sessions = [row.session_data for row in BrowserSession.objects.all()]
    assert not any(value in kept + str(sessions) for value in (secret, *codes))


def test_offered_secret_waits_sealed_in_the_session(ada: User) -> None:
    client = Client()
    first_step(client)
    page = client.get("/profile/app/").content.decode()
    secret = re.search(r'id="app-secret">([A-Z2-7]{32})<', page)[1]  # type: ignore[index]
    assert "offered-app" in client.session and secret not in str(dict(client.session))


def test_rotated_keys_still_open_the_factors(app: tuple[str, list[str]], settings) -> None:
    new = Fernet.generate_key().decode()
    settings.SEALING_KEYS = [new, *settings.SEALING_KEYS]
    call_command("secrets", "rotate")
    settings.SEALING_KEYS = [new]
    client = Client()
    first_step(client)
    assert second_step(client, code_of(app[0], later_s=30)).status_code == 302
    again = Client()
    first_step(again)
    assert second_step(again, app[1][0]).status_code == 302


def test_wrong_code_sets_nothing_up_and_offers_the_same_secret(ada: User) -> None:
    client = Client()
    first_step(client)
    page = client.get("/profile/app/").content.decode()
    refused = client.post("/profile/app/", {"code": "123"})
    assert refused.status_code == 422 and not Authenticator.objects.exists()
    secret = r'id="app-secret">([A-Z2-7]{32})<'
    assert re.findall(secret, page) == re.findall(secret, refused.content.decode())


def test_second_app_is_refused(app: tuple[str, list[str]]) -> None:
    client = signed_in(app[1][0])
    secret = re.search(r'app-secret">([A-Z2-7]+)<', client.get("/profile/app/").content.decode())[1]  # type: ignore[index]
    assert client.post("/profile/app/", {"code": code_of(secret)}).status_code == 409
    assert Authenticator.objects.filter(type="totp").count() == 1


def signed_in(recovery_code: str) -> Client:
    client = Client()
    first_step(client)
    assert second_step(client, recovery_code).status_code == 302
    return client


def test_new_recovery_codes_end_the_old_ones(app: tuple[str, list[str]]) -> None:
    client = signed_in(app[1][0])
    new = re.findall(r"<code>(\d{8})</code>", client.post("/profile/recovery-codes/").content.decode())
    assert len(new) == 10 and not set(new) & set(app[1])
    stale = Client()
    first_step(stale)
    assert second_step(stale, app[1][1]).status_code == 422
    signed_in(new[0])


def test_without_the_last_factor_the_password_is_enough_again(app: tuple[str, list[str]]) -> None:
    client = signed_in(app[1][0])
    assert b"your password alone signs you in" in client.get("/profile/app/removal/").content
    assert client.post("/profile/app/removal/").headers["Location"] == "/profile/"
    assert not Authenticator.objects.exists()
    assert first_step(Client()).headers["Location"] == NEXT
    verbs = list(Event.objects.order_by("pk").values_list("verb", "target"))
    assert ("factor.add", "authenticator app") in verbs and ("factor.remove", "authenticator app") in verbs


@pytest.mark.parametrize(
    "path",
    [
        "/profile/app/",
        "/profile/app/removal/",
        "/profile/passkeys/new/",
        "/profile/passkeys/options/",
        "/profile/recovery-codes/",
    ],
)
def test_changing_factors_asks_who_is_there_after_a_while(
    app: tuple[str, list[str]], path: str, monkeypatch
) -> None:
    client = signed_in(app[1][0])
    now = time.time()
    monkeypatch.setattr(admission.time, "time", lambda: now + admission.CONFIRMED_S + 1)
    asked = client.post(path)
    assert asked.headers["Location"] == f"/sign-in/confirmation/?next={quote(path, safe='')}"
    assert Authenticator.objects.count() == 2
    wrong = client.post(asked.headers["Location"], {"code": "000000"})
    assert wrong.status_code == 422
    right = client.post(asked.headers["Location"], {"code": app[1][1], "next": path})
    assert right.headers["Location"] == path


def test_person_without_a_factor_confirms_with_the_password(ada: User, monkeypatch) -> None:
    client = Client()
    first_step(client)
    now = time.time()
    monkeypatch.setattr(admission.time, "time", lambda: now + admission.CONFIRMED_S + 1)
    where = client.get("/profile/app/").headers["Location"]
    assert client.post(where, {"password": "wrong"}).status_code == 422
    assert client.post(where, {"password": PASSWORD, "next": "/profile/app/"}).status_code == 302
    assert client.get("/profile/app/").status_code == 200


def test_open_dialog_is_led_to_the_confirmation(ada: User) -> None:
    client = Client()
    client.force_login(ada)
    answer = client.get("/profile/app/", headers={"HX-Request": "true", "HX-Target": "dialog"})
    assert answer.headers["HX-Redirect"] == "/sign-in/confirmation/?next=%2Fprofile%2Fapp%2F"


@pytest.mark.parametrize(
    "credential", ["", "{}", "[]", "7", '{"id": "x", "response": 1}', "[" * 9_000, "x" * 30_000]
)
def test_passkey_that_is_none_signs_nobody_in(db: None, credential: str) -> None:
    client = Client()
    client.post("/sign-in/passkey/options/")
    answer = client.post("/sign-in/passkey/", {"credential": credential})
    assert answer.status_code in (302, 422) and not is_in(client)


def test_passkeys_are_offered_for_a_name_only(ada: User) -> None:
    client = Client()
    first_step(client)
    at_address = client.get("/profile/passkeys/new/", headers={"host": "127.0.0.1:8000"}).content.decode()
    assert "opened at the address 127.0.0.1" in at_address and 'aria-disabled="true"' in at_address
    at_name = client.get("/profile/passkeys/new/", headers={"host": "localhost:8000"}).content.decode()
    assert "Make the passkey" in at_name and "aria-disabled" not in at_name


def test_staff_resets_factors_and_it_is_written_down(app: tuple[str, list[str]], ada: User) -> None:
    client = signed_in(app[1][0])
    root = User.objects.create(username="root", is_staff=True, is_superuser=True)
    staff = Client()
    staff.force_login(root)
    chosen = {"action": "reset_second_factors", "_selected_action": [str(ada.pk)]}
    assert staff.post("/admin/console/user/", chosen).status_code == 302
    assert not is_in(client) and not Authenticator.objects.exists()
    event = Event.objects.get(verb="factor.reset")
    assert (event.who, event.target) == ("root", "ada")


def test_staff_that_is_no_superuser_resets_no_superuser(app: tuple[str, list[str]], ada: User) -> None:
    from django.contrib.auth.models import Permission

    User.objects.filter(pk=ada.pk).update(is_superuser=True)
    helper = User.objects.create(username="helper", is_staff=True)
    helper.user_permissions.set(Permission.objects.filter(codename__in=["change_user", "view_user"]))
    staff = Client()
    staff.force_login(helper)
    chosen = {"action": "reset_second_factors", "_selected_action": [str(ada.pk)]}
    assert b"only another one can" in staff.post("/admin/console/user/", chosen, follow=True).content
    assert Authenticator.objects.filter(user=ada).exists()


def test_wrong_password_is_written_down_and_an_unknown_name_is_not_kept(ada: User) -> None:
    Client().post("/sign-in/", {"username": "ada", "password": "wrong"})
    Client().post("/sign-in/", {"username": "my-password-in-the-wrong-field", "password": "wrong"})
    known, unknown = Event.objects.order_by("pk")
    assert (known.verb, known.who, known.outcome) == ("sign-in", "ada", "refused")
    assert unknown.who == "quarterdeck" and "wrong-field" not in str(vars(unknown))
