"""Invitations: a link works once, for whoever holds it, as long as its maker could still make it."""

import logging
import socket
import threading
from collections.abc import Iterator
from datetime import timedelta
from email import message_from_bytes, policy
from email.message import EmailMessage

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from console import invitations
from console.errors import Conflict, ConsoleError, Forbidden, Missing
from console.models import Event, Invitation, Membership, User
from console.roles import Role
from tests.cast import Cast, person, the_cast
from tests.console.people import PEOPLE, role_of, signed_in

NEW = f"{PEOPLE}invitations/new/"
API = "/api/v1/teams/research/invitations"
JSON = {"content_type": "application/json"}
PASSWORD = "correct horse battery"
ACCOUNT = {"username": "eve", "password1": PASSWORD, "password2": PASSWORD}


def page_of(token: str) -> str:
    return reverse("invitation", kwargs={"token": token})


def link_in(html: str) -> str:
    return html.split('id="made-link">')[1].split("<")[0].removeprefix("http://testserver")


def test_link_is_shown_once_and_only_its_digest_is_kept(lin: Membership) -> None:
    client = signed_in("lin")
    made = client.post(NEW, {"role": "member", "email": "eve@example.org", "days": "7"})
    assert made.status_code == 201 and made.headers["Cache-Control"] == "no-store"
    token = link_in(made.content.decode()).split("/")[2]
    assert token.startswith("qdi_") and len(token) > 40
    row = Invitation.objects.get()
    assert token not in str(list(Invitation.objects.values())) and (row.role, row.by) == ("member", lin.user)
    assert token not in str(list(Event.objects.values()))
    assert (
        event := Event.objects.latest("pk")
    ).verb == "invitation.make" and event.target == "eve@example.org"
    listed = client.get(PEOPLE).content.decode()
    assert "eve@example.org" in listed and token not in listed


def test_stranger_makes_an_account_by_the_link_and_is_in(lin: Membership) -> None:
    _, token = invitations.invite(Role.MEMBER, by=lin)
    client = Client()
    page = client.get(page_of(token))
    assert page.status_code == 200 and b"as <b>member</b>" in page.content
    assert page.headers["Referrer-Policy"] == "no-referrer" and page.headers["Cache-Control"] == "no-store"
    joined = client.post(page_of(token), ACCOUNT)
    assert joined.status_code == 302 and joined.headers["Location"] == "/t/research/"
    assert client.get("/t/research/").status_code == 200
    eve = User.objects.get(username="eve")
    assert eve.check_password(PASSWORD) and not eve.is_staff and role_of("eve") == "member"
    event = Event.objects.get(verb="invitation.accept")
    assert (event.verb, event.who, event.detail) == (
        "invitation.accept", "eve", {"role": "member", "invited by": "lin"},
    )  # fmt: skip


def test_link_works_once(lin: Membership) -> None:
    _, token = invitations.invite(Role.VIEWER, by=lin)
    assert signed_in("dee").post(page_of(token)).status_code == 302
    late = Client()
    assert late.get(page_of(token)).status_code == 404
    assert late.post(page_of(token), ACCOUNT).status_code == 404
    assert not User.objects.filter(username="eve").exists()


def test_signed_in_person_joins_as_themselves(lin: Membership) -> None:
    _, token = invitations.invite(Role.OPERATOR, by=lin)
    client = signed_in("dee")
    assert b"Join as dee" in client.get(page_of(token)).content
    client.post(page_of(token), {"username": "somebody-else"})
    assert role_of("dee") == "operator" and not User.objects.filter(username="somebody-else").exists()


def test_member_cannot_use_a_link_up_or_raise_themselves(lin: Membership, cast: Cast) -> None:
    _, token = invitations.invite(Role.ADMIN, by=lin)
    assert signed_in("cy").post(page_of(token)).status_code == 409
    assert role_of("cy") == "viewer"
    invitations.accept(token, cast.dee)
    assert role_of("dee") == "admin"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"username": "ada"}, "already exists"),
        ({"username": "ADA"}, "already exists"),
        ({"username": "root"}, "nobody can have"),
        ({"username": "Quarterdeck"}, "nobody can have"),
        ({"username": "a b"}, "valid username"),
        ({"password1": "short", "password2": "short"}, "too short"),
        ({"password2": "another battery staple"}, "match"),
    ],
)
def test_account_that_cannot_be_made_leaves_the_link_open(
    lin: Membership, change: dict[str, str], why: str
) -> None:
    _, token = invitations.invite(Role.MEMBER, by=lin)
    before = User.objects.count()
    answer = Client().post(page_of(token), {**ACCOUNT, **change})
    assert answer.status_code == 422 and why in answer.content.decode()
    assert User.objects.count() == before and invitations.invitation_of(token)


def test_expired_revoked_and_guessed_links_look_alike(lin: Membership) -> None:
    old, expired = invitations.invite(Role.MEMBER, by=lin)
    Invitation.objects.filter(pk=old.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    made, revoked = invitations.invite(Role.MEMBER, by=lin)
    url = f"{PEOPLE}invitations/{made.pk}/revocation/"
    client = signed_in("lin")
    assert client.get(url).status_code == 200
    assert client.post(url).status_code == 302
    assert Event.objects.latest("pk").verb == "invitation.revoke"
    pages = set()
    for token in (expired, revoked, "x"):
        answer = Client().get(page_of(token))
        assert answer.status_code == 404
        main = answer.content.partition(b"<main")[2].partition(b"</main>")[0]
        pages.add(main.replace(page_of(token).encode(), b"ADDRESS"))
    assert len(pages) == 1 and b"This invitation is not open." in pages.pop()
    assert client.post(url).status_code == 404


def test_expired_invitation_is_gone_from_the_list(lin: Membership) -> None:
    old, _ = invitations.invite(Role.MEMBER, by=lin, email="late@example.org")
    Invitation.objects.filter(pk=old.pk).update(expires_at=timezone.now())
    assert "late@example.org" not in signed_in("lin").get(PEOPLE).content.decode()
    invitations.invite(Role.MEMBER, by=lin)
    assert not Invitation.objects.filter(pk=old.pk).exists()


@pytest.mark.parametrize("loss", ["removed", "demoted", "closed"])
def test_link_is_worth_what_its_maker_may_still_give(lin: Membership, cast: Cast, loss: str) -> None:
    _, token = invitations.invite(Role.VIEWER, by=lin)
    if loss == "removed":
        lin.delete()
    elif loss == "demoted":
        Membership.objects.filter(pk=lin.pk).update(role=Role.OPERATOR)
    else:
        User.objects.filter(pk=lin.user_id).update(is_active=False)
    with pytest.raises(Missing):
        invitations.accept(token, cast.dee)
    assert role_of("dee") is None


def test_nobody_invites_above_their_own_role(lin: Membership) -> None:
    assert signed_in("lin").post(NEW, {"role": "owner", "days": "7"}).status_code == 422
    with pytest.raises(Forbidden, match="above your own"):
        invitations.invite(Role.OWNER, by=lin)
    assert not Invitation.objects.exists() and Event.objects.latest("pk").outcome == "refused"


def test_admin_does_not_revoke_what_invites_an_owner(lin: Membership, cast: Cast) -> None:
    made, _ = invitations.invite(Role.OWNER, by=cast.ada)
    assert signed_in("lin").post(f"{PEOPLE}invitations/{made.pk}/revocation/").status_code == 403
    assert Invitation.objects.filter(pk=made.pk).exists()


@pytest.mark.parametrize("name", ["ben", "mo", "cy"])
def test_less_than_an_admin_neither_invites_nor_sees_invitations(lin: Membership, name: str) -> None:
    made, _ = invitations.invite(Role.VIEWER, by=lin, email="eve@example.org")
    client = signed_in(name)
    assert client.post(NEW, {"role": "viewer", "days": "7"}).status_code == 403
    assert client.get(API).status_code == 403 and client.delete(f"{API}/{made.pk}").status_code == 403
    assert "eve@example.org" not in client.get(PEOPLE).content.decode()


def test_number_of_open_invitations_has_an_end(lin: Membership, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(invitations, "MOST_OPEN", 2)
    for _ in range(2):
        invitations.invite(Role.VIEWER, by=lin)
    with pytest.raises(Conflict, match="2 invitations are open"):
        invitations.invite(Role.VIEWER, by=lin)


def test_api_makes_lists_and_revokes(lin: Membership) -> None:
    client = signed_in("lin")
    made = client.post(API, {"role": "operator", "email": "eve@example.org", "days": 1}, **JSON)
    assert made.status_code == 201
    link = made.json()["link"].removeprefix("http://testserver")
    assert Client().get(link).status_code == 200
    (listed,) = client.get(API).json()["results"]
    assert listed["number"] == made.json()["number"] and "link" not in listed and "digest" not in listed
    assert client.delete(f"{API}/{listed['number']}").status_code == 204
    assert Client().get(link).status_code == 404
    assert client.post(API, {"role": "viewer", "days": 365}, **JSON).status_code == 400


@pytest.mark.django_db(transaction=True)
def test_two_who_use_one_link_at_once_let_in_one() -> None:
    cast = the_cast()
    _, token = invitations.invite(Role.MEMBER, by=cast.ada)
    people, start, errors = [cast.dee, person("eli")], threading.Barrier(2), []

    def use(user: User) -> None:
        try:
            start.wait(10)
            invitations.accept(token, user)
        except ConsoleError as error:
            errors.append(error)
        finally:
            connection.close()

    both = [threading.Thread(target=use, args=[user]) for user in people]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join(30)
    assert sorted([role_of("dee") or "", role_of("eli") or ""]) == ["", "member"]
    assert [type(error) for error in errors] == [Missing]


def test_guessing_is_slowed_down_and_a_right_link_is_not(lin: Membership) -> None:
    _, token = invitations.invite(Role.VIEWER, by=lin)
    client = Client(REMOTE_ADDR="192.0.2.77")
    met = [client.get(page_of(f"qdi_{guess}")).status_code for guess in range(31)]
    assert met[:30] == [404] * 30 and met[30] == 429
    assert client.get(page_of(token)).status_code == 200


class Postbox:
    """A mail server that takes one mail (RFC 5321, as far as smtplib speaks it without TLS)."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.mails: list[EmailMessage] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        connected, _ = self.listener.accept()
        with connected, connected.makefile("rwb") as lines:
            lines.write(b"220 postbox\r\n")
            lines.flush()
            while word := lines.readline().split(b" ")[0].strip().upper():
                if word == b"DATA":
                    self._answer(lines, b"354 go on")
                    text = b"".join(iter(lines.readline, b".\r\n"))
                    self.mails.append(message_from_bytes(text, policy=policy.default))  # type: ignore[arg-type]
                self._answer(lines, b"221 bye" if word == b"QUIT" else b"250 fine")

    def _answer(self, lines: object, text: bytes) -> None:
        lines.write(text + b"\r\n")  # type: ignore[attr-defined]
        lines.flush()  # type: ignore[attr-defined]


@pytest.fixture
def postbox(settings) -> Iterator[Postbox]:
    box = Postbox()
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", box.port
    yield box
    box.listener.close()


def test_where_mail_is_set_up_the_link_goes_there_alone(lin: Membership, postbox: Postbox) -> None:
    made = signed_in("lin").post(NEW, {"role": "member", "email": "eve@example.org", "days": "7"})
    assert made.status_code == 201 and b"qdi_" not in made.content
    (mail,) = postbox.mails
    assert mail["To"] == "eve@example.org" and "research" in mail["Subject"]
    link = next(line for line in mail.get_content().splitlines() if "/invitations/" in line)
    client = Client()
    assert client.post(link.removeprefix("http://testserver"), ACCOUNT).status_code == 302
    assert User.objects.get(username="eve").email == "eve@example.org"


def test_mail_that_is_not_taken_leaves_the_link_on_the_page(lin: Membership, settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        settings.EMAIL_HOST, settings.EMAIL_PORT = nobody.getsockname()
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    made = signed_in("lin").post(NEW, {"role": "member", "email": "eve@example.org", "days": "7"})
    html = made.content.decode()
    assert made.status_code == 201 and "was not sent" in html
    Client().post(link_in(html), ACCOUNT)
    assert User.objects.get(username="eve").email == ""


def test_refused_link_is_in_no_log(lin: Membership, caplog: pytest.LogCaptureFixture) -> None:
    _, token = invitations.invite(Role.VIEWER, by=lin)
    assert Client().post(page_of(token), {**ACCOUNT, "password2": "else"}).status_code == 422
    (refusal,) = [record for record in caplog.records if token in record.getMessage()]
    written = [
        handler.format(refusal) for handler in logging.getLogger().handlers if handler.name == "stderr"
    ]
    assert written and all(f"/invitations/{token[:6]}…" in line and token not in line for line in written)
