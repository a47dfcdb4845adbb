"""Every socket route, met by every role and by those who are none: the door is the pages'."""

from collections.abc import Callable

import pytest
from asgiref.sync import async_to_sync
from asgiref.testing import ApplicationCommunicator
from django.test import Client

from clusters.consumers import DENIED, GONE
from clusters.models import Grant
from console.asgi import application
from console.models import Membership, Team, User
from console.roles import Action, Role, may
from console.sockets import websocket_urlpatterns
from tests.cast import Cast, person, the_cast, tiny_cluster

# The sockets' questions to the database are asked in other threads.
pytestmark = pytest.mark.django_db(transaction=True)
VALUES = {"<slug:team>": "research", "<slug:cluster>": "tiny"}
ORIGIN = b"http://localhost"


def sockets() -> list[tuple[str, Action]]:
    """Address and action of every route; fails on a parameter that nothing stands for."""
    found = []
    for route in websocket_urlpatterns:
        path = "/" + str(route.pattern)
        for word, value in VALUES.items():
            path = path.replace(word, value)
        assert "<" not in path, f"{path}: add its parameter to VALUES"
        found.append((path, route.callback.consumer_class.action))
    return found


@pytest.fixture
def cast(settings) -> Cast:
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
    cast = the_cast()
    tiny_cluster(cast.team)
    return cast


def session_of(user: User | None) -> bytes:
    client = Client()
    if user:
        client.force_login(user)
    return client.cookies["sessionid"].value.encode() if user else b""


def closed_with(path: str, user: User | None, *, origin: bytes = ORIGIN) -> int | None:
    """The code that the socket is closed with, 0 when the handshake itself is refused, None when it stays open."""
    headers = [(b"cookie", b"sessionid=" + session_of(user)), (b"origin", origin), (b"host", b"localhost")]
    scope = {"type": "websocket", "path": path, "query_string": b"", "headers": headers, "subprotocols": []}

    async def meet() -> int | None:
        socket = ApplicationCommunicator(application, scope)
        await socket.send_input({"type": "websocket.connect"})
        said = await socket.receive_output(20)
        if said["type"] == "websocket.close":
            return 0
        while not await socket.receive_nothing(timeout=0.5):
            said = await socket.receive_output(20)
            if said["type"] == "websocket.close":
                return int(said["code"])
        await socket.send_input({"type": "websocket.disconnect", "code": 1001})
        await socket.wait(20)
        return None

    code: int | None = async_to_sync(meet)()
    return code


def every(expected: Callable[[Action], int | None], user: User | None) -> None:
    told = [(path, action) for path, action in sockets() if "research" in path]
    assert told
    for path, action in told:
        code = closed_with(path, user)
        assert code == expected(action), (path, action, code)


@pytest.mark.parametrize("name", ["ada", "ben", "mo", "cy"])
def test_every_role_meets_every_socket_as_declared(cast: Cast, name: str) -> None:
    role = Role(Membership.objects.get(user__username=name).role)
    every(lambda action: None if may(role, action) else DENIED, person(name))


def test_stranger_and_owner_of_another_team_find_nothing(cast: Cast) -> None:
    other = Team.objects.create(slug="other", name="Other")
    Membership.objects.create(team=other, user=cast.dee, role=Role.OWNER)
    every(lambda action: GONE, cast.dee)


def test_anonymous_and_closed_account_get_nothing(cast: Cast) -> None:
    every(lambda action: GONE, None)
    gone = person("ada")
    User.objects.filter(pk=gone.pk).update(is_active=False)
    every(lambda action: GONE, gone)


def test_staff_and_a_grant_open_what_they_reach(cast: Cast) -> None:
    every(lambda action: None, User.objects.create(username="ops", is_staff=True))
    Grant.objects.create(cluster=cast.team.clusters.get(), membership=cast.cy, role=Role.MEMBER)
    every(lambda action: None if may(Role.MEMBER, action) else DENIED, cast.cy.user)


def test_address_that_is_no_socket_is_closed(cast: Cast) -> None:
    assert closed_with("/ws/nothing", person("ada")) == GONE


@pytest.mark.parametrize("origin", [b"http://evil.example", b"null", b"http://localhost.evil.example"])
def test_no_socket_opens_from_another_site(cast: Cast, origin: bytes) -> None:
    """CVE-2023-30856, CVE-2020-14368, CVE-2023-26114, CVE-2024-23898: the browser sends the cookie along."""
    for path, _ in sockets():
        assert closed_with(path, person("ada"), origin=origin) == 0, path
