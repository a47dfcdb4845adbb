"""Around every request: the content security policy, where it came from, and errors that the client can read."""

import logging
import secrets
from collections.abc import Callable

from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, JsonResponse

from console import events, provider_factor, sessions
from console.errors import ConsoleError, Rejected
from console.page import render_error
from console.problems import MEDIA_TYPE, document

POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; style-src-attr 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)

log = logging.getLogger(__name__)
Handler = Callable[[HttpRequest], HttpResponse]


def content_security_policy(get_response: Handler) -> Handler:
    """No script but our own files, ever. Style attributes are allowed: terminal and editor position with them."""

    def handle(request: HttpRequest) -> HttpResponse:
        request.csp_nonce = secrets.token_urlsafe(12)  # type: ignore[attr-defined]
        response = get_response(request)
        response.headers.setdefault("Content-Security-Policy", POLICY.format(nonce=request.csp_nonce))  # type: ignore[attr-defined]
        return response

    return handle


class Unspeakable(Rejected):
    """The address itself is wrong, whatever it asks for."""

    code = "bad-address"
    status = 400


def no_nul(get_response: Handler) -> Handler:
    """Refuse an address that holds a NUL: no name, filter or number has one, and the database keeps none."""

    def handle(request: HttpRequest) -> HttpResponse:
        if "\0" not in request.path_info and "%00" not in request.META.get("QUERY_STRING", ""):
            return get_response(request)
        error = Unspeakable(
            "The address holds a character that no name has (NUL).", hint="Look at what made the link."
        )
        if request.path_info.startswith("/api/"):
            return JsonResponse(document(error), status=error.status, content_type=MEDIA_TYPE)
        return render_error(request, error)

    return handle


def audit_origin(get_response: Handler) -> Handler:
    """What is done in the request is recorded with the address that it came from."""

    def handle(request: HttpRequest) -> HttpResponse:
        with events.coming_from(str(request.META.get("REMOTE_ADDR") or "")):
            return get_response(request)

    return handle


def know_factor(get_response: Handler) -> Handler:
    """Whether the session came with the identity provider's second factor, for the doors."""

    def handle(request: HttpRequest) -> HttpResponse:
        if request.session.session_key and request.user.is_authenticated:
            provider_factor.mark(request.user, request.session)
        return get_response(request)

    return handle


def note_session(get_response: Handler) -> Handler:
    """Where a signed-in browser was seen last, for its person's profile. What is noted decides nothing."""

    def handle(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        try:
            if request.session.session_key and request.user.is_authenticated:
                sessions.note_seen(request)
        except DatabaseError as error:
            log.warning("session not noted: %r", error)
        return response

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
