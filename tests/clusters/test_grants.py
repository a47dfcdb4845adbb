"""Roles on one cluster: they add to the team's there and nowhere else, by every door, and end with the membership."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from clusters import changes, grants, opening
from clusters.access import Door, cluster_for
from clusters.models import Cluster, Grant
from console import members
from console.errors import Conflict, Forbidden, Missing
from console.models import Event
from console.roles import Action, Role
from tests.cast import Cast, person, the_cast, tiny_cluster, tiny_spec

PEOPLE = "/t/research/c/tiny/people/"
API = "/api/v1/teams/research/clusters/tiny/people"
JSON = {"content_type": "application/json"}


@pytest.fixture
def cast(db: None) -> Cast:
    return the_cast()


@pytest.fixture
def tiny(cast: Cast) -> Cluster:
    return tiny_cluster(cast.team)


@pytest.fixture
def other(cast: Cast) -> Cluster:
    return tiny_cluster(cast.team, spec=tiny_spec("other"))


def door(name: str, action: Action = Action.VIEW, cluster: str = "tiny") -> Door:
    return cluster_for(person(name), "research", cluster, action)


def signed_in(name: str) -> Client:
    client = Client()
    client.force_login(person(name))
    return client


def test_viewer_with_a_grant_reaches_that_cluster_and_no_other(tiny: Cluster, other: Cluster) -> None:
    grants.give(door("ada"), "cy", Role.OPERATOR)
    assert door("cy", Action.OPERATE_NODE).role is Role.OPERATOR
    with pytest.raises(Forbidden):
        door("cy", Action.OPERATE_NODE, "other")
    with pytest.raises(Forbidden, match="you are operator"):
        door("cy", Action.CHANGE_CLUSTER)
    assert signed_in("cy").get("/t/research/clusters/new/").status_code == 403


def test_grant_below_the_team_role_takes_nothing_away(tiny: Cluster, cast: Cast) -> None:
    Grant.objects.create(cluster=tiny, membership=cast.ada, role=Role.VIEWER)
    assert door("ada", Action.DELETE_CLUSTER).role is Role.OWNER


def test_grant_carries_a_change_to_its_end(
    tiny: Cluster, other: Cluster, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening.apply_change, "delay", lambda pk: None)
    grants.give(door("ada"), "mo", Role.ADMIN)
    changes.reconfigure(tiny, by=cast.mo)
    with pytest.raises(Forbidden):
        changes.reconfigure(other, by=cast.mo)
    assert tiny.changes.count() == 1 and other.changes.count() == 0


def test_nobody_gives_or_takes_above_their_own(tiny: Cluster, cast: Cast) -> None:
    grants.give(door("ada"), "mo", Role.ADMIN)
    with pytest.raises(Forbidden, match="above your own: you are admin on tiny"):
        grants.give(door("mo"), "cy", Role.OWNER)
    grants.give(door("mo"), "cy", Role.OPERATOR)
    grants.give(door("ada"), "ben", Role.OWNER)
    with pytest.raises(Forbidden):
        grants.withdraw(door("mo"), "ben")
    assert Grant.objects.get(membership=cast.ben).role == "owner"
    assert [event.outcome for event in Event.objects.filter(verb__startswith="grant.")] == [
        "refused", "done", "done", "refused", "done",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["ben", "mo", "cy"])
def test_less_than_an_admin_gives_nothing(tiny: Cluster, name: str) -> None:
    client = signed_in(name)
    page = client.get(PEOPLE).content.decode()
    assert "Needs the role admin; you are" in page and "ada (owner) can give it to you." in page
    assert "people/grant/?name=" not in page
    assert client.post(f"{PEOPLE}grant/", {"member": name, "role": "admin"}).status_code == 403
    assert client.put(f"{API}/{name}", {"role": "admin"}, **JSON).status_code == 403
    assert not Grant.objects.exists()


def test_dialogs_give_and_take_back(tiny: Cluster, cast: Cast) -> None:
    client = signed_in("ada")
    html = client.get(f"{PEOPLE}grant/", {"name": "mo"}).content.decode()
    assert 'value="operator"' in html and 'value="viewer"' not in html and 'value="member"' not in html
    assert client.post(f"{PEOPLE}grant/", {"member": "mo", "role": "operator"}).status_code == 302
    event = Event.objects.latest("pk")
    assert (event.verb, event.cluster, event.target, event.detail) == (
        "grant.give", "tiny", "mo", {"role": "operator"},
    )  # fmt: skip
    row = client.get(PEOPLE).content.decode().split(f'id="person-{cast.mo.pk}"')[1].split("</tr>")[0]
    assert row.count("operator") == 2 and "Take back" in row
    assert client.post(f"{PEOPLE}withdrawal/", {"member": "mo"}).status_code == 302
    assert door("mo").role is Role.MEMBER
    assert client.post(f"{PEOPLE}withdrawal/", {"member": "mo"}).status_code == 404


def test_role_that_adds_nothing_is_refused(tiny: Cluster) -> None:
    with pytest.raises(Conflict, match="ben is operator in the whole team"):
        grants.give(door("ada"), "ben", Role.MEMBER)
    assert signed_in("ada").post(f"{PEOPLE}grant/", {"member": "ben", "role": "member"}).status_code == 422


def test_only_members_are_given_roles(tiny: Cluster) -> None:
    with pytest.raises(Missing):
        grants.give(door("ada"), "dee", Role.OPERATOR)
    with pytest.raises(Missing):
        door("dee")


def test_grant_ends_with_the_membership(tiny: Cluster, cast: Cast) -> None:
    grants.give(door("ada"), "mo", Role.ADMIN)
    members.remove("mo", by=cast.ada)
    members.add("mo", Role.VIEWER, by=cast.ada)
    assert door("mo").role is Role.VIEWER


def test_change_of_a_grant_is_announced_to_open_sockets(
    tiny: Cluster, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[int] = []
    monkeypatch.setattr(grants.live, "rights_changed", told.append)
    grants.give(door("ada"), "mo", Role.OPERATOR)
    grants.withdraw(door("ada"), "mo")
    assert told == [cast.mo.user_id] * 2


def test_api_lists_gives_and_takes_back(tiny: Cluster) -> None:
    client = signed_in("ada")
    assert client.put(f"{API}/cy", {"role": "member"}, **JSON).status_code == 204
    rows = {row["name"]: row for row in client.get(API).json()["results"]}
    assert rows["cy"] == {"name": "cy", "role": "member", "in_team": "viewer", "granted": "member"}
    assert rows["ada"]["granted"] is None
    assert client.delete(f"{API}/cy").status_code == 204
    assert client.delete(f"{API}/cy").status_code == 404
    assert client.put(f"{API}/no%00body", {"role": "member"}, **JSON).status_code == 400


def test_grant_costs_the_door_no_query(tiny: Cluster, cast: Cast) -> None:
    with CaptureQueriesContext(connection) as queries:
        cluster_for(cast.cy.user, "research", "tiny", Action.VIEW)
    assert len(queries) == 2
