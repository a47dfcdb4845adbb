"""Platform staff: they see and manage every team, and what they do in one that is not theirs is marked as such."""

import json

import pytest
from django.test import Client

from clusters.access import cluster_for
from console import audit, events, invitations, members, sink
from console.access import membership_for
from console.errors import Conflict, Forbidden, Missing
from console.models import Event, Membership, Team, User
from console.roles import Action, Role, Scope
from console.tokens import make_token
from tests.cast import Cast, person, tiny_cluster

PEOPLE = "/t/research/members/"


@pytest.fixture
def ops(cast: Cast) -> User:
    """Staff, in no team."""
    return User.objects.create(username="ops", is_staff=True)


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_staff_is_owner_of_a_team_that_they_are_not_in(cast: Cast, ops: User) -> None:
    tiny_cluster(cast.team)
    assert cluster_for(ops, "research", "tiny", Action.DELETE_CLUSTER).membership.as_staff
    assert not Membership.objects.filter(user=ops).exists()
    with pytest.raises(Missing):
        membership_for(ops, "nowhere", Action.VIEW)


def test_what_staff_does_in_a_team_is_marked_and_shown(cast: Cast, ops: User) -> None:
    client = signed_in(ops)
    assert client.post(f"{PEOPLE}role/", {"member": "mo", "role": "operator"}).status_code == 302
    event = Event.objects.latest("pk")
    assert (event.verb, event.who, event.as_staff) == ("member.role", "ops", True)
    page = client.get("/t/research/activity/").content.decode()
    assert "as staff" in page and "you act here as platform staff" in page
    sheet = b"".join(client.get("/t/research/activity.csv")).decode()
    assert "ops (platform staff)" in sheet
    assert json.loads(sink.line(event))["as_staff"] is True
    assert client.get("/api/v1/teams/research/activity").json()["results"][0]["as_staff"] is True


def test_mark_is_part_of_the_chain(cast: Cast, ops: User) -> None:
    members.change_role("mo", Role.OPERATOR, by=membership_for(ops, "research", Action.VIEW))
    assert events.values_of(Event.objects.latest("pk"))["as_staff"] is True
    assert not any(chain.fault for chain in audit.verify())


def test_event_from_before_the_mark_keeps_its_digest(cast: Cast) -> None:
    event = events.record("member.add", by=cast.ada.user, team=cast.team, target="mo")
    assert "as_staff" not in events.values_of(event)


def test_staff_who_is_a_member_acts_by_their_role(cast: Cast, ops: User) -> None:
    Membership.objects.create(team=cast.team, user=ops, role=Role.VIEWER)
    with pytest.raises(Forbidden):
        membership_for(ops, "research", Action.CHANGE_MEMBERS)
    assert not events.record("x", by=ops, team=cast.team).as_staff


def test_people_who_are_not_staff_get_no_further(cast: Cast) -> None:
    assert signed_in(cast.dee).get("/t/research/").status_code == 404
    assert signed_in(cast.dee).get("/teams/").status_code == 403


def test_token_of_staff_needs_the_scope_admin_for_it(cast: Cast, ops: User) -> None:
    for scopes, status in (({Scope.READ, Scope.OPERATE}, 404), ({Scope.ADMIN}, 200)):
        headers = {"Authorization": f"Bearer {make_token(ops, 'x', scopes=scopes)}"}
        assert Client().get("/api/v1/teams/research/clusters", headers=headers).status_code == status


def test_staff_neither_leaves_nor_hands_over_what_they_are_not_in(cast: Cast, ops: User) -> None:
    visiting = membership_for(ops, "research", Action.VIEW)
    for act in (lambda: members.leave(by=visiting), lambda: members.hand_over("ben", by=visiting)):
        with pytest.raises(Conflict, match="platform staff"):
            act()
    client = signed_in(ops)
    assert "you are here as platform staff" in client.get(PEOPLE).content.decode()
    assert client.post(f"{PEOPLE}leaving/").status_code == 409


def test_invitation_of_staff_lets_in(cast: Cast, ops: User) -> None:
    visiting = membership_for(ops, "research", Action.VIEW)
    _, token = invitations.invite(Role.OWNER, by=visiting)
    assert invitations.accept(token, cast.dee).role == "owner"
    _, late = invitations.invite(Role.OWNER, by=visiting)
    User.objects.filter(pk=ops.pk).update(is_staff=False)
    with pytest.raises(Missing):
        invitations.accept(late, person("eli"))


def test_staff_lists_all_teams_and_makes_one(cast: Cast, ops: User) -> None:
    client = signed_in(ops)
    assert 'href="/t/research/"' in client.get("/teams/").content.decode()
    made = client.post("/teams/new/", {"slug": "vision", "name": "Vision", "owner": "mo"})
    assert made.status_code == 302 and made.headers["Location"] == "/t/vision/members/"
    assert Membership.objects.get(team__slug="vision").role == "owner"
    event = Event.objects.latest("pk")
    assert (event.verb, event.team_slug, event.who) == ("team.make", "vision", "ops")


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"slug": "research"}, "a team of that name already"),
        ({"slug": "Bad Slug"}, "Use 1 to 40 lower-case letters"),
        ({"owner": "nobody"}, "no account called nobody"),
    ],
)
def test_team_that_cannot_be_made_keeps_the_form(
    cast: Cast, ops: User, fields: dict[str, str], why: str
) -> None:
    answer = signed_in(ops).post("/teams/new/", {"slug": "vision", "name": "Vision", "owner": "mo"} | fields)
    assert answer.status_code == 422 and why in answer.content.decode()
    assert Team.objects.count() == 1


def test_admin_site_changes_nobodys_role_unseen(cast: Cast, ops: User) -> None:
    ops.is_superuser = True
    ops.save()
    client = signed_in(ops)
    url = f"/admin/console/team/{cast.team.pk}/change/"
    assert 'name="memberships-0-role"' not in client.get(url).content.decode()
    client.post(url, {"name": "Research", "memberships-TOTAL_FORMS": "1", "memberships-INITIAL_FORMS": "0",
                      "memberships-0-user": cast.dee.pk, "memberships-0-role": "owner"})  # fmt: skip
    assert not Membership.objects.filter(user=cast.dee).exists()
