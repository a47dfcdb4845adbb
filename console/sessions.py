"""Who a browser session belongs to, read again from the database: sockets outlive the request that opened them."""

from importlib import import_module

from django.conf import settings
from django.contrib import auth
from django.http import HttpRequest

from console.errors import Missing
from console.models import User


def signed_in(session_key: str | None) -> User:
    """The person. Raises Missing when there is none any more: signed out, shut out, or a changed password."""
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(session_key)
    user = auth.get_user(request)
    if not isinstance(user, User):
        raise Missing("You are signed out.", "Sign in and open the page again.")
    return user
