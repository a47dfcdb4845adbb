"""Signing out at the identity provider after signing out here (OpenID Connect RP-Initiated Logout 1.0), where the
provider offers it: else the next click on "Sign in" lets whoever sits there in again.
"""

from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from console import secrets
from console.errors import Unavailable

KEPT = "sign-out-at-provider"
# Tokens with many groups grow; longer addresses are refused by servers. Without the token the provider asks first.
LONGEST_HINT = 4096


def keep(request: HttpRequest, endpoint: object, id_token: str) -> None:
    """Remember for the session's end where its provider ends its own. The token is kept sealed: it names the person."""
    if not settings.OIDC_SIGN_OUT or not isinstance(endpoint, str) or not _is_safe(endpoint):
        request.session.pop(KEPT, None)
        return
    hint = id_token if len(id_token) <= LONGEST_HINT else ""
    request.session[KEPT] = {"endpoint": endpoint, "hint": secrets.seal(hint)}


def address(request: HttpRequest) -> str:
    """Where the browser is to go once it is signed out here; empty where there is nothing to sign out of. Ask before
    the session ends."""
    kept = request.session.get(KEPT)
    if not kept:
        return ""
    asked = {
        "client_id": settings.OIDC_CLIENT_ID,
        "post_logout_redirect_uri": request.build_absolute_uri(reverse("sign-in")),
    }
    if hint := _opened(kept["hint"]):
        asked["id_token_hint"] = hint
    joint = "&" if "?" in kept["endpoint"] else "?"
    return f"{kept['endpoint']}{joint}{urlencode(asked)}"


def _opened(hint: str) -> str:
    """Sessions are not sealed anew when keys rotate: the provider asks the person then."""
    try:
        return secrets.unseal(hint)
    except Unavailable:
        return ""


def _is_safe(url: str) -> bool:
    """The provider's own document says it; still no script and, but on this machine, nothing without TLS."""
    parts = urlsplit(url)
    return parts.scheme == "https" or (
        parts.scheme == "http" and parts.hostname in {"localhost", "127.0.0.1"}
    )
