"""A real OpenID provider over HTTP, whose answers a test may falsify before they are signed.

The provider is the package oidc-provider-mock (Authlib's server): it issues codes, exchanges them, signs with its own
key and tells about its users. `forge` changes the ID token's claims, which it then signs with its own key as any other.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Thread
from typing import Any

import flask
import jwt
import requests
from oidc_provider_mock import app as provider_app
from werkzeug.serving import make_server

Forge = Callable[[dict[str, Any]], dict[str, Any]]


def honest(claims: dict[str, Any]) -> dict[str, Any]:
    return claims


@dataclass
class IdentityProvider:
    url: str
    forge: Forge = honest
    # Another key than the provider's own, for a token that somebody else signed.
    foreign_key: Any = None

    def has(self, subject: str, **claims: object) -> None:
        """A person there, with what the provider tells about them."""
        requests.put(f"{self.url}/users/{subject}", json=claims, timeout=10).raise_for_status()

    def sends_back(self, address: str, subject: str) -> str:
        """Where the provider sends a browser that was sent to `address` and signed in there as `subject`."""
        answer = requests.post(address, data={"sub": subject}, allow_redirects=False, timeout=10)
        assert answer.status_code == 302, answer.text
        return answer.headers["Location"]

    def answered(self, response: flask.Response) -> flask.Response:
        """The token endpoint's answer as it goes out."""
        if flask.request.path != "/oauth2/token" or response.status_code != 200:
            return response
        body = json.loads(response.get_data())
        key = jwt.PyJWK(flask.g.oidc_provider_mock_storage.jwk.as_dict(is_private=True), algorithm="RS256")
        claims = jwt.decode(body["id_token"], options={"verify_signature": False})
        headers = {"kid": jwt.get_unverified_header(body["id_token"]).get("kid")}
        signer = self.foreign_key or key.key
        body["id_token"] = jwt.encode(
            self.forge(claims), signer, "RS256", {k: v for k, v in headers.items() if v}
        )
        response.set_data(json.dumps(body))
        return response


@contextmanager
def identity_provider() -> Iterator[IdentityProvider]:
    """Runs until the end of the block, on a port of its own."""
    application = provider_app(require_nonce=True)
    server = make_server("127.0.0.1", 0, application, threaded=True)
    provider = IdentityProvider(f"http://127.0.0.1:{server.server_port}")
    application.after_request(provider.answered)
    serving = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    serving.start()
    yield provider
    server.shutdown()
    serving.join(10)
    server.server_close()
