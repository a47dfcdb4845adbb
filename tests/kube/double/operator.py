"""The double itself: it watches the API and looks at each namespace again whenever something in it changed.

Level-triggered, one thread a namespace. Usable in-process (`with Double(...)`) and as a program (`__main__`).
"""

import logging
import threading
import time
from collections.abc import Collection
from pathlib import Path
from types import TracebackType

from slurm.kube import kinds
from slurm.kube.kinds import CLAIM, CONFIG_MAP, CONTROLLER, NODE_SET, POD, Thing
from slurm.provisioners.sandbox.images import Tree
from tests.kube.double.api import Api, Refused
from tests.kube.double.cluster import Cluster
from tests.kube.double.hands import Hands
from tests.kube.double.kinds import BUDGET, EXEC, LOGS, PORT_FORWARD, REVISION
from tests.kube.double.loose import EmptyRoom, is_loose
from tests.kube.double.scene import Scene
from tests.kube.double.store import Store
from tests.kube.double.switches import CONFIG_MAP_NAME, Switches, switches_of

WATCHED = (
    *(kinds.CONTROLLER, kinds.ACCOUNTING, kinds.REST_API, kinds.NODE_SET, kinds.LOGIN_SET),
    *(kinds.POD, kinds.SERVICE, kinds.STATEFUL_SET, kinds.DEPLOYMENT, kinds.CONFIG_MAP, kinds.SECRET),
    *(kinds.NODE, kinds.CLAIM, BUDGET, REVISION),
)
OFFERED = (EXEC, PORT_FORWARD, LOGS)
# How often a namespace is looked at without a change: Slurm's states come by asking only.
ASK_S, IDLE_S = 1.0, 15.0
SOON_S, GAP_S = 0.5, 0.1
log = logging.getLogger("double")


class Double:
    """`home` is its directory: rooms, volumes, switches. `tree` is the Slurm behind pods; None for pods alone.

    `namespaces` limits it to these; empty is all. At the end its rooms are removed unless `keep` says otherwise.
    """

    def __init__(
        self,
        kubeconfig: str,
        home: Path,
        *,
        tree: Tree | None,
        namespaces: Collection[str] = (),
        keep: bool = False,
    ) -> None:
        self.home = home
        self.tree = tree
        self._keep = keep
        self._only = set(namespaces)
        self._api = Api(kubeconfig)
        watched = (*WATCHED, *OFFERED) if tree else WATCHED
        self.store = Store(self._api, watched, self._changed)
        self.hands = Hands(self._api, self.store)
        self.empty_room = EmptyRoom(home / "empty", tree) if tree else None
        self._places: dict[str, _Place] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> "Double":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Returns once everything was listed."""
        self.home.mkdir(parents=True, exist_ok=True)
        self.store.start()
        self.store.wait()
        for namespace in self.store.namespaces(CONTROLLER) | self.store.namespaces(NODE_SET):
            self._changed(namespace)

    def stop(self) -> None:
        """Everything it started ends with it."""
        self.store.stop()
        with self._lock:
            places = list(self._places.values())
        for place in places:
            place.end()
        for place in places:
            place.close(remove=not self._keep)
        if self.empty_room:
            self.empty_room.remove()

    def mind(self, namespace: str) -> None:
        """One more, for a double that was limited to some."""
        self._only.add(namespace)
        self._changed(namespace)

    def room_home(self, namespace: str, controller: str) -> Path:
        return self.home / "rooms" / f"{namespace}.{controller}"

    def _changed(self, namespace: str) -> None:
        if not namespace:
            # A machine: it concerns everybody who may have pods on it.
            for each in list(self._places.values()):
                each.wake()
            return
        if self._only and namespace not in self._only:
            return
        with self._lock:
            place = self._places.get(namespace)
            if place is None and self._is_ours(namespace):
                place = self._places[namespace] = _Place(self, namespace)
                place.start()
        if place:
            place.wake()

    def _is_ours(self, namespace: str) -> bool:
        return any(self.store.of(kind, namespace) for kind in (CONTROLLER, NODE_SET)) or any(
            is_loose(pod) for pod in self.store.of(POD, namespace)
        )


class _Place:
    """One namespace's thread."""

    def __init__(self, double: Double, namespace: str) -> None:
        self.double, self.namespace = double, namespace
        self._clusters: dict[str, Cluster] = {}
        self._wake = threading.Event()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"double {namespace}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        self._wake.set()

    def end(self) -> None:
        self._ending.set()
        self._wake.set()

    def close(self, *, remove: bool) -> None:
        self._thread.join(30)
        for cluster in self._clusters.values():
            cluster.remove() if remove else cluster.stop()

    def _run(self) -> None:
        again = False
        while not self._ending.is_set():
            self._wake.wait(SOON_S if again else ASK_S if self.double.tree else IDLE_S)
            self._wake.clear()
            if self._ending.wait(GAP_S + self._switches().slow_s):
                return
            began = time.monotonic()
            try:
                again = self._look()
            except Refused as refusal:
                log.warning("%s: the API refused or was away: %s", self.namespace, refusal)
                again = True
            except Exception:  # the loop must outlive whatever one look meets
                log.exception("%s: a look failed", self.namespace)
                again = True
            if (took := time.monotonic() - began) > 2:
                log.info("%s: a look took %.1f s", self.namespace, took)

    def _switches(self) -> Switches:
        found = self.double.store.find(CONFIG_MAP, self.namespace, CONFIG_MAP_NAME)
        return switches_of(self.double.home, found)

    def _look(self) -> bool:
        store, switches = self.double.store, self._switches()
        controllers = {each["metadata"]["name"]: each for each in store.of(CONTROLLER, self.namespace)}
        again = False
        for name, controller in controllers.items():
            again |= self._cluster(name).look(Scene(store, controller, switches))
        for name in set(self._clusters) - set(controllers):
            self._let_go(name)
        if not switches.dead:
            self._say_lost(controllers)
        if self.double.empty_room:
            self.double.empty_room.offer(self.double.hands, self.namespace)
        return again

    def _cluster(self, name: str) -> Cluster:
        if name not in self._clusters:
            double = self.double
            home, volumes = double.room_home(self.namespace, name), double.home / "volumes" / self.namespace
            self._clusters[name] = Cluster(double.hands, name, home, volumes, double.tree)
        return self._clusters[name]

    def _let_go(self, name: str) -> None:
        """Its Controller is gone. What slurmctld wrote stays as long as its claim does."""
        cluster = self._clusters[name]
        if self.double.store.find(CLAIM, self.namespace, f"statesave-{name}-controller-0"):
            cluster.stop()
        else:
            del self._clusters[name]
            cluster.remove()

    def _say_lost(self, controllers: dict[str, Thing]) -> None:
        """v1.2.1 does nothing for a NodeSet whose Controller is not there."""
        for node_set in self.double.store.of(NODE_SET, self.namespace):
            name = node_set["spec"]["controllerRef"]["name"]
            if name not in controllers and not node_set["metadata"].get("deletionTimestamp"):
                words = f"Failed to get Controller ({self.namespace}/{name}): not found"
                self.double.hands.event(node_set, "Warning", "ControllerRefFailed", words, "Sync")
