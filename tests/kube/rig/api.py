"""The tests' own way to an API server: JSON over HTTPS. The product's client is not used to test itself."""

import base64
import json
import ssl
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any

import yaml

Json = Mapping[str, Any]


class Refused(Exception):
    """The API answered with an error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class Api:
    """Blocking requests with a time limit; raises `Refused` for an answer of 400 and above, OSError for none."""

    def __init__(self, kubeconfig: str) -> None:
        """`kubeconfig` has one cluster and one user, who has a client certificate or a token; all inline."""
        config = yaml.safe_load(kubeconfig)
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.kubeconfig = kubeconfig
        self._url = cluster["server"]
        self._headers = {"Authorization": f"Bearer {user['token']}"} if "token" in user else {}
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self._context = ssl.create_default_context(cadata=authority)
        if "client-certificate-data" in user:
            _use_certificate(self._context, user)

    def get(self, path: str) -> Any:
        return self.ask("GET", path)

    def create(self, path: str, thing: Json) -> Any:
        """Made, or None where one of that name is already."""
        try:
            return self.ask("POST", path, thing)
        except Refused as refusal:
            if refusal.status == 409:
                return None
            raise

    def merge(self, path: str, change: Json) -> Any:
        """A JSON merge patch."""
        return self.ask("PATCH", path, change, "application/merge-patch+json")

    def delete(self, path: str) -> Any:
        return self.ask("DELETE", path)

    def ask(self, method: str, path: str, body: Json | None = None, kind: str = "application/json") -> Any:
        data = None if body is None else json.dumps(body).encode()
        try:
            return json.loads(self._send(method, path, data, kind, timeout_s=30))
        except urllib.error.HTTPError as error:
            raise Refused(error.code, _message(error.read())) from None

    def is_ready(self) -> bool:
        """Whether all of it has started, its post-start hooks (the RBAC roles) included."""
        try:
            return self._send("GET", "/readyz", None, "", timeout_s=2) == b"ok"
        except OSError:
            return False

    def _send(self, method: str, path: str, data: bytes | None, kind: str, *, timeout_s: float) -> bytes:
        headers = {**self._headers, "Content-Type": kind, "Accept": "application/json, */*"}
        request = urllib.request.Request(self._url + path, data, headers, method=method)
        with urllib.request.urlopen(request, context=self._context, timeout=timeout_s) as answer:
            return bytes(answer.read())


def wait_until(what: str, is_so: Callable[[], bool], within_s: float = 60.0) -> None:
    """Asks again and again. Raises TimeoutError naming `what`."""
    deadline = time.monotonic() + within_s
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {within_s:g} s")
        time.sleep(0.05)


def _use_certificate(context: ssl.SSLContext, user: Json) -> None:
    """OpenSSL wants a file: one that is gone again at once."""
    with tempfile.NamedTemporaryFile() as file:
        for name in ("client-certificate-data", "client-key-data"):
            file.write(base64.b64decode(user[name]) + b"\n")
        file.flush()
        context.load_cert_chain(file.name)


def _message(body: bytes) -> str:
    try:
        return str(json.loads(body)["message"])
    except (ValueError, KeyError, TypeError):
        return body.decode(errors="replace")[:500]
