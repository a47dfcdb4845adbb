"""OpenID Connect: sending a person to the identity provider, and reading who came back. What is unchecked is not used.

django-allauth's openid_connect provider finds the endpoints, keeps the state (good once, for ten minutes, in this
session) with PKCE, and exchanges the code (https://docs.allauth.org/en/latest/socialaccount/providers/openid_connect.html).
It reads the ID token without its signature and knows no nonce, so the token is read here, as OpenID Connect Core 1.0,
3.1.3.7, says. Whose account it is `console.oidc_accounts` decides.
"""

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jwt
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.internal import statekit
from allauth.socialaccount.models import SocialApp
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.crypto import constant_time_compare
from requests import RequestException

from console import oidc_sign_out, provider_factor
from console.errors import ConsoleError, Forbidden, Missing, Unavailable

ID = "oidc"
# Signed by a key that the provider alone holds: a shared secret (HS256) would let every holder of it sign.
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
NEEDED = ["iss", "sub", "aud", "exp", "iat"]
LEEWAY_S = 30


class NotLetIn(Forbidden):
    """The provider's answer lets nobody in."""

    code = "identity-refused"


@dataclass(frozen=True)
class Identity:
    """Who the provider says it is. `subject` is theirs for ever; everything else may change at each sign-in."""

    issuer: str
    subject: str
    username: str
    first_name: str
    last_name: str
    email: str
    is_email_verified: bool
    groups: frozenset[str]
    # Whether the provider asked for a second factor that counts here.
    has_factor: bool


def is_offered() -> bool:
    return bool(settings.OIDC_ISSUER)


def begin(request: HttpRequest, *, after: str, anew: bool = False) -> HttpResponse:
    """Send the browser to the provider; `anew` has it ask even a person whom it knows. Raises Missing, Unavailable."""
    provider = _provider(request)
    nonce = secrets.token_urlsafe(24)
    asked = {"nonce": nonce, **({"prompt": "login"} if anew else {})}
    if settings.OIDC_ACR_VALUES:
        asked["acr_values"] = " ".join(settings.OIDC_ACR_VALUES)
    kept = {"nonce": nonce, "after": after}
    try:
        answer: HttpResponse = provider.redirect(request, "login", data=kept, auth_params=asked)
    except (RequestException, ValueError, KeyError) as error:
        raise _silent() from error
    return answer


def come_back(request: HttpRequest) -> tuple[Identity, str]:
    """Who came back from the provider, and where they wanted to go. Raises NotLetIn, Unavailable and Missing."""
    provider = _provider(request)
    state = statekit.unstash_state(
        request, provider_id=provider.sub_id, state_id=request.GET.get("state", "")
    )
    if state is None:
        raise _refused("it belongs to no sign-in that was begun in this browser, or was used already")
    if "code" not in request.GET:
        said = re.sub(r"[^a-z_]", "", request.GET.get("error", "")[:40]) or "no reason given"
        raise _refused(f"it let nobody in ({said})")
    adapter = provider.get_oauth2_adapter(request)
    try:
        client = adapter.get_client(request, provider.app)
        answer = adapter.get_access_token_data(
            request, provider.app, client, pkce_code_verifier=state.get("pkce_code_verifier")
        )
        token = read_id_token(answer.get("id_token", ""), _keys(adapter), state["data"]["nonce"])
        claims = {**_userinfo(adapter, answer["access_token"], token["sub"]), **token}
        oidc_sign_out.keep(
            request, adapter.openid_config.get("end_session_endpoint"), answer.get("id_token", "")
        )
    except OAuth2Error as error:
        raise _refused("the provider did not exchange the code for an identity") from error
    except (RequestException, ValueError, KeyError) as error:
        raise _silent() from error
    # What userinfo says tells of no sign-in: only the token does.
    return identity_in(claims, has_factor=provider_factor.is_shown_by(token)), state["data"]["after"]


def read_id_token(token: str, keys: Mapping[str, Any], nonce: str) -> dict[str, Any]:
    """The claims of a token that `keys` (a JWK set) signed for us, now, in answer to `nonce`. Raises NotLetIn."""
    try:
        claims: dict[str, Any] = jwt.decode(
            token,
            key=_key(token, keys),
            algorithms=ALGORITHMS,
            audience=settings.OIDC_CLIENT_ID,
            issuer=settings.OIDC_ISSUER,
            leeway=LEEWAY_S,
            options={"require": NEEDED},
        )
    except jwt.ExpiredSignatureError as error:
        raise _refused("it has expired; if that happens again, the clocks differ") from error
    except jwt.InvalidAudienceError as error:
        raise _refused("it was made for another application") from error
    except jwt.InvalidIssuerError as error:
        raise _refused("it comes from another provider") from error
    except jwt.PyJWTError as error:
        raise _refused("its signature or its form is wrong") from error
    if claims.get("azp", settings.OIDC_CLIENT_ID) != settings.OIDC_CLIENT_ID:
        raise _refused("it was made for another application")
    if not constant_time_compare(str(claims.get("nonce", "")), nonce):
        raise _refused("it answers another sign-in")
    return claims


def identity_in(claims: Mapping[str, Any], *, has_factor: bool) -> Identity:
    """NUL, which the database keeps in no text, is left out; what is no text and no list of texts is not there."""
    groups = claims.get(settings.OIDC_GROUPS_CLAIM)
    groups = [groups] if isinstance(groups, str) else groups if isinstance(groups, list) else []
    return Identity(
        issuer=settings.OIDC_ISSUER,
        subject=_text(claims, "sub"),
        username=_text(claims, settings.OIDC_USERNAME_CLAIM),
        first_name=_text(claims, "given_name"),
        last_name=_text(claims, "family_name"),
        email=_text(claims, "email"),
        is_email_verified=claims.get("email_verified") is True,
        groups=frozenset(group for group in groups if isinstance(group, str)),
        has_factor=has_factor,
    )


class _Provider(OpenIDConnectProvider):
    """The one that settings name. Nothing of what is asked comes from the address of a request."""

    def get_oauth2_adapter(self, request: HttpRequest) -> "_Adapter":
        return _Adapter(request, self)


class _Adapter(OpenIDConnectOAuth2Adapter):
    def __init__(self, request: HttpRequest, provider: _Provider) -> None:
        super().__init__(request, ID)
        self._provider = provider

    def get_provider(self) -> _Provider:
        return self._provider

    def get_callback_url(self, request: HttpRequest, app: SocialApp) -> str:
        return request.build_absolute_uri(reverse("oidc-callback"))


def _provider(request: HttpRequest) -> _Provider:
    if not is_offered():
        raise Missing("This console knows no identity provider.", "Sign in with name and password.")
    app = SocialApp(
        provider="openid_connect",
        provider_id=ID,
        name=settings.OIDC_NAME,
        client_id=settings.OIDC_CLIENT_ID,
        secret=settings.OIDC_CLIENT_SECRET,
        settings={
            "server_url": settings.OIDC_ISSUER,
            "scope": settings.OIDC_SCOPES,
            "oauth_pkce_enabled": True,
        },
    )
    return _Provider(request, app=app)


def _keys(adapter: _Adapter) -> Mapping[str, Any]:
    """The provider's keys, asked for each time: a key that was taken back is good no more. Raises NotLetIn."""
    config = adapter.openid_config
    if config["issuer"] != settings.OIDC_ISSUER:
        raise _refused("the provider calls itself by another name than QUARTERDECK_OIDC_ISSUER")
    found: Mapping[str, Any] = _fetched(config["jwks_uri"])
    return found


def _key(token: str, keys: Mapping[str, Any]) -> jwt.PyJWK:
    """The one that the token names; the only one, if it names none. Raises jwt.PyJWTError."""
    named = jwt.get_unverified_header(token).get("kid")
    known = [key for key in jwt.PyJWKSet.from_dict(dict(keys)).keys if key.public_key_use in (None, "sig")]
    fitting = [key for key in known if named is None or key.key_id == named]
    if len(fitting) != 1:
        raise jwt.InvalidKeyError("The token names no key of the provider's.")
    return fitting[0]


def _userinfo(adapter: _Adapter, access_token: str, subject: str) -> dict[str, Any]:
    """What the provider tells beside the token. Another person's is dropped (Core 1.0, 5.3.2)."""
    url = adapter.openid_config.get("userinfo_endpoint")
    told = _fetched(url, {"Authorization": f"Bearer {access_token}"}) if url else {}
    return told if isinstance(told, dict) and told.get("sub") == subject else {}


def _fetched(url: str, headers: Mapping[str, str] | None = None) -> Any:
    """JSON. Raises RequestException and ValueError."""
    with get_adapter().get_requests_session() as session:
        answer = session.get(url, headers=headers)
        answer.raise_for_status()
        return answer.json()


def _text(claims: Mapping[str, Any], name: str) -> str:
    value = claims.get(name)
    return value.replace("\0", "").strip() if isinstance(value, str) else ""


def _refused(why: str) -> NotLetIn:
    return NotLetIn(
        f"The answer of {settings.OIDC_NAME} was refused: {why}.",
        "Try again from here. If it stays so, tell whoever runs this console.",
    )


def _silent() -> ConsoleError:
    return Unavailable(
        f"{settings.OIDC_NAME} gave no answer that was understood.",
        "Try again in a minute, or sign in with name and password.",
    )
