"""A second factor of the identity provider counts where the settings say so, for what came with it and nothing else."""

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.hashers import make_password
from django.test import Client

from console.access import membership_for
from console.errors import SecondFactorNeeded
from console.models import BrowserSession, Membership, Team, User
from console.provider_factor import mark_absent
from console.roles import Action
from console.sessions import signed_in
from tests.console.test_oidc import changed, provider, running, sign_in
from tests.identity_provider import IdentityProvider, honest

__all__ = ["provider", "running"]
PASSWORD = "correct-horse-battery"


@pytest.fixture
def strict(provider: IdentityProvider, settings) -> Team:
    """Eve owns a team that requires a second factor, and has none here. The provider's `mfa` counts, and `gold`."""
    settings.OIDC_FACTOR_AMR, settings.OIDC_FACTOR_ACR = ["hwk", "mfa"], ["gold"]
    eve = User.objects.create(username="eve", email="eve@example.org", password=make_password(PASSWORD))
    team = Team.objects.create(slug="research", name="Research", requires_second_factor=True)
    Membership.objects.create(team=team, user=eve, role="owner")
    return team


def came(provider: IdentityProvider, client: Client | None = None, **claims: object) -> Client:
    client = client or Client()
    provider.forge = changed(**claims)
    assert sign_in(provider, client=client).status_code == 302
    return client


def opens(client: Client) -> bool:
    status = client.get("/t/research/members/").status_code
    assert status in (200, 403)
    return status == 200


def key_of(client: Client) -> str:
    return client.cookies["sessionid"].value


@pytest.mark.parametrize("claims", [{"amr": ["pwd", "mfa"]}, {"amr": ["hwk"]}, {"acr": "gold"}])
def test_factor_of_the_provider_opens_the_team(
    strict: Team, provider: IdentityProvider, claims: dict[str, object]
) -> None:
    client = came(provider, **claims)
    assert opens(client)
    profile = client.get("/profile/").content.decode()
    assert "by your provider" in profile and "requires one" not in profile
    assert signed_in(key_of(client)).came_with_factor


@pytest.mark.parametrize(
    "claims",
    [
        {}, {"amr": ["pwd"]}, {"amr": "mfa"}, {"amr": [["mfa"], None, 7]}, {"amr": {"mfa": True}}, {"acr": ""},
        {"acr": ["gold"]}, {"acr": None}, {"acr": "gold plated"}, {"amr": ["gold"], "acr": "mfa"},
    ],
    ids=str,
)  # fmt: skip
def test_anything_else_is_none(strict: Team, provider: IdentityProvider, claims: dict[str, object]) -> None:
    client = came(provider, **claims)
    assert not opens(client) and "research requires one" in client.get("/profile/").content.decode()


def test_without_the_settings_nothing_counts(strict: Team, provider: IdentityProvider, settings) -> None:
    client = came(provider, amr=["mfa"], acr="gold")
    assert opens(client)
    settings.OIDC_FACTOR_AMR = settings.OIDC_FACTOR_ACR = []
    assert not opens(client) and not opens(came(provider, amr=["mfa"], acr=""))


def test_what_userinfo_says_counts_for_nothing(strict: Team, provider: IdentityProvider) -> None:
    provider.has("e1", email="eve@example.org", email_verified=True, amr=["mfa"], acr="gold")
    client = Client()
    # This provider tells the same in both; here the token keeps it to itself.
    provider.forge = lambda told: {name: told[name] for name in told if name not in ("amr", "acr")}
    assert sign_in(provider, client=client).status_code == 302
    assert not opens(client)
    provider.forge = honest
    assert sign_in(provider, client=client).status_code == 302 and opens(client)


def test_password_of_the_same_person_opens_nothing_meanwhile(
    strict: Team, provider: IdentityProvider
) -> None:
    there, here = came(provider, amr=["mfa"]), Client()
    here.post("/sign-in/", {"username": "eve", "password": PASSWORD})
    assert here.get("/profile/").status_code == 200
    assert opens(there) and not opens(here)


@pytest.mark.parametrize("again", ["password", "provider"])
def test_signing_in_anew_without_it_takes_it_away(
    strict: Team, provider: IdentityProvider, again: str
) -> None:
    client = came(provider, amr=["mfa"])
    if again == "provider":
        came(provider, client)
    else:
        client.post("/sign-out/")
        client.post("/sign-in/", {"username": "eve", "password": PASSWORD})
    assert client.get("/profile/").status_code == 200 and not opens(client)
    assert not BrowserSession.objects.filter(came_with_factor=True).exists()


def token_made_in(client: Client) -> Client:
    fields = {"name": "nightly", "scopes": ["read"], "days": "90"}
    made = client.post("/profile/tokens/new/", fields)
    return Client(headers={"authorization": f"Bearer {made.context['token']}"})


def test_token_made_in_such_a_session_reaches_the_team_and_no_other_does(
    strict: Team, provider: IdentityProvider, settings
) -> None:
    there, here = came(provider, amr=["mfa"]), came(provider)
    good, other = token_made_in(there), token_made_in(here)
    there.post("/sign-out/")
    assert good.get("/api/v1/teams/research/members").status_code == 200
    assert other.get("/api/v1/teams/research/members").status_code == 403
    settings.OIDC_FACTOR_AMR = settings.OIDC_FACTOR_ACR = []
    assert good.get("/api/v1/teams/research/members").status_code == 403


def test_what_was_left_running_goes_on_while_such_a_session_lasts(
    strict: Team, provider: IdentityProvider
) -> None:
    eve = User.objects.get()
    client = came(provider, amr=["mfa"])
    mark_absent(eve)
    assert membership_for(eve, "research", Action.TERMINAL).role == "owner"
    client.post("/sign-out/")
    came(provider)
    mark_absent(eve)
    with pytest.raises(SecondFactorNeeded):
        membership_for(eve, "research", Action.TERMINAL)


def test_factor_set_up_here_is_asked_for_all_the_same(strict: Team, provider: IdentityProvider) -> None:
    Authenticator.objects.create(user=User.objects.get(), type="totp", data={"secret": ""})
    client = came(provider, amr=["mfa"])
    assert client.get("/t/research/members/").headers["Location"].startswith("/sign-in/")


def test_provider_is_asked_for_what_the_settings_say(strict: Team, settings) -> None:
    assert "acr_values" not in Client().get("/sign-in/provider/").headers["Location"]
    settings.OIDC_ACR_VALUES = ["gold", "silver"]
    assert "acr_values=gold+silver" in Client().get("/sign-in/provider/").headers["Location"]


def test_owner_who_came_with_one_may_require_it(strict: Team, provider: IdentityProvider) -> None:
    Team.objects.update(requires_second_factor=False)
    mo = User.objects.create(username="mo")
    Membership.objects.create(team=strict, user=mo, role="member")
    owner, without = came(provider, amr=["mfa"]), came(provider)
    assert without.post("/t/research/policy/", {"required": "1"}).status_code == 409
    asked = " ".join(owner.get("/t/research/policy/").content.decode().split())
    assert "1 person without one is asked" in asked and "<b>mo</b>" in asked
    assert owner.post("/t/research/policy/", {"required": "1"}).status_code == 302
    assert opens(owner) and not opens(without)
