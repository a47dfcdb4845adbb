"""Errors of the API as RFC 9457 problem documents, every `ConsoleError` and every DRF error alike."""

from dataclasses import asdict

from rest_framework import exceptions, views
from rest_framework.response import Response

from console.errors import ConsoleError, Rejected

MEDIA_TYPE = "application/problem+json"


def document(error: ConsoleError) -> dict[str, object]:
    """`errors` lists the field problems by their path in the cluster's spec."""
    body: dict[str, object] = {
        "type": f"urn:quarterdeck:problem:{error.code}",
        "title": error.code,
        "status": error.status,
        "detail": error.message,
        "hint": error.hint,
        "retryable": error.retryable,
        **error.facts,
    }
    if isinstance(error, Rejected):
        body["errors"] = [asdict(problem) for problem in error.problems]
    return body


def problem_response(error: Exception, context: dict[str, object]) -> Response | None:
    """DRF's exception handler."""
    if isinstance(error, ConsoleError):
        return Response(document(error), status=error.status, headers=error.headers, content_type=MEDIA_TYPE)
    response = views.exception_handler(error, context)
    if response is not None:
        response.data = _from_framework(error, response)
        response.content_type = MEDIA_TYPE
    return response


def _from_framework(error: Exception, response: Response) -> dict[str, object]:
    code = getattr(error, "default_code", "error")
    body: dict[str, object] = {
        "type": f"urn:quarterdeck:problem:{code}",
        "title": code,
        "status": response.status_code,
        "detail": str(getattr(error, "detail", error)),
    }
    if isinstance(error, exceptions.ValidationError):
        body["detail"] = "Some fields need another value."
        body["errors"] = list(_fields(error.detail))
    return body


def _fields(detail: object, path: str = "") -> list[dict[str, str]]:
    if isinstance(detail, dict):
        return [row for key, value in detail.items() for row in _fields(value, f"{path}.{key}".lstrip("."))]
    if isinstance(detail, list):
        nested = any(isinstance(item, dict) for item in detail)
        return [
            row
            for index, item in enumerate(detail)
            for row in (
                _fields(item, f"{path}[{index}]") if nested else [{"path": path, "message": str(item)}]
            )
        ]
    return [{"path": path, "message": str(detail)}]
