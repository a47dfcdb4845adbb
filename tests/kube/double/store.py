"""What the API last said of the kinds that the double looks at, kept current by one watch a kind.

Filled by threads that end with `stop`; read by everybody. An answer to one of our own writes is put in at once, so a
reconcile never acts on what it has itself just changed.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable

from slurm.kube.kinds import Kind, Thing
from tests.kube.double.api import Api, Refused
from tests.kube.double.kinds import kind_of

WATCH_S = 240
PAUSE_S = 0.5
Key = tuple[str, str]


class Store:
    """`changed` is called with the namespace of everything that came, changed or went; empty for what has none."""

    def __init__(self, api: Api, kinds: Iterable[Kind], changed: Callable[[str], None]) -> None:
        self._api = api
        self._kinds = tuple(kinds)
        self._changed = changed
        self._lock = threading.Lock()
        self._things: dict[str, dict[str, dict[str, Thing]]] = {
            kind.name: defaultdict(dict) for kind in self._kinds
        }
        self._listed = {kind.name: threading.Event() for kind in self._kinds}
        self._ending = threading.Event()

    def start(self) -> None:
        for kind in self._kinds:
            threading.Thread(
                target=self._follow, args=(kind,), name=f"watch {kind.plural}", daemon=True
            ).start()

    def wait(self, limit_s: float = 30.0) -> None:
        """Until everything was listed once. Raises TimeoutError."""
        for name, listed in self._listed.items():
            if not listed.wait(limit_s):
                raise TimeoutError(f"{name} could not be listed within {limit_s:g} s")

    def stop(self) -> None:
        """The threads end with their next event, or with the process."""
        self._ending.set()

    def of(self, kind: Kind, namespace: str) -> list[Thing]:
        """By name."""
        with self._lock:
            found = self._things[kind.name].get(namespace, {})
            return [found[name] for name in sorted(found)]

    def find(self, kind: Kind, namespace: str, name: str) -> Thing | None:
        with self._lock:
            return self._things[kind.name].get(namespace, {}).get(name)

    def namespaces(self, kind: Kind) -> set[str]:
        with self._lock:
            return {namespace for namespace, things in self._things[kind.name].items() if things}

    def put(self, thing: Thing) -> None:
        """Unless something newer is known."""
        about = thing["metadata"]
        with self._lock:
            shelf = self._things[kind_of(thing).name][about.get("namespace", "")]
            known = shelf.get(about["name"])
            if known is None or _version(known) < _version(thing):
                shelf[about["name"]] = thing

    def drop(self, thing: Thing) -> None:
        about = thing["metadata"]
        with self._lock:
            shelf = self._things[kind_of(thing).name][about.get("namespace", "")]
            known = shelf.get(about["name"])
            if known and known["metadata"]["uid"] == about["uid"]:
                del shelf[about["name"]]

    def _follow(self, kind: Kind) -> None:
        while not self._ending.is_set():
            try:
                since = self._relist(kind)
                while not self._ending.is_set():
                    since = self._watch(kind, since)
            except Refused:
                self._ending.wait(PAUSE_S)

    def _relist(self, kind: Kind) -> str:
        things, version = self._api.list(kind)
        fresh: dict[str, dict[str, Thing]] = defaultdict(dict)
        for thing in things:
            fresh[thing["metadata"].get("namespace", "")][thing["metadata"]["name"]] = thing
        with self._lock:
            seen = {*self._things[kind.name], *fresh}
            self._things[kind.name] = fresh
        self._listed[kind.name].set()
        for namespace in seen:
            self._changed(namespace)
        return version

    def _watch(self, kind: Kind, since: str) -> str:
        for event, thing in self._api.watch(kind, since, WATCH_S):
            since = thing["metadata"]["resourceVersion"]
            if event == "BOOKMARK":
                continue
            self.drop(thing) if event == "DELETED" else self.put(thing)
            self._changed(thing["metadata"].get("namespace", ""))
            if self._ending.is_set():
                break
        return since


def _version(thing: Thing) -> int:
    return int(thing["metadata"]["resourceVersion"])
