"""HTTP and TLS to one API server: bytes out, bytes or ConsoleErrors in. Used by `slurm.kube.client` only.

The vendor's generated models and its kubeconfig loader are not used: the models cost a process 20 MB and a second, and
the loader writes keys to temporary files. Its REST client speaks, with a TLS context of our own, because that client
takes keys by file name only. Nothing here follows a redirect, obeys `https_proxy` or logs a header.
"""

import os
import ssl
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from kubernetes.client.configuration import Configuration
from kubernetes.client.exceptions import ApiException
from kubernetes.client.rest import RESTClientObject
from urllib3 import HTTPResponse
from urllib3.exceptions import HTTPError, ProtocolError

from console.errors import ConsoleError, Unavailable
from slurm.kube.access import Access
from slurm.kube.errors import Asked, refusal
from slurm.kube.unreachable import no_answer

MOST_BYTES = 256 * 2**20
_CHUNK = 2**16
# Watches hold a connection each; more than this are made and thrown away.
_KEPT_CONNECTIONS = 16

Query = Mapping[str, str | int]


class Wire:
    """One API server with one identity. `requests` counts what was asked, by verb; the bench reads it."""

    def __init__(self, access: Access, timeout_s: float) -> None:
        self.access = access
        self.timeout_s = timeout_s
        self.tls = _tls(access) if access.server.startswith("https:") else None
        self.requests: Counter[str] = Counter()
        self._rest = RESTClientObject(_configuration(access))
        if self.tls:
            self._rest.pool_manager.connection_pool_kw["ssl_context"] = self.tls

    def ask(
        self,
        asked: Asked,
        method: str,
        path: str,
        query: Query | None = None,
        *,
        body: object = None,
        content_type: str = "application/json",
        timeout_s: float | None = None,
    ) -> tuple[bytes, Mapping[str, str]]:
        """The whole answer and its headers. Raises the refusal's ConsoleError, Unavailable when there is none.

        A read whose kept connection turns out to be closed is sent once more; a write never is.
        """
        limit_s = timeout_s or self.timeout_s
        deadline = time.monotonic() + limit_s
        with self._translated(asked, limit_s):
            try:
                return self._once(asked, method, path, query, body, content_type, deadline)
            except ProtocolError:
                if method != "GET":
                    raise
                return self._once(asked, method, path, query, body, content_type, deadline)

    def lines(self, asked: Asked, path: str, query: Query, silence_s: float) -> "Lines":
        """An answer that goes on. Raises as `ask`; so does reading, when nothing comes for `silence_s`."""
        timeout = (self.timeout_s, silence_s)
        with self._translated(asked, self.timeout_s):
            response = self._send(asked, "GET", path, query, None, "", timeout)
            if response.status != 200:
                raise _refused(asked, response, time.monotonic() + self.timeout_s)
        return Lines(self, asked, response, silence_s)

    def bearer(self) -> str:
        """The token to send, empty with a client certificate. Never in an error."""
        if not self.access.token_file:
            return self.access.token
        try:
            return Path(self.access.token_file).read_text(encoding="ascii").strip()
        except OSError as error:
            raise Unavailable(
                f"The service account's token cannot be read: {error.strerror}.",
                "The console must run in a pod with automountServiceAccountToken.",
            ) from error

    def close(self) -> None:
        self._rest.close()

    def _once(
        self,
        asked: Asked,
        method: str,
        path: str,
        query: Query | None,
        body: object,
        content_type: str,
        deadline: float,
    ) -> tuple[bytes, Mapping[str, str]]:
        left_s = max(0.1, deadline - time.monotonic())
        response = self._send(asked, method, path, query or {}, body, content_type, left_s)
        if not 200 <= response.status < 300:
            raise _refused(asked, response, deadline)
        return _whole(asked, response, deadline), response.headers

    def _send(
        self,
        asked: Asked,
        method: str,
        path: str,
        query: Query,
        body: object,
        content_type: str,
        timeout: float | tuple[float, float],
    ) -> HTTPResponse:
        self.requests[asked.verb] += 1
        headers = {"Accept": "application/json", "User-Agent": "quarterdeck"}
        if body is not None:
            headers["Content-Type"] = content_type
        if token := self.bearer():
            headers["Authorization"] = f"Bearer {token}"
        url = self.access.server + target(path, query)
        answer: Any = self._rest.request(method, url, headers=headers, body=body, _request_timeout=timeout)
        response: HTTPResponse = answer.response
        return response

    @contextmanager
    def _translated(self, asked: Asked, limit_s: float) -> Iterator[None]:
        try:
            yield
        except (ApiException, HTTPError, OSError) as error:
            raise no_answer(asked, self.access.server, error, limit_s) from error


class Lines:
    """The lines of an answer as they come. `close` may be called from another thread and ends the reading."""

    def __init__(self, wire: Wire, asked: Asked, response: HTTPResponse, silence_s: float) -> None:
        self._wire, self._asked, self._response, self._silence_s = wire, asked, response, silence_s

    def __iter__(self) -> Iterator[bytes]:
        rest = bytearray()
        with self._wire._translated(self._asked, self._silence_s):
            for chunk in self._response.stream(_CHUNK):
                rest += chunk
                *whole, tail = rest.split(b"\n")
                yield from map(bytes, whole)
                rest = bytearray(tail)
                if len(rest) > MOST_BYTES:
                    raise ProtocolError("a line without end")

    def close(self) -> None:
        with suppress(HTTPError, OSError, ValueError, RuntimeError):
            self._response.shutdown()
        with suppress(HTTPError, OSError):
            self._response.close()


def target(path: str, query: Query) -> str:
    """The request's path and query, each piece quoted."""
    return quote(path) + (f"?{urlencode(query)}" if query else "")


def _refused(asked: Asked, response: HTTPResponse, deadline: float) -> ConsoleError:
    body = _whole(asked, response, deadline, most_bytes=2**20)
    return refusal(asked, response.status, body, response.headers.get("Retry-After", ""))


def _whole(asked: Asked, response: HTTPResponse, deadline: float, most_bytes: int = MOST_BYTES) -> bytes:
    body = bytearray()
    for chunk in response.stream(_CHUNK):
        body += chunk
        if len(body) > most_bytes:
            response.close()
            raise Unavailable(f"Could not {asked.words}: the answer is longer than {most_bytes >> 20} MiB.")
        if time.monotonic() > deadline:
            response.close()
            raise TimeoutError
    return bytes(body)


def _configuration(access: Access) -> Configuration:
    # Empty texts, not None: with None the client asks the environment for proxies.
    configuration = Configuration(host=access.server, proxy="", no_proxy="")
    configuration.retries = False
    configuration.keep_alive = True
    configuration.connection_pool_maxsize = _KEPT_CONNECTIONS
    configuration.tls_server_name = access.server_name or None
    return configuration


def _tls(access: Access) -> ssl.SSLContext:
    """Raises Unavailable when OpenSSL takes neither the authorities nor the pair."""
    try:
        context = ssl.create_default_context(cadata=access.ca or None)
        if access.certificate:
            _load_pair(context, access.certificate, access.key)
    except (ssl.SSLError, ValueError) as error:
        raise Unavailable(
            "The certificates in the region's kubeconfig cannot be used.", "Renew the region's kubeconfig."
        ) from error
    return context


def _load_pair(context: ssl.SSLContext, certificate: str, key: str) -> None:
    """OpenSSL reads a certificate and its key from a file only; this one is in memory and gone at once."""
    descriptor = os.memfd_create("pair", os.MFD_CLOEXEC)
    try:
        with open(descriptor, "w", encoding="ascii", closefd=False) as file:
            file.write(f"{certificate}\n{key}\n")
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)
