"""An admission webhook that says no: a small HTTPS server here, which the API server asks."""

import base64
import json
import ssl
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.kube.rig import things
from tests.kube.rig.place import HOST
from tests.kube.rig.rig import Rig

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
NAME = "refusal.webhook.test"


@contextmanager
def refusing(
    rig: Rig,
    namespace: str,
    plural: str,
    *,
    group: str = "slinky.slurm.net",
    code: int = 403,
    message: str,
    only: Callable[[things.Thing], bool] = lambda thing: True,
) -> Iterator["Refusals"]:
    """Within the block, whoever makes or changes objects of a kind in the namespace is refused with `message`, where
    `only` says so of the object.

    Go's operators deny with code 403, or with 422 where they have made a list of fields.
    """
    server = Refusals((HOST, 0), code, message, only)
    server.socket = _context(rig).wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    authority = base64.b64encode(rig.authority.pair.certificate).decode()
    rig.api.create(CONFIGURATIONS, _configuration(namespace, group, plural, server.server_port, authority))
    try:
        yield server
    finally:
        rig.api.delete(f"{CONFIGURATIONS}/{namespace}")
        server.shutdown()
        server.server_close()


class Refusals(ThreadingHTTPServer):
    """`asked` has the objects that were refused. A configuration takes the API server up to a second to follow."""

    def __init__(
        self, address: tuple[str, int], code: int, message: str, only: Callable[[things.Thing], bool]
    ) -> None:
        super().__init__(address, _Handler)
        self.only = only
        self.status = {"code": code, "message": message}
        self.asked: list[things.Thing] = []


class _Handler(BaseHTTPRequestHandler):
    server: Refusals

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = {"uid": review["request"]["uid"], "allowed": True}
        if self.server.only(thing := review["request"]["object"]):
            self.server.asked.append(thing)
            answer |= {"allowed": False, "status": self.server.status}
        body = json.dumps(
            {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": answer}
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing: a test's output is its own."""


def _context(rig: Rig) -> ssl.SSLContext:
    pair = rig.authority.issue("webhook", hosts=[HOST])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile() as file:
        file.write(pair.certificate + pair.key)
        file.flush()
        context.load_cert_chain(file.name)
    return context


def _configuration(namespace: str, group: str, plural: str, port: int, authority: str) -> things.Thing:
    rule = {
        "apiGroups": [group],
        "apiVersions": ["*"],
        "resources": [plural],
        "operations": ["CREATE", "UPDATE"],
    }
    return {
        "metadata": {"name": namespace},
        "webhooks": [
            {
                "name": NAME,
                "clientConfig": {"url": f"https://{HOST}:{port}/", "caBundle": authority},
                "rules": [rule],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                "failurePolicy": "Fail",
                "sideEffects": "None",
                "timeoutSeconds": 5,
                "admissionReviewVersions": ["v1"],
            }
        ],
    }
