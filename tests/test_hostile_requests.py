"""What strangers and broken scripts send: every route answers, and none of it breaks a page or fills a disk."""

import asyncio

import pytest
from asgiref.sync import async_to_sync
from asgiref.testing import ApplicationCommunicator
from django.test import Client

from clusters.consumers import ASK_S
from console.asgi import application
from console.body_limit import BodyLimit
from console.models import User
from console.numbers import typed_number
from console.tokens import make_token
from tests.cast import Cast, a_node, person, the_cast, tiny_cluster
from tests.test_doors import FILLED, team_routes

PAGES = (
    "nodes/?q=",
    "nodes/drain/?node=",
    "nodes/reboot/?node=",
    "jobs/?q=",
    "jobs/cancellation/?job=",
    "conf/?from=",
)
CLUSTER = "/t/research/c/tiny/"
API = "/api/v1/teams/research/clusters/tiny"
ENDLESS = "9" * 5000


@pytest.fixture
def cast(db: None) -> Cast:
    cast = the_cast()
    a_node(tiny_cluster(cast.team), "slinky-0")
    return cast


@pytest.fixture
def ada(cast: Cast, client: Client) -> Client:
    client.force_login(person("ada"))
    client.raise_request_exception = False
    return client


@pytest.fixture
def script(cast: Cast) -> Client:
    client = Client(headers={"authorization": f"Bearer {make_token(person('ada'), 'test')}"})
    client.raise_request_exception = False
    return client


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(
    "hostile", ["%00", "a%00b", "%FF", "%E2%80%A8", ENDLESS, "9" * 30, "-1", "%3Cscript%3E"]
)
def test_no_address_breaks_a_page(ada: Client, page: str, hostile: str) -> None:
    assert ada.get(CLUSTER + page + hostile).status_code < 500


@pytest.mark.parametrize("hostile", ["%00", "a%00b", "%FF", "%0d%0aX-Evil:1", "%2e%2e%2fetc", ENDLESS])
def test_no_name_in_a_path_breaks_a_route(ada: Client, hostile: str) -> None:
    for path, _ in team_routes():
        url = "/" + path.replace("<str:name>", hostile).replace("<str:job>", hostile).replace(
            "<str:job_id>", hostile
        )
        for word, value in FILLED.items():
            url = url.replace(word, value)
        response = ada.get(url.replace("<str:version>", hostile))
        # A login node that does not answer is said so.
        assert response.status_code < 500 or response.status_code == 503, url
        assert "X-Evil" not in response.headers


def test_an_address_with_a_nul_is_told_so_in_the_form_of_the_asker(ada: Client, script: Client) -> None:
    page, answer = ada.get(CLUSTER + "nodes/%00/"), script.get(API + "/nodes/%00")
    assert page.status_code == answer.status_code == 400
    assert "NUL" in page.content.decode()
    assert answer.headers["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize("step", ["drain", "resume", "reboot"])
def test_a_nul_in_a_posted_name_names_no_node(ada: Client, step: str) -> None:
    assert ada.post(f"{CLUSTER}nodes/{step}/", {"node": "a\0b", "reason": "x"}).status_code == 404


def test_a_nul_for_a_region_is_refused_by_the_form(ada: Client) -> None:
    assert ada.post("/t/research/clusters/new/", {"region": "a\0b"}).status_code == 422


@pytest.mark.parametrize("count", ["9" * 20, "99999999999", ENDLESS])
def test_a_count_that_no_group_may_have_is_not_counted_out(ada: Client, count: str) -> None:
    form = {"base": "1", "slinky": count, "cpu-workers": "1"}
    assert ada.get(f"{CLUSTER}scale/?slinky={count}").status_code == 200
    refusal = ada.post(f"{CLUSTER}scale/", form).content.decode()
    assert "less than or equal to 4096" in refusal or "Enter a whole number" in refusal


@pytest.mark.parametrize("form", ["conf/", "conf/check/", "conf/review/", "conf/apply/"])
def test_an_endless_revision_is_one_that_is_not_there(ada: Client, form: str) -> None:
    assert ada.post(CLUSTER + form, {"base": ENDLESS, "text": "x"}).status_code == 409


@pytest.mark.parametrize("name", ["limit", "offset"])
def test_an_endless_page_is_refused(script: Client, name: str) -> None:
    assert script.get(f"{API}/nodes?{name}={ENDLESS}").status_code == 422


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 50_000,
        b'{"a":' * 20_000,
        b'{"base": ' + b"9" * 5000 + b"}",
        b'{"n": "\\ud800"}',
        b"\xff\xfe",
        b"null",
    ],
    ids=["brackets", "objects", "digits", "surrogate", "bytes", "null"],
)
def test_no_body_breaks_the_api(script: Client, body: bytes) -> None:
    for route in ("partitions", "slurm-conf/check", "actions/drain", "actions/scale"):
        assert script.post(f"{API}/{route}", body, content_type="application/json").status_code == 400


def test_half_a_character_in_a_choice_is_refused(script: Client) -> None:
    body = '{"base": 1, "name": "p", "nodes": "slinky-0", "state": "\\ud800"}'
    assert script.post(f"{API}/partitions", body, content_type="application/json").status_code == 400


def test_the_schema_takes_nothing_from_the_address_into_a_header(ada: Client) -> None:
    response = ada.get("/api/schema/?version=%0d%0aX-Evil:%201")
    assert response.status_code == 200
    assert "Evil" not in str(response.headers)


@pytest.mark.parametrize("text", [None, "", "-1", "1.0", "١", "9" * 19, ENDLESS, " 1"])
def test_what_is_no_number_is_none(text: str | None) -> None:
    assert typed_number(text) is None


def test_a_number_above_the_most_is_none() -> None:
    assert (typed_number("10", most=10), typed_number("11", most=10)) == (10, None)


@pytest.mark.parametrize("headers", [[(b"content-length", b"99999999999")], []], ids=["declared", "chunked"])
def test_a_body_without_end_is_refused_before_anything_keeps_it(headers: list[tuple[bytes, bytes]]) -> None:
    sent: list[dict] = []
    taken = 0

    async def receive() -> dict:
        nonlocal taken
        taken += 2**16
        return {"type": "http.request", "body": b"x" * 2**16, "more_body": True}

    async def keeping_it(scope, receive, send) -> None:
        while (await receive())["more_body"]:
            pass

    async def send(message) -> None:
        sent.append(message)

    asyncio.run(BodyLimit(keeping_it, most=2**20)({"type": "http", "headers": headers}, receive, send))
    assert sent[0]["status"] == 413
    assert taken <= 2**20 + 2**16


def test_a_body_that_stops_in_its_midst_is_given_up_and_an_answer_that_takes_long_is_not() -> None:
    sent: list[dict] = []
    coming = iter([{"type": "http.request", "body": b"x", "more_body": True}])

    async def stops() -> dict:
        return next(coming, None) or await asyncio.sleep(60) or {}

    async def reading(scope, receive, send) -> None:
        while (await receive())["more_body"]:
            pass

    async def send(message) -> None:
        sent.append(message)

    limit = BodyLimit(reading, silence_s=0.05)
    asyncio.run(limit({"type": "http", "headers": []}, stops, send))
    assert sent[0]["status"] == 408

    messages = iter([{"type": "http.request", "body": b"", "more_body": False}])

    async def leaves_late() -> dict:
        if said := next(messages, None):
            return said
        await asyncio.sleep(0.3)
        return {"type": "http.disconnect"}

    async def answering(scope, receive, send) -> None:
        await receive()
        assert (await receive())["type"] == "http.disconnect"
        await send("answered")

    asyncio.run(BodyLimit(answering, silence_s=0.05)({"type": "http", "headers": []}, leaves_late, send))
    assert sent[-1] == "answered"


class Socket:
    """A socket as a signed-in person's page opens it: the tiny cluster's live one, or another."""

    def __init__(self, user: User, path: str = "/ws/t/research/c/tiny/live") -> None:
        self.client = Client()
        self.client.force_login(user)
        cookie = f"sessionid={self.client.cookies['sessionid'].value}".encode()
        headers = [(b"cookie", cookie), (b"origin", b"http://localhost"), (b"host", b"localhost")]
        scope = {
            "type": "websocket",
            "path": path,
            "query_string": b"",
            "headers": headers,
            "subprotocols": [],
        }
        self.page = ApplicationCommunicator(application, scope)

    async def opens(self) -> None:
        await self.page.send_input({"type": "websocket.connect"})
        assert (await self.page.receive_output(5))["type"] == "websocket.accept"

    async def says(self, **message: object) -> None:
        await self.page.send_input({"type": "websocket.receive", **message})

    async def closes_with(self) -> int:
        """Told at once; a message that Redis lost costs until the socket asks by itself."""
        return int((await self.page.receive_output(ASK_S + 10))["code"])


@pytest.mark.django_db(transaction=True)
def test_losing_the_membership_closes_the_open_live_socket() -> None:
    cast = the_cast()
    tiny_cluster(cast.team)
    mo = Socket(person("mo"))

    async def watch() -> int:
        await mo.opens()
        await asyncio.to_thread(cast.mo.delete)
        return await mo.closes_with()

    assert async_to_sync(watch)() == 4403


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("way", ["signed out", "shut out"])
def test_a_person_who_is_gone_watches_no_more(way: str) -> None:
    cast = the_cast()
    tiny_cluster(cast.team)
    mo = Socket(cast.mo.user)

    def go() -> None:
        if way == "signed out":
            mo.client.post("/sign-out/")
        else:
            user = User.objects.get(pk=cast.mo.user_id)
            user.is_active = False
            user.save()

    async def watch() -> int:
        await mo.opens()
        await asyncio.to_thread(go)
        return await mo.closes_with()

    assert async_to_sync(watch)() == 4403


@pytest.mark.django_db(transaction=True)
def test_nothing_that_a_page_says_disturbs_the_live_socket() -> None:
    cast = the_cast()
    tiny_cluster(cast.team)
    ada = Socket(cast.ada.user)

    async def talk() -> bool:
        await ada.opens()
        for said in ("{", "[" * 50_000, "null"):
            await ada.says(text=said)
        await ada.says(bytes=b"\xff")
        return bool(await ada.page.receive_nothing(0.3))

    assert async_to_sync(talk)()


@pytest.mark.django_db(transaction=True)
def test_a_socket_that_is_not_there_is_closed_without_an_error() -> None:
    ada = Socket(the_cast().ada.user, "/ws/nowhere")

    async def knock() -> int:
        await ada.opens()
        return await ada.closes_with()

    assert async_to_sync(knock)() == 4404
