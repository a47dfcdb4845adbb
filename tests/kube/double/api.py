"""The double's own way to the API: JSON over HTTPS with connections that are kept.

The product's client is not used to test itself. Blocking; a call that gets no answer raises `Refused` with status 0.
"""

import base64
import json
import ssl
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import urllib3
import yaml

from slurm.kube.kinds import Kind, Thing
from tests.kube.double.kinds import kind_of

TIMEOUT = urllib3.Timeout(connect=5, read=10)
MERGE = "application/merge-patch+json"


class Refused(Exception):
    """The API answered with an error, or not at all (status 0)."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class Api:
    """One administrator's connection pool. `kubeconfig` is the text; certificates may be inline or files."""

    def __init__(self, kubeconfig: str) -> None:
        self._url, context = _connection(kubeconfig)
        self._pool = urllib3.PoolManager(maxsize=24, ssl_context=context, retries=False, timeout=TIMEOUT)

    def list(self, kind: Kind, namespace: str = "") -> tuple[list[Thing], str]:
        """The objects and the version to watch from."""
        found = self._ask("GET", kind.path(namespace))
        head = {"apiVersion": kind.api_version, "kind": kind.name}
        return [{**head, **thing} for thing in found["items"]], found["metadata"]["resourceVersion"]

    def get(self, kind: Kind, namespace: str, name: str) -> Thing | None:
        try:
            return self._ask("GET", kind.path(namespace, name))
        except Refused as refusal:
            if refusal.status == 404:
                return None
            raise

    def create(self, thing: Thing) -> Thing:
        return self._ask("POST", kind_of(thing).path(thing["metadata"].get("namespace", "")), thing)

    def patch(self, thing: Thing, change: Mapping[str, Any], part: str = "") -> Thing:
        """A JSON merge patch of `thing` or, with `part`, of its subresource."""
        about = thing["metadata"]
        path = kind_of(thing).path(about.get("namespace", ""), about["name"], part)
        return self._ask("PATCH", path, change, MERGE)

    def delete(self, thing: Thing) -> None:
        """Of this very object; a successor with its name is left alone. One that is gone is no error."""
        about = thing["metadata"]
        body = {"preconditions": {"uid": about["uid"]}, "propagationPolicy": "Background"}
        try:
            self._ask("DELETE", kind_of(thing).path(about.get("namespace", ""), about["name"]), body)
        except Refused as refusal:
            if refusal.status not in (404, 409):
                raise

    def watch(self, kind: Kind, since: str, timeout_s: int) -> Iterator[tuple[str, Thing]]:
        """(ADDED, MODIFIED or DELETED, object) until the time is over. Raises `Refused`, 410 for a version too old."""
        query = f"?watch=1&allowWatchBookmarks=true&resourceVersion={since}&timeoutSeconds={timeout_s}"
        limit = urllib3.Timeout(connect=5, read=timeout_s + 10)
        for line in _lines(self._open("GET", kind.path() + query, timeout=limit)):
            event = json.loads(line)
            if event["type"] == "ERROR":
                raise Refused(event["object"].get("code", 0), event["object"].get("message", ""))
            yield event["type"], event["object"]

    def _ask(self, method: str, path: str, body: object = None, kind: str = "application/json") -> Any:
        answer = self._open(method, path, body, kind)
        try:
            text = answer.read()
        except urllib3.exceptions.HTTPError as error:
            raise Refused(0, str(error)) from error
        finally:
            answer.release_conn()
        return json.loads(text)

    def _open(
        self,
        method: str,
        path: str,
        body: object = None,
        kind: str = "application/json",
        timeout: urllib3.Timeout = TIMEOUT,
    ) -> urllib3.BaseHTTPResponse:
        try:
            answer = self._pool.request(
                method,
                self._url + path,
                body=None if body is None else json.dumps(body).encode(),
                headers={"Content-Type": kind, "Accept": "application/json"},
                preload_content=False,
                timeout=timeout,
            )
            if answer.status >= 400:
                raise Refused(answer.status, _message(answer.read()))
        except urllib3.exceptions.HTTPError as error:
            raise Refused(0, str(error)) from error
        return answer


def _lines(answer: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    rest = b""
    try:
        for chunk in answer.stream(65536):
            *lines, rest = (rest + chunk).split(b"\n")
            yield from (line for line in lines if line)
    except urllib3.exceptions.HTTPError as error:
        raise Refused(0, str(error)) from error
    finally:
        # Half-read: a connection that cannot be used again.
        answer.close()


def _message(body: bytes) -> str:
    try:
        return str(json.loads(body)["message"])
    except (ValueError, KeyError, TypeError):
        return body.decode(errors="replace")[:500]


def _connection(kubeconfig: str) -> tuple[str, ssl.SSLContext]:
    config = yaml.safe_load(kubeconfig)
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    context = ssl.create_default_context(cadata=_pem(cluster, "certificate-authority").decode())
    with tempfile.TemporaryDirectory() as folder:
        pair = Path(folder) / "pair.pem"
        pair.touch(mode=0o600)
        pair.write_bytes(_pem(user, "client-certificate") + b"\n" + _pem(user, "client-key"))
        context.load_cert_chain(pair)
    return cluster["server"], context


def _pem(entry: Mapping[str, str], name: str) -> bytes:
    if inline := entry.get(f"{name}-data"):
        return base64.b64decode(inline)
    return Path(entry[name]).read_bytes()
