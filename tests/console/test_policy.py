"""A team that requires a second factor shows nothing to a member who has none: pages, API and live pages alike."""

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client

from console.access import membership_for
from console.errors import SecondFactorNeeded
from console.models import Event, Team, User
from console.roles import Action
from console.tokens import make_token
from tests.cast import Cast, the_cast, tiny_cluster

CODE = "second-factor-needed"


@pytest.fixture
def cast(db: None) -> Cast:
    """Ada has a second factor, nobody else has; the team requires none yet."""
    cast = the_cast()
    Authenticator.objects.create(user=cast.ada.user, type="totp", data={"secret": ""})
    tiny_cluster(cast.team)
    return cast


@pytest.fixture
def strict(cast: Cast) -> Cast:
    Team.objects.update(requires_second_factor=True)
    return cast


def browser(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.mark.parametrize(
    "path", ["/t/research/", "/t/research/c/tiny/", "/t/research/members/", "/t/research/jobs/"]
)
def test_member_without_one_is_led_to_set_it_up_and_sees_nothing(strict: Cast, path: str) -> None:
    refused = browser(strict.ben.user).get(path)
    html = refused.content.decode()
    assert refused.status_code == 403 and 'href="/profile/#factors"' in html
    assert "tiny" not in html.replace(path, "") and "ada" not in html
    assert browser(strict.ada.user).get(path).status_code == 200


def test_profile_says_who_requires_it(strict: Cast) -> None:
    html = browser(strict.ben.user).get("/profile/").content.decode()
    assert "<b>research requires one.</b>" in " ".join(html.split())


def test_token_of_a_member_without_one_reaches_nothing(strict: Cast) -> None:
    def api(user: User):  # type: ignore[no-untyped-def]
        client = Client(headers={"authorization": f"Bearer {make_token(user, 'script')}"})
        return client.get("/api/v1/teams/research/clusters")

    refused = api(strict.ben.user)
    assert (refused.status_code, refused.json()["title"]) == (403, CODE)
    assert api(strict.ada.user).status_code == 200


def test_door_of_sockets_is_the_same(strict: Cast) -> None:
    with pytest.raises(SecondFactorNeeded):
        membership_for(strict.ben.user, "research", Action.TERMINAL)
    Authenticator.objects.create(user=strict.ben.user, type="webauthn", data={})
    assert membership_for(strict.ben.user, "research", Action.TERMINAL).role == "operator"


def test_recovery_codes_alone_are_no_second_factor(strict: Cast) -> None:
    Authenticator.objects.create(user=strict.ben.user, type="recovery_codes", data={})
    with pytest.raises(SecondFactorNeeded):
        membership_for(strict.ben.user, "research", Action.VIEW)


def test_stranger_learns_nothing_of_the_policy(strict: Cast) -> None:
    assert browser(strict.dee).get("/t/research/").status_code == 404


def test_refusal_is_written_down(strict: Cast) -> None:
    browser(strict.ben.user).get("/t/research/")
    event = Event.objects.get(verb="door")
    assert (event.who, event.outcome) == ("ben", "refused") and "second factor" in event.detail["reason"]


def test_owner_requires_it_and_takes_it_back(cast: Cast) -> None:
    client = browser(cast.ada.user)
    asked = client.get("/t/research/policy/").content.decode()
    assert "3 people without one are asked" in " ".join(asked.split()) and "ben, cy, mo" in asked
    assert client.post("/t/research/policy/", {"required": "1"}).headers["Location"] == "/t/research/members/"
    assert (
        Team.objects.get().requires_second_factor
        and "required" in client.get("/t/research/members/").content.decode()
    )
    client.post("/t/research/policy/", {"required": "0"})
    assert not Team.objects.get().requires_second_factor
    events = Event.objects.filter(verb="team.second-factor").order_by("pk")
    assert list(events.values_list("who", "target")) == [("ada", "required"), ("ada", "not required")]


def test_owner_does_not_shut_themselves_out(cast: Cast) -> None:
    Authenticator.objects.all().delete()
    client = browser(cast.ada.user)
    assert b"would shut yourself out" in client.get("/t/research/policy/").content
    assert client.post("/t/research/policy/", {"required": "1"}).status_code == 409
    assert not Team.objects.get().requires_second_factor


def test_operator_may_not_change_it(cast: Cast) -> None:
    assert browser(cast.ben.user).post("/t/research/policy/", {"required": "1"}).status_code == 403
