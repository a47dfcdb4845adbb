"""Around every request: the content security policy, where it came from, and errors that the client can read."""

import secrets
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from console import events
from console.errors import ConsoleError
from console.page import render_error

POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; style-src-attr 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self' ws: wss:; worker-src 'self' blob:; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)

Handler = Callable[[HttpRequest], HttpResponse]


def content_security_policy(get_response: Handler) -> Handler:
    """No script but our own files, ever. Style attributes are allowed: terminal and editor position with them."""

    def handle(request: HttpRequest) -> HttpResponse:
        request.csp_nonce = secrets.token_urlsafe(12)  # type: ignore[attr-defined]
        response = get_response(request)
        response.headers.setdefault("Content-Security-Policy", POLICY.format(nonce=request.csp_nonce))  # type: ignore[attr-defined]
        return response

    return handle


def audit_origin(get_response: Handler) -> Handler:
    """What is done in the request is recorded with the address that it came from."""

    def handle(request: HttpRequest) -> HttpResponse:
        with events.coming_from(str(request.META.get("REMOTE_ADDR") or "")):
            return get_response(request)

    return handle


class ErrorPages:
    """A `ConsoleError` that a page raised, as a page or, inside a dialog or a fragment, as a notice."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, ConsoleError):
            return None
        return render_error(request, error)
