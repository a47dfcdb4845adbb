"""What the API's own schema allows, and what it does not, sent as each role: the answer is never an error of ours.

schemathesis makes the requests from the schema, a few of each operation with a fixed seed, so that the run is the same
each time and takes about a minute. Names in the path are mostly those of things that exist.
"""

import json
import os
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
import schemathesis
from django.core.management import call_command
from django.db import transaction
from django.test import Client
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode

from console.models import User
from tests.cast import Cast, person
from tests.test_doors import ROLES, everybody

__all__ = ["everybody"]
pytestmark = pytest.mark.timeout(900)
# Of each operation, each role and each mode: what the schema allows, and what it forbids.
EACH = 2
REAL = {
    "team": "research",
    "cluster": "tiny",
    "region": "lab",
    "member": "mo",
    "login": "mo",
    "job_id": "7",
    "number": 1,
    "volume": "scratch",
}


@cache
def operations() -> list[Any]:
    """Every operation that the schema names."""
    raw = json.loads(json.dumps(SchemaGenerator().get_schema(request=None, public=True), default=str))
    return [found.ok() for found in schemathesis.openapi.from_dict(raw).get_all_operations()]


@dataclass(frozen=True)
class Request:
    """`operation` is the route as the schema has it, for the message of a failure."""

    operation: str
    method: str
    path: str
    query: tuple[tuple[str, str], ...]
    body: bytes


@cache
def requests() -> list[Request]:
    """Made once: every role sends the same."""
    made: list[Request] = []
    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
        for operation in operations():
            made += _cases(operation, mode)
    return made


def _cases(operation: Any, mode: GenerationMode) -> list[Request]:
    made: list[Request] = []

    @settings(
        max_examples=EACH, derandomize=True, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(case=operation.as_strategy(generation_mode=mode))
    def collect(case: Any) -> None:
        made.append(_request(case))

    try:
        collect()
    except Unsatisfiable:
        # An operation that takes nothing has nothing that is forbidden.
        assert mode is GenerationMode.NEGATIVE, operation.path
    return made


def _request(case: Any) -> Request:
    real = {name: value for name, value in REAL.items() if name in case.path_parameters}
    path = case.operation.path
    for name, value in {**case.path_parameters, **real}.items():
        path = path.replace("{" + name + "}", str(value).replace("/", "") or "x")
    sendable = dict | list | str | int | float | bool | None
    body = case.body if isinstance(case.body, sendable) else {}
    query = tuple((str(name), str(value)) for name, value in (case.query or {}).items())
    # Half characters, which JSON can spell and UTF-8 cannot, go as JSON spells them.
    return Request(case.operation.path, case.method, path, query, json.dumps(body, default=str).encode())


def answer_to(client: Client, request: Request) -> tuple[int, bytes]:
    """Send it, and undo what it did."""
    query = {name: value.encode("utf-8", "replace").decode() for name, value in request.query}
    path = request.path.encode("utf-8", "replace").decode()
    json_body = {"content_type": "application/json"}
    with transaction.atomic():
        answer = client.generic(request.method, path, request.body, query_params=query, **json_body)
        transaction.set_rollback(True)
    return answer.status_code, getattr(answer, "content", b"")


def is_ours(status: int, body: bytes) -> bool:
    """A server error; not the console's own sentence that something outside does not answer."""
    return status >= 500 and not (status == 503 and b'"urn:quarterdeck:problem:unavailable"' in body)


def test_schema_is_made_without_a_warning() -> None:
    """Two shapes of one name would be one in every client that is made from it. The warnings go to stderr."""
    call_command("spectacular", file=os.devnull, fail_on_warn=True, validate=True)


@pytest.mark.parametrize("name", [*ROLES, "ops"])
def test_no_request_that_the_schema_makes_is_a_server_error(
    everybody: Cast, client: Client, settings: Any, name: str
) -> None:
    settings.API_REQUESTS_A_MINUTE = 10**6
    User.objects.create(username="ops", is_staff=True)
    client.force_login(person(name))
    client.raise_request_exception = False
    assert len(operations()) > 60
    told, reached = [], 0
    for request in requests():
        status, body = answer_to(client, request)
        reached += status not in (403, 404)
        if is_ours(status, body):
            told.append(f"{request}: {status}")
    assert not told, "\n".join(told)
    assert reached > (0 if name == "dee" else 50), "the requests reach what they are for"
