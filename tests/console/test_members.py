"""A team's people: who may change whom, that an owner stays, and that open sockets hear of it at once."""

import threading

import pytest
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.db import connection

from console import live, members
from console.errors import Conflict, ConsoleError, Forbidden, Rejected
from console.models import Event, Membership, User
from console.roles import Role
from tests.cast import Cast, the_cast
from tests.console.people import PEOPLE, role_of, signed_in

API = "/api/v1/teams/research/members"


def last_event() -> Event:
    return Event.objects.latest("pk")


def test_viewer_sees_everybody_and_changes_nobody(cast: Cast) -> None:
    client = signed_in("cy")
    html = client.get(PEOPLE).content.decode()
    for name in ("ada", "ben", "mo", "cy"):
        assert f">{name}</span>" in html
    assert "Needs the role admin; you are viewer." in html
    table = html.split('id="members"')[1].split("</table>")[0]
    assert table.count("hx-get") == 1 and 'hx-get="/t/research/members/leaving/"' in table


@pytest.mark.parametrize("name", ["cy", "mo", "ben"])
@pytest.mark.parametrize("page", ["add/", "role/?name=mo", "removal/?name=mo"])
def test_less_than_an_admin_is_refused(cast: Cast, name: str, page: str) -> None:
    response = signed_in(name).post(PEOPLE + page, {"name": "dee", "role": "owner"})
    assert response.status_code == 403
    assert b"you need to be admin of research" in response.content
    assert role_of("mo") == "member" and role_of("dee") is None


def test_stranger_finds_no_team(cast: Cast) -> None:
    assert signed_in("dee").get(PEOPLE).status_code == 404


def test_admin_adds_an_account_by_name(lin: Membership) -> None:
    response = signed_in("lin").post(f"{PEOPLE}add/", {"name": "dee", "role": "operator"})
    assert response.status_code == 302 and response.headers["Location"] == PEOPLE
    assert role_of("dee") == "operator"
    assert Membership.objects.get(user__username="dee").joined_at is not None
    event = last_event()
    assert (event.verb, event.who, event.target, event.outcome) == ("member.add", "lin", "dee", "done")
    assert event.detail == {"role": "operator"} and event.address == "127.0.0.1"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("nobody", "There is no account called nobody."),
        ("mo", "mo is in research already."),
        ("gone", "The account gone is closed."),
        ("", "This field is required."),
        ("a\0b", "Null characters are not allowed."),
    ],
)
def test_name_that_cannot_be_added_keeps_the_form(lin: Membership, name: str, why: str) -> None:
    User.objects.create(username="gone", is_active=False)
    response = signed_in("lin").post(f"{PEOPLE}add/", {"name": name, "role": "viewer"})
    assert response.status_code == 422 and why in response.content.decode()


def test_admin_gives_no_role_above_admin(lin: Membership) -> None:
    client = signed_in("lin")
    assert 'value="owner"' not in client.get(f"{PEOPLE}add/").content.decode()
    for page, name in (("add/", "dee"), ("role/", "mo"), ("role/", "lin")):
        response = client.post(PEOPLE + page, {"name": name, "member": name, "role": "owner"})
        assert response.status_code == 422, page
    with pytest.raises(Forbidden, match="Owner is a role above your own"):
        members.change_role("lin", Role.OWNER, by=lin)
    with pytest.raises(Forbidden):
        members.add("dee", Role.OWNER, by=lin)
    assert (role_of("lin"), role_of("mo"), role_of("dee")) == ("admin", "member", None)


def test_admin_reaches_no_owner(lin: Membership) -> None:
    client = signed_in("lin")
    assert client.post(f"{PEOPLE}role/", {"member": "ada", "role": "viewer"}).status_code == 403
    assert client.post(f"{PEOPLE}removal/", {"member": "ada"}).status_code == 403
    assert role_of("ada") == "owner"
    assert last_event().outcome == "refused"
    assert last_event().detail["error"] == "ada is owner above your own: you are admin."
    assert "ada is owner above your own" in client.get(PEOPLE).content.decode()


def test_last_owner_neither_leaves_nor_steps_down(cast: Cast) -> None:
    client = signed_in("ada")
    for page, body in (("role/", {"role": "admin"}), ("removal/", {})):
        response = client.post(PEOPLE + page, {"member": "ada", **body})
        assert response.status_code == 409
        assert "the last owner of research" in response.content.decode()
    assert role_of("ada") == "owner"
    assert [event.outcome for event in Event.objects.all()] == ["refused", "refused"]


def test_owner_who_cannot_sign_in_does_not_count(cast: Cast) -> None:
    Membership.objects.filter(user__username="ben").update(role=Role.OWNER)
    User.objects.filter(username="ben").update(is_active=False)
    with pytest.raises(Conflict):
        members.remove("ada", by=cast.ada)
    members.remove("ben", by=cast.ada)
    assert role_of("ben") is None


def test_owner_steps_down_when_another_stays(cast: Cast) -> None:
    members.change_role("ben", Role.OWNER, by=cast.ada)
    members.change_role("ada", Role.VIEWER, by=cast.ada)
    with pytest.raises(Forbidden, match="you are viewer"):
        members.change_role("ada", Role.OWNER, by=cast.ada)  # what the caller holds is asked again
    assert (role_of("ada"), role_of("ben")) == ("viewer", "owner")


def test_admin_who_leaves_lands_at_home(lin: Membership) -> None:
    response = signed_in("lin").post(f"{PEOPLE}removal/", {"member": "lin"})
    assert response.status_code == 302 and response.headers["Location"] == "/"
    assert role_of("lin") is None


@pytest.mark.django_db(transaction=True)
def test_two_owners_who_demote_each_other_leave_one() -> None:
    cast = the_cast()
    Membership.objects.filter(pk=cast.ben.pk).update(role=Role.OWNER)
    cast.ben.refresh_from_db()
    start, errors = threading.Barrier(2), []

    def demote(name: str, by: Membership) -> None:
        try:
            start.wait(10)
            members.change_role(name, Role.VIEWER, by=by)
        except ConsoleError as error:
            errors.append(error)
        finally:
            connection.close()

    both = [threading.Thread(target=demote, args=pair) for pair in (("ada", cast.ben), ("ben", cast.ada))]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join(30)
    assert sorted([role_of("ada"), role_of("ben")]) == ["owner", "viewer"]
    assert len(errors) == 1 and isinstance(errors[0], Forbidden)


@pytest.mark.parametrize("act", ["demote", "remove"])
def test_losing_a_role_is_announced_to_open_sockets(
    cast: Cast, settings, django_capture_on_commit_callbacks, act: str
) -> None:
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
    layer = get_channel_layer()
    async_to_sync(layer.group_add)(live.user_topic(cast.mo.user_id), "socket")
    with django_capture_on_commit_callbacks(execute=True):
        if act == "demote":
            members.change_role("mo", Role.VIEWER, by=cast.ada)
        else:
            members.remove("mo", by=cast.ada)
        assert not layer.channels
    assert async_to_sync(layer.receive)("socket") == {"type": "rights.changed"}


def test_hostile_names_are_shown_and_stay_within_reach(cast: Cast) -> None:
    names = ['<script>alert("x")</script>', "..", "a/b?c=d&e", "{{ 7 }}"]
    for name in names:
        user = User.objects.create(username=name, first_name="<img src=x onerror=alert(1)>")
        Membership.objects.create(team=cast.team, user=user, role=Role.MEMBER)
    client = signed_in("ada")
    html = client.get(PEOPLE).content.decode()
    assert "<script>alert" not in html and "<img src=x" not in html
    assert "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;" in html
    for name in names:
        page = client.get(f"{PEOPLE}role/", {"name": name})
        assert page.status_code == 200 and b"<script>alert" not in page.content
        assert client.post(f"{PEOPLE}removal/", {"member": name}).status_code == 302
        assert role_of(name) is None
    assert b"<script>alert" not in client.get("/t/research/activity/").content


def test_dialog_is_answered_with_the_way_back(cast: Cast) -> None:
    headers = {"HX-Request": "true", "HX-Target": "dialog"}
    client = signed_in("ada")
    page = client.get(f"{PEOPLE}role/", {"name": "mo"}, headers=headers)
    assert b'class="dlg"' in page.content and b"<html" not in page.content
    done = client.post(f"{PEOPLE}role/", {"member": "mo", "role": "operator"}, headers=headers)
    assert done.status_code == 204 and done.headers["HX-Redirect"] == PEOPLE


def test_member_of_another_team_is_out_of_reach(cast: Cast) -> None:
    other = the_cast("other")
    Membership.objects.filter(team=other.team).exclude(user__username="mo").delete()
    Membership.objects.filter(team=cast.team, user__username="mo").delete()
    response = signed_in("ada").post(f"{PEOPLE}removal/", {"member": "mo"})
    assert response.status_code == 404
    assert Membership.objects.filter(team=other.team, user__username="mo").exists()


def test_api_lists_adds_changes_and_removes(cast: Cast) -> None:
    client = signed_in("ada")
    listed = client.get(API).json()["results"]
    assert [row["name"] for row in listed] == ["ada", "ben", "cy", "mo"]
    json = {"content_type": "application/json"}
    made = client.post(API, {"name": "dee", "role": "viewer"}, **json)
    assert made.status_code == 201 and made.json()["role"] == "viewer"
    assert client.put(f"{API}/dee", {"role": "member"}, **json).json()["role"] == "member"
    assert client.delete(f"{API}/dee").status_code == 204
    assert role_of("dee") is None


def test_api_refuses_as_the_pages_do(lin: Membership) -> None:
    client, json = signed_in("lin"), {"content_type": "application/json"}
    unknown = client.post(API, {"name": "nobody", "role": "viewer"}, **json)
    assert unknown.status_code == 422 and unknown.json()["errors"][0]["path"] == "name"
    assert client.post(API, {"name": "dee", "role": "king"}, **json).status_code == 400
    assert client.put(f"{API}/mo", {"role": "owner"}, **json).status_code == 403
    assert client.delete(f"{API}/ada").status_code == 403
    assert client.delete(f"{API}/nobody").status_code == 404
    assert client.delete(f"{API}/no%00body").status_code == 400
    assert signed_in("ada").delete(f"{API}/ada").status_code == 409
    assert signed_in("cy").get(API).status_code == 200
    assert signed_in("cy").delete(f"{API}/mo").status_code == 403


def test_refusal_of_an_unknown_account_is_recorded(lin: Membership) -> None:
    with pytest.raises(Rejected):
        members.add("a\0b", Role.VIEWER, by=lin)
    event = last_event()
    assert (event.target, event.outcome) == ("ab", "refused")
    assert event.detail["error"] == "There is no account called ab."


@pytest.mark.parametrize("name", ["cy", "mo", "ben"])
def test_everybody_may_leave(cast: Cast, name: str) -> None:
    client = signed_in(name)
    assert "members/leaving/" in client.get(PEOPLE).content.decode()
    assert b"open pages and terminals" in client.get(f"{PEOPLE}leaving/").content
    left = client.post(f"{PEOPLE}leaving/")
    assert left.status_code == 302 and left.headers["Location"] == "/"
    assert role_of(name) is None and client.get(PEOPLE).status_code == 404
    event = Event.objects.get(verb="member.leave")
    assert (event.verb, event.who, event.outcome) == ("member.leave", name, "done")


def test_last_owner_does_not_leave_by_any_door(cast: Cast) -> None:
    client = signed_in("ada")
    assert "You cannot remove ada, the last owner of research." in client.get(PEOPLE).content.decode()
    assert client.post(f"{PEOPLE}leaving/").status_code == 409
    assert client.delete("/api/v1/teams/research/membership").status_code == 409
    assert role_of("ada") == "owner"


def test_owner_hands_over_and_becomes_admin(cast: Cast) -> None:
    client = signed_in("ada")
    assert b'value="ben"' in client.get(f"{PEOPLE}ownership/").content
    assert client.post(f"{PEOPLE}ownership/", {"name": "ben"}).status_code == 302
    assert (role_of("ada"), role_of("ben")) == ("admin", "owner")
    event = last_event()
    assert (event.verb, event.who, event.target) == ("team.handover", "ada", "ben")
    assert client.post(f"{PEOPLE}ownership/", {"name": "ben"}).status_code == 403


@pytest.mark.parametrize("name", ["dee", "ada", "gone", ""])
def test_team_is_handed_to_a_member_who_can_sign_in(cast: Cast, name: str) -> None:
    gone = User.objects.create(username="gone", is_active=False)
    Membership.objects.create(team=cast.team, user=gone, role=Role.ADMIN)
    assert signed_in("ada").post(f"{PEOPLE}ownership/", {"name": name}).status_code == 422
    answer = signed_in("ada").put(
        "/api/v1/teams/research/owner", {"name": name}, content_type="application/json"
    )
    assert answer.status_code in (400, 404, 409)
    assert role_of("ada") == "owner"


def test_admin_does_not_hand_over_what_is_not_theirs(lin: Membership) -> None:
    assert signed_in("lin").post(f"{PEOPLE}ownership/", {"name": "lin"}).status_code == 403
    with pytest.raises(Forbidden):
        members.hand_over("lin", by=lin)
    assert (role_of("ada"), role_of("lin")) == ("owner", "admin")


def test_api_leaves_and_hands_over(lin: Membership) -> None:
    client = signed_in("ada")
    answer = client.put("/api/v1/teams/research/owner", {"name": "lin"}, content_type="application/json")
    assert answer.status_code == 200 and answer.json()["role"] == "owner"
    assert client.delete("/api/v1/teams/research/membership").status_code == 204
    assert (role_of("ada"), role_of("lin")) == (None, "owner")


def test_rail_switches_between_teams_of_somebody_in_several(cast: Cast) -> None:
    assert 'class="qd-menu left switch' not in signed_in("cy").get(PEOPLE).content.decode()
    other = the_cast("vision")
    html = signed_in("cy").get(PEOPLE).content.decode().split('id="rail"')[1]
    assert 'class="qd-menu left switch' in html and f'href="/t/{other.team.slug}/"' in html


def test_refusal_says_which_role_is_needed_and_who_can_give_it(lin: Membership) -> None:
    page = signed_in("ben").post(f"{PEOPLE}add/", {"name": "dee", "role": "owner"})
    assert b"you need to be admin of research; you are operator." in page.content
    assert b"ada (owner) or lin (admin) can give it to you." in page.content
    Membership.objects.filter(user__username="ada").delete()
    said = signed_in("lin").put(
        "/api/v1/teams/research/owner", {"name": "lin"}, content_type="application/json"
    )
    assert said.status_code == 403 and said.json()["hint"] == "Platform staff can give it to you."


def test_admin_links_slurm_users(lin: Membership) -> None:
    client = signed_in("lin")
    assert (
        client.post(f"{PEOPLE}slurm-users/", {"member": "mo", "slurm_users": " mo  mo-ci mo"}).status_code
        == 302
    )
    assert Membership.objects.get(user__username="mo").slurm_users == "mo mo-ci"
    assert (last_event().verb, last_event().detail) == (
        "member.slurm-users",
        {"from": "none", "to": "mo mo-ci"},
    )
    assert "mo mo-ci" in client.get(PEOPLE).content.decode()
    answer = client.put(f"{API}/mo/slurm-users", {"slurm_users": []}, content_type="application/json")
    assert answer.status_code == 200 and answer.json()["slurm_users"] == []


@pytest.mark.parametrize("name", ["root", "Mo", "a;b", "-x", "x" * 33])
def test_what_is_no_ones_own_is_not_linked(lin: Membership, name: str) -> None:
    answer = signed_in("lin").post(f"{PEOPLE}slurm-users/", {"member": "mo", "slurm_users": name})
    assert answer.status_code == 422
    assert Membership.objects.get(user__username="mo").slurm_users == ""


def test_nobody_links_slurm_users_to_themselves_below_admin(cast: Cast) -> None:
    assert (
        signed_in("mo").post(f"{PEOPLE}slurm-users/", {"member": "mo", "slurm_users": "ada"}).status_code
        == 403
    )
