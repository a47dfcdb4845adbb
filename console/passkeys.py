"""Passkeys (WebAuthn): making one for an account, and telling by its answer who is there.

A passkey that can tell by itself whose it is, and asked its person (PIN, finger, face), is both factors at once; the
options given to the browser ask for both. The challenge waits in the session and is good once.
"""

from ipaddress import ip_address
from typing import Any

from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.internal import auth as webauthn
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from console.errors import Problem, Rejected
from console.factors import PASSKEY, first_codes, perform
from console.models import User

MOST = 20


def why_not(request: HttpRequest) -> str:
    """Why a browser would refuse to make a passkey for this address; empty when it would not.

    https://www.w3.org/TR/webauthn-2/#rp-id: a domain, never an address; only where the context is secure.
    """
    host = request.get_host().rpartition(":")[0] or request.get_host()
    if _is_address(host):
        return f"Browsers keep passkeys for a name, and this console is opened at the address {host}."
    if not request.is_secure() and host != "localhost":
        return "Browsers keep passkeys for HTTPS only, and this console is opened without."
    return ""


def begin_new(user: User) -> dict[str, Any]:
    """Options for navigator.credentials.create()."""
    return dict(webauthn.begin_registration(user, passwordless=True))


def add(user: User, name: str, answer: object) -> list[str]:
    """Take on the passkey that the browser made. New recovery codes as `factors.add_app`. Raises Rejected."""
    try:
        webauthn.parse_registration_response(answer)
        made = webauthn.complete_registration(answer)
    except (ValidationError, ValueError, TypeError, KeyError) as error:
        raise _refused("The browser's answer was not understood, or came too late.") from error
    if not made.is_user_verified():
        raise _refused("The passkey did not ask who you are (PIN, finger or face).")

    def act() -> list[str]:
        if Authenticator.objects.filter(user=user, type=PASSKEY).count() >= MOST:
            raise _refused(f"You have {MOST} passkeys: remove one first.")
        webauthn.WebAuthn.add(user, name, answer)
        return first_codes(user)

    return perform(user, "factor.add", name, act)


def begin_use(user: User | None) -> dict[str, Any]:
    """Options for navigator.credentials.get(): one of the person's, or any that knows its person."""
    return dict(webauthn.begin_authentication(user))


def owner_of(answer: object, user: User | None = None) -> User:
    """Whose passkey answered: `user`'s, if one is given. Raises Rejected; one passkey in vain looks like another."""
    try:
        response = webauthn.parse_authentication_response(answer)
        owner = user or webauthn.extract_user_from_response(answer)
        used = webauthn.complete_authentication(owner, answer)
    except (ValidationError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise _refused("That passkey is not known here, or its answer came too late.") from error
    if not response.response.authenticator_data.is_user_verified():
        raise _refused("The passkey did not ask who you are (PIN, finger or face).")
    if not owner.is_active:
        raise _refused("The account of that passkey is closed.")
    used.record_usage()
    assert isinstance(owner, User), "AUTH_USER_MODEL says so"
    return owner


def _refused(why: str) -> Rejected:
    return Rejected("The passkey was refused.", (Problem("credential", why, "Try again."),))


def _is_address(host: str) -> bool:
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True
