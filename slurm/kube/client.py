"""A Kubernetes API in plain objects: what Quarterdeck asks of one, and nothing more.

Everything blocks for at most its time limit and raises ConsoleErrors only: Unavailable when it cannot tell (no answer,
5xx, an expired credential), Missing for 404, Unpermitted for a right that the region's account lacks, Conflict for
another field manager or an object that is there, Rejected for what validation, quotas or webhooks refuse, with a
Problem for each field. Reading, server-side apply and deletion may be repeated after an Unavailable. Safe for threads.
"""

import socket
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec

from clusters.provisioner import Completed
from console.errors import Missing, Unavailable
from slurm.kube.access import Access
from slurm.kube.errors import Asked, Gone
from slurm.kube.exec import Command, run_in_pod
from slurm.kube.forward import forward_to_pod
from slurm.kube.kinds import POD, Kind, Thing
from slurm.kube.places import Place, place_of
from slurm.kube.watch import Watch
from slurm.kube.wire import MOST_BYTES, Query, Wire

FIELD_MANAGER = "quarterdeck"
_PAGE = 500
_LOG_BYTES = 256 * 1024
# The API server sends a bookmark each minute (its cacher's bookmarkFrequency); longer silence is a dead connection.
_SILENCE_S = 90.0
_APPLY, _MERGE = "application/apply-patch+yaml", "application/merge-patch+json"
_STRICT: Query = {"fieldManager": FIELD_MANAGER, "fieldValidation": "Strict"}
_REVIEW = Kind(
    "SelfSubjectAccessReview", "selfsubjectaccessreviews", "authorization.k8s.io", namespaced=False
)
_VERSION = Asked("get", "version", what="read the API server's version")


@dataclass(frozen=True)
class Listed:
    """Objects of one kind, and the resourceVersion to watch from."""

    items: tuple[Thing, ...]
    version: str


class Kube:
    """One API server, as one account."""

    def __init__(self, access: Access, *, timeout_s: float = 10.0) -> None:
        self.access = access
        self._wire = Wire(access, timeout_s)

    @property
    def requests(self) -> Counter[str]:
        """How often each verb was asked since this client was made."""
        return self._wire.requests

    def close(self) -> None:
        """Drop the kept connections. Running calls may fail; a later call connects again."""
        self._wire.close()

    # The server

    def version(self) -> str:
        """`v1.37.2`."""
        return str(self._do(_VERSION, "GET", "/version").get("gitVersion", ""))

    def clock(self) -> datetime:
        """What time the API server has, to the second."""
        _, headers = self._wire.ask(_VERSION, "GET", "/version")
        try:
            return parsedate_to_datetime(headers.get("Date", ""))
        except ValueError as error:
            raise Unavailable("The API server does not say what time it has.") from error

    def may(self, verb: str, plural: str, group: str = "", namespace: str = "", part: str = "") -> bool:
        """Whether this account may do it (SelfSubjectAccessReview). An empty namespace means all of them."""
        wanted = {
            "verb": verb,
            "resource": plural,
            "group": group,
            "namespace": namespace,
            "subresource": part,
        }
        place = Place(_REVIEW)
        spec = {"resourceAttributes": wanted}
        body = {"apiVersion": _REVIEW.api_version, "kind": _REVIEW.name, "spec": spec}
        asked = place.asked("create", "ask what the region's account may do")
        return bool(self._do(asked, "POST", place.path, body=body).get("status", {}).get("allowed"))

    # Objects

    def find(self, kind: Kind, name: str, namespace: str = "") -> Thing | None:
        """None when it is not there."""
        try:
            return self.get(kind, name, namespace)
        except Missing:
            return None

    def get(self, kind: Kind, name: str, namespace: str = "") -> Thing:
        """Raises Missing."""
        place = Place(kind, namespace, name)
        return self._do(place.asked("get", f"read {kind.name} {name}"), "GET", place.path)

    def list(self, kind: Kind, namespace: str = "", *, labels: str = "", fields: str = "") -> Listed:
        """All of a kind, in one namespace or everywhere; by label and field selectors. Read in pages of 500."""
        place, query = Place(kind, namespace), _given(labelSelector=labels, fieldSelector=fields)
        try:
            return self._pages(place, query)
        except Gone:  # the pages' snapshot was compacted away while they were read
            return self._pages(place, query)

    def apply(self, thing: Thing, *, force: bool = False, dry_run: bool = False) -> Thing:
        """Server-side apply as field manager `quarterdeck`; idempotent. `force` takes fields from other managers."""
        place = place_of(thing)
        query = _given(fieldManager=FIELD_MANAGER, force=str(force).lower(), dryRun="All" if dry_run else "")
        asked = place.asked("patch", f"apply {place.kind.name} {place.name}")
        return self._do(asked, "PATCH", place.path, query, thing, _APPLY)

    def create(self, thing: Thing) -> Thing:
        """Raises Conflict when it is there already. An unknown field is refused, not dropped."""
        place = place_of(thing)
        return self._do(
            place.asked("create"), "POST", Place(place.kind, place.namespace).path, _STRICT, thing
        )

    def patch(self, kind: Kind, name: str, namespace: str, merge: Mapping[str, Any]) -> Thing:
        """JSON merge patch: None removes a key, lists are replaced whole. Raises Missing; Conflict when
        `metadata.resourceVersion` is given and somebody was faster."""
        place = Place(kind, namespace, name)
        return self._do(place.asked("patch"), "PATCH", place.path, _STRICT, merge, _MERGE)

    def patch_status(self, kind: Kind, name: str, namespace: str, merge: Mapping[str, Any]) -> Thing:
        """The same for the status, which only this reaches."""
        place = Place(kind, namespace, name, "status")
        return self._do(place.asked("patch"), "PATCH", place.path, _STRICT, merge, _MERGE)

    def delete(
        self,
        kind: Kind,
        name: str,
        namespace: str = "",
        *,
        propagation: str = "Background",
        grace_s: int | None = None,
        uid: str = "",
    ) -> bool:
        """False when it was not there. It goes on to exist for its grace period and finalizers.

        With `uid` only that very object is deleted: Conflict for a namesake made since.
        """
        place = Place(kind, namespace, name)
        options: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": propagation,
        }
        if grace_s is not None:
            options["gracePeriodSeconds"] = grace_s
        if uid:
            options["preconditions"] = {"uid": uid}
        try:
            self._do(place.asked("delete"), "DELETE", place.path, body=options)
        except Missing:
            return False
        return True

    def watch(
        self,
        kind: Kind,
        since: str,
        *,
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        timeout_s: int = 300,
        silence_s: float = _SILENCE_S,
    ) -> Watch:
        """What happens after resourceVersion `since`, until the server ends it after `timeout_s`.

        Raises, here or while iterating, Gone when that version is too old, and Unavailable after `silence_s`
        without a word.
        """
        place = Place(kind, namespace)
        query = _given(
            watch="1",
            allowWatchBookmarks="true",
            resourceVersion=since,
            timeoutSeconds=timeout_s,
            labelSelector=labels,
            fieldSelector=fields,
        )
        asked = place.asked("watch")
        return Watch(asked, self._wire.lines(asked, place.path, query, silence_s))

    # Pods

    def run(
        self,
        namespace: str,
        pod: str,
        container: str,
        argv: Sequence[str],
        *,
        prefix: Sequence[str] = (),
        timeout_s: float = 4.0,
        stdin: bytes = b"",
        most_bytes: int = MOST_BYTES,
    ) -> Completed:
        """Run `prefix + argv` in a running container. Raises Unavailable as `slurm.kube.exec` says, Unpermitted.

        A time limit ends the waiting, not the command: a kubelet lets it run on.
        """
        place = Place(POD, namespace, pod, "exec")
        asked = place.asked("create", f"run {argv[0]} in pod {pod}")
        command = Command(container, argv, prefix, stdin, timeout_s, most_bytes)
        return run_in_pod(self._wire, asked, place.path, command)

    def log(
        self, namespace: str, pod: str, container: str, *, lines: int = 20, previous: bool = False
    ) -> str:
        """The last lines a container printed; `previous`: of its run before the last restart. At most 256 KiB.

        Raises Missing without such a pod, Rejected while the container has printed nothing yet.
        """
        place = Place(POD, namespace, pod, "log")
        query = _given(
            container=container, tailLines=lines, limitBytes=_LOG_BYTES, previous="true" if previous else ""
        )
        raw, _ = self._wire.ask(
            place.asked("get", f"read the log of {container} in pod {pod}"), "GET", place.path, query
        )
        return raw.decode("utf-8", "replace")

    def forward(self, namespace: str, pod: str, port: int) -> socket.socket:
        """A connected stream socket whose other end is that port in the pod; closing it closes everything.

        Raises Unavailable, Unpermitted. A port on which nothing listens shows as the stream's end.
        """
        place = Place(POD, namespace, pod, "portforward")
        asked = place.asked("create", f"reach port {port} of pod {pod}")
        return forward_to_pod(self._wire, asked, place.path, port)

    def _pages(self, place: Place, query: Query) -> Listed:
        asked, items, more = place.asked("list"), list[Thing](), ""
        while True:
            page = self._do(asked, "GET", place.path, {**query, "limit": _PAGE, "continue": more})
            # The items of a list do not say what they are.
            kind = {"apiVersion": place.kind.api_version, "kind": place.kind.name}
            items += ({**kind, **item} for item in page.get("items") or ())
            metadata = page.get("metadata") or {}
            more = metadata.get("continue", "")
            if not more:
                return Listed(tuple(items), metadata.get("resourceVersion", ""))

    def _do(
        self,
        asked: Asked,
        method: str,
        path: str,
        query: Query | None = None,
        body: object = None,
        content_type: str = "application/json",
    ) -> Thing:
        raw, _ = self._wire.ask(asked, method, path, query, body=body, content_type=content_type)
        try:
            return msgspec.json.decode(raw, type=dict[str, Any])
        except msgspec.MsgspecError as error:
            raise Unavailable(
                f"Could not {asked.words}: {self.access.server} did not answer as an API server does.",
                "Something else may listen there.",
            ) from error


def _given(**values: str | int) -> Query:
    """A query without what is empty."""
    return {name: value for name, value in values.items() if value != ""}
