"""Signing in through a real identity provider: accounts, groups, and every answer that must let nobody in."""

import re
import time
from collections.abc import Iterator
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
import requests
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from cryptography.fernet import Fernet
from cryptography.hazmat.primitives.asymmetric import rsa
from django.core.exceptions import ImproperlyConfigured
from django.test import Client

from console import oidc_sign_out
from console import settings as settings_module
from console.models import BrowserSession, Event, GroupRole, Membership, Team, User
from tests.identity_provider import Forge, IdentityProvider, honest, identity_provider


@pytest.fixture(scope="module")
def running() -> Iterator[IdentityProvider]:
    with identity_provider() as provider:
        yield provider


@pytest.fixture
def provider(running: IdentityProvider, db: None, settings) -> IdentityProvider:
    """Ready, honest, and configured; Eve is a person there."""
    settings.OIDC_ISSUER = running.url
    settings.OIDC_NAME, settings.OIDC_CLIENT_ID, settings.OIDC_CLIENT_SECRET = "Example ID", "qd", "secret"
    running.forge, running.foreign_key = honest, None
    running.has(
        "e1", preferred_username="eve", given_name="Eve", email="eve@example.org", email_verified=True
    )
    return running


def sign_in(provider: IdentityProvider, subject: str = "e1", client: Client | None = None, after: str = ""):  # type: ignore[no-untyped-def]
    """The whole round trip; the answer to the callback."""
    client = client or Client()
    off = client.get("/sign-in/provider/", {"next": after} if after else {})
    back = provider.sends_back(off.headers["Location"], subject)
    return client.get(back.removeprefix("http://testserver"))


def is_in(client: Client) -> bool:
    return client.get("/profile/").status_code == 200


def test_stranger_gets_an_account_at_the_first_sign_in_and_the_same_at_the_second(
    provider: IdentityProvider,
) -> None:
    client = Client()
    assert sign_in(provider, client=client, after="/profile/").headers["Location"] == "/profile/"
    assert is_in(client)
    eve = User.objects.get()
    assert (eve.username, eve.first_name, eve.email) == ("eve", "Eve", "eve@example.org")
    assert not eve.has_usable_password() and not eve.is_staff
    sign_in(provider)
    assert User.objects.count() == SocialAccount.objects.count() == 1
    assert {"account.make", "identity.link", "sign-in"} == set(Event.objects.values_list("verb", flat=True))
    assert Event.objects.filter(verb="sign-in").latest("pk").detail == {"why": "with Example ID"}


def test_request_carries_state_nonce_and_pkce(provider: IdentityProvider) -> None:
    asked = parse_qs(urlsplit(Client().get("/sign-in/provider/").headers["Location"]).query)
    assert {"state", "nonce", "code_challenge"} < set(asked) and asked["code_challenge_method"] == ["S256"]
    assert asked["client_id"] == ["qd"] and set(asked["scope"][0].split()) == {"openid", "profile", "email"}


def test_nothing_of_what_is_asked_comes_from_the_link(provider: IdentityProvider) -> None:
    link = (
        "/sign-in/provider/?scope=admin&auth_params=nonce%3Dmine&process=connect&next=https://evil.example/"
    )
    client = Client()
    off = client.get(link).headers["Location"]
    asked = parse_qs(urlsplit(off).query)
    assert "admin" not in asked["scope"][0] and asked["nonce"] != ["mine"]
    back = provider.sends_back(off, "e1")
    assert client.get(back.removeprefix("http://testserver")).headers["Location"] == "/"


def changed(**claims: object) -> Forge:
    return lambda told: {**told, **claims}


def without(name: str) -> Forge:
    return lambda told: {key: value for key, value in told.items() if key != name}


@pytest.mark.parametrize(
    ("forge", "why"),
    [
        (changed(aud="another-application"), "made for another application"),
        (changed(aud=["another", "third"]), "made for another application"),
        (changed(azp="another-application"), "made for another application"),
        (changed(iss="https://evil.example"), "comes from another provider"),
        (changed(nonce="of-another-sign-in"), "answers another sign-in"),
        (without("nonce"), "answers another sign-in"),
        (changed(exp=int(time.time()) - 3600, iat=int(time.time()) - 7200), "has expired"),
        (changed(iat=int(time.time()) + 3600), "its signature or its form is wrong"),
        (without("exp"), "its signature or its form is wrong"),
        (without("sub"), "its signature or its form is wrong"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_wrong_token_lets_nobody_in_and_says_why(provider: IdentityProvider, forge: Forge, why: str) -> None:
    provider.forge = forge
    client = Client()
    answer = sign_in(provider, client=client)
    assert answer.status_code == 403 and why in answer.content.decode()
    assert not is_in(client) and not User.objects.exists()
    event = Event.objects.get()
    assert (event.verb, event.outcome) == ("sign-in", "refused") and why in event.detail["reason"]


def test_token_that_somebody_else_signed_is_refused(provider: IdentityProvider) -> None:
    provider.foreign_key = rsa.generate_private_key(65537, 2048)
    answer = sign_in(provider)
    assert answer.status_code == 403 and b"signature or its form is wrong" in answer.content


def test_answer_is_good_once(provider: IdentityProvider) -> None:
    client = Client()
    off = client.get("/sign-in/provider/").headers["Location"]
    back = provider.sends_back(off, "e1").removeprefix("http://testserver")
    assert client.get(back).status_code == 302
    replayed = client.get(back)
    assert replayed.status_code == 403 and b"was used already" in replayed.content


def test_answer_of_another_browser_is_refused(provider: IdentityProvider) -> None:
    back = provider.sends_back(Client().get("/sign-in/provider/").headers["Location"], "e1")
    answer = Client().get(back.removeprefix("http://testserver"))
    assert answer.status_code == 403 and b"no sign-in that was begun in this browser" in answer.content


@pytest.mark.parametrize("query", ["", "?state=", "?state=x&code=y", "?error=access_denied", "?code=1"])
def test_callback_without_a_sign_in_is_refused(provider: IdentityProvider, query: str) -> None:
    assert Client().get(f"/sign-in/provider/callback/{query}").status_code == 403


def test_person_who_declined_there_is_told_so(provider: IdentityProvider) -> None:
    client = Client()
    state = parse_qs(urlsplit(client.get("/sign-in/provider/").headers["Location"]).query)["state"][0]
    answer = client.get("/sign-in/provider/callback/", {"state": state, "error": "access_denied<script>"})
    assert answer.status_code == 403 and b"access_deniedscript" in answer.content


def test_provider_that_is_away_is_an_answer_to_try_again(provider: IdentityProvider, settings) -> None:
    settings.OIDC_ISSUER = "http://127.0.0.1:1"
    answer = Client().get("/sign-in/provider/")
    assert answer.status_code == 503 and b"Example ID gave no answer" in answer.content


def test_provider_under_another_name_is_refused(provider: IdentityProvider, settings) -> None:
    settings.OIDC_ISSUER = f"{provider.url}/.well-known/openid-configuration"
    answer = sign_in(provider)
    assert answer.status_code == 403 and b"calls itself by another name" in answer.content
    assert not User.objects.exists()


def test_verified_address_links_to_the_account_that_has_it(provider: IdentityProvider) -> None:
    here = User.objects.create(username="evelyn", email="Eve@Example.org")
    assert sign_in(provider).status_code == 302
    assert User.objects.get() == here and SocialAccount.objects.get().user == here


@pytest.mark.parametrize("verified", [False, None, "true"])
def test_unverified_address_never_links(provider: IdentityProvider, verified: object) -> None:
    here = User.objects.create(username="boss", email="eve@example.org", is_superuser=True)
    provider.has("e1", preferred_username="eve", email="eve@example.org", email_verified=verified)
    client = Client()
    answer = sign_in(provider, client=client)
    assert answer.status_code == 403 and b"did not verify that it is yours" in answer.content
    assert not is_in(client) and User.objects.get() == here and not SocialAccount.objects.exists()


def test_unverified_address_of_a_new_account_is_not_kept(provider: IdentityProvider) -> None:
    provider.has("e1", preferred_username="eve", email="boss@example.org", email_verified=False)
    sign_in(provider)
    assert User.objects.get().email == ""


def test_address_of_two_accounts_is_nobodys(provider: IdentityProvider) -> None:
    for name in ("one", "two"):
        User.objects.create(username=name, email="eve@example.org")
    assert sign_in(provider).status_code == 403 and not SocialAccount.objects.exists()


def test_name_that_is_taken_gets_a_number_and_not_the_account(provider: IdentityProvider) -> None:
    User.objects.create(username="Eve")
    sign_in(provider)
    assert sorted(User.objects.values_list("username", flat=True)) == ["Eve", "eve-2"]


@pytest.mark.parametrize(
    ("told", "name"),
    [
        ("eve@corp.example", "eve@corp.example"),
        ("<b>eve</b>", "b-eve-b"),
        ("", "eve"),
        ("\N{SNOWMAN}", "person"),
    ],
)
def test_name_is_made_fit_to_be_one(provider: IdentityProvider, told: str, name: str) -> None:
    provider.has("e1", preferred_username=told, email="eve@example.org", email_verified=True)
    sign_in(provider)
    assert User.objects.get().username == name


def test_closed_account_stays_closed(provider: IdentityProvider) -> None:
    sign_in(provider)
    User.objects.update(is_active=False)
    client = Client()
    answer = sign_in(provider, client=client)
    assert answer.status_code == 403 and b"account here is closed" in answer.content and not is_in(client)


@pytest.fixture
def research(db: None) -> Team:
    team = Team.objects.create(slug="research", name="Research")
    GroupRole.objects.create(group="ml", team=team, role="member")
    GroupRole.objects.create(group="ml-leads", team=team, role="admin")
    return team


def in_groups(provider: IdentityProvider, *groups: object, client: Client | None = None) -> None:
    provider.has(
        "e1", preferred_username="eve", email="eve@example.org", email_verified=True, groups=list(groups)
    )
    assert sign_in(provider, client=client).status_code == 302


def roles() -> list[tuple[Any, ...]]:
    return list(Membership.objects.values_list("user__username", "team__slug", "role", "from_group"))


def test_groups_give_the_highest_role_that_they_say(provider: IdentityProvider, research: Team) -> None:
    in_groups(provider, "ml", "ml-leads", "unknown", 7, None)
    assert roles() == [("eve", "research", "admin", "ml-leads")]
    in_groups(provider, "ml")
    assert roles() == [("eve", "research", "member", "ml")]
    told = Event.objects.filter(team=research).order_by("pk").values_list("verb", "who", "target")
    assert list(told) == [("member.add", "quarterdeck", "eve"), ("member.role", "quarterdeck", "eve")]


def test_membership_goes_with_the_group(provider: IdentityProvider, research: Team) -> None:
    client = Client()
    in_groups(provider, "ml", client=client)
    assert client.get("/t/research/").status_code == 200
    in_groups(provider)
    assert roles() == [] and client.get("/t/research/").status_code == 404
    assert Event.objects.get(verb="member.remove").detail["why"] == "no longer in ml"


def test_membership_that_a_person_gave_is_left_alone(provider: IdentityProvider, research: Team) -> None:
    in_groups(provider)
    Membership.objects.create(team=research, user=User.objects.get(), role="viewer")
    in_groups(provider, "ml-leads")
    in_groups(provider)
    assert roles() == [("eve", "research", "viewer", "")]


def test_mapping_that_was_taken_away_takes_its_memberships(
    provider: IdentityProvider, research: Team
) -> None:
    in_groups(provider, "ml")
    GroupRole.objects.all().delete()
    in_groups(provider, "ml")
    assert roles() == []


def test_role_of_a_group_is_not_changed_by_hand(provider: IdentityProvider, research: Team) -> None:
    in_groups(provider, "ml")
    lin = User.objects.create(username="lin")
    Membership.objects.create(team=research, user=lin, role="owner")
    owner = Client()
    owner.force_login(lin)
    page = owner.get("/t/research/members/").content.decode()
    assert "eve is member by the group ml." in page and "by ml" in page
    answer = owner.post("/t/research/members/role/", {"member": "eve", "role": "viewer"})
    assert answer.status_code == 409 and ("eve", "research", "member", "ml") in roles()
    assert owner.post("/t/research/members/removal/", {"member": "eve"}).status_code == 409


def test_second_factor_is_asked_for_all_the_same(provider: IdentityProvider) -> None:
    sign_in(provider)
    Authenticator.objects.create(user=User.objects.get(), type="totp", data={"secret": ""})
    client = Client()
    assert sign_in(provider, client=client).headers["Location"] == "/sign-in/second-factor/"
    assert not is_in(client)


def test_session_ends_within_the_day_so_that_groups_are_asked_again(
    provider: IdentityProvider, settings
) -> None:
    settings.OIDC_SESSION_S = 3600
    sign_in(provider)
    row = BrowserSession.objects.get(user__username="eve")
    assert 3500 < (row.expire_date - row.began_at).total_seconds() < 3700


def test_person_without_a_password_confirms_with_the_provider(provider: IdentityProvider) -> None:
    client = Client()
    sign_in(provider, client=client)
    session = client.session
    session["confirmed-at"] = 0
    session.save()
    asked = client.get("/profile/app/").headers["Location"]
    page = client.get(asked).content.decode()
    assert "Sign in again with Example ID" in page and 'name="password"' not in page
    off = client.get("/sign-in/provider/", {"next": "/profile/app/"}).headers["Location"]
    assert parse_qs(urlsplit(off).query)["prompt"] == ["login"]
    back = provider.sends_back(off, "e1").removeprefix("http://testserver")
    assert client.get(back).headers["Location"] == "/profile/app/"
    assert client.get("/profile/app/").status_code == 200


def test_page_offers_the_provider_only_where_there_is_one(
    db: None, provider: IdentityProvider, settings
) -> None:
    assert b"Sign in with Example ID" in Client().get("/sign-in/").content
    settings.OIDC_ISSUER = ""
    assert b"Example ID" not in Client().get("/sign-in/").content
    assert Client().get("/sign-in/provider/").status_code == 404


def test_issuer_without_tls_stops_the_start(monkeypatch) -> None:
    monkeypatch.setenv("QUARTERDECK_OIDC_ISSUER", "http://id.example")
    with pytest.raises(ImproperlyConfigured, match="https"):
        settings_module.issuer("QUARTERDECK_OIDC_ISSUER")


def signed_out(client: Client):  # type: ignore[no-untyped-def]
    """Where the page after signing out leads, empty when it is the sign-in page at once."""
    answer = client.post("/sign-out/")
    found = re.search(r'<meta http-equiv="refresh" content="0; url=([^"]+)">', answer.content.decode())
    assert found or answer.headers["Location"] == "/sign-in/"
    return unescape(found[1]) if found else ""


def test_signing_out_leads_on_to_the_provider_which_knows_whom(provider: IdentityProvider) -> None:
    client = Client()
    sign_in(provider, client=client)
    session = BrowserSession.objects.get()
    there = signed_out(client)
    asked = parse_qs(urlsplit(there).query)
    assert not is_in(client) and there.startswith(f"{provider.url}/oauth2/end_session?")
    assert asked["post_logout_redirect_uri"] == ["http://testserver/sign-in/"]
    claims = jwt.decode(asked["id_token_hint"][0], options={"verify_signature": False})
    assert (asked["client_id"], claims["sub"]) == (["qd"], "e1")
    assert requests.get(there, timeout=10).status_code == 200
    # The token is in the session, and nobody reads it there.
    assert asked["id_token_hint"][0] not in str(Client().session.decode(session.session_data))


def test_signing_out_stays_here_without_the_provider_s_offer(provider: IdentityProvider, settings) -> None:
    settings.OIDC_SIGN_OUT = False
    client = Client()
    sign_in(provider, client=client)
    assert signed_out(client) == ""
    settings.OIDC_SIGN_OUT = True
    client = Client()
    client.force_login(User.objects.get())
    assert signed_out(client) == ""


@pytest.mark.parametrize(
    "endpoint", [None, 7, "javascript:alert(1)", "http://idp.example/out", "//idp.example"]
)
def test_address_to_sign_out_at_that_is_not_safe_is_not_used(
    provider: IdentityProvider, monkeypatch: pytest.MonkeyPatch, endpoint: object
) -> None:
    keep = oidc_sign_out.keep
    monkeypatch.setattr(oidc_sign_out, "keep", lambda request, _, token: keep(request, endpoint, token))
    client = Client()
    sign_in(provider, client=client)
    assert is_in(client) and signed_out(client) == ""


def test_after_the_keys_were_changed_the_provider_is_asked_without_the_token(
    provider: IdentityProvider,
) -> None:
    client = Client()
    sign_in(provider, client=client)
    session = client.session
    foreign = Fernet(Fernet.generate_key()).encrypt(b"sealed under a key that is gone").decode()
    session[oidc_sign_out.KEPT] = {**session[oidc_sign_out.KEPT], "hint": foreign}
    session.save()
    there = signed_out(client)
    assert there.startswith(provider.url) and "id_token_hint" not in there
