"""One Controller with all that belongs to it: its children made, its NodeSets looked after, its room kept."""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from console.errors import Unavailable
from slurm.kube.kinds import DEPLOYMENT, NODE_SET, SECRET, SERVICE, Thing
from slurm.provisioners.sandbox.images import Tree
from tests.kube.double import kubelet, workers
from tests.kube.double.accounting import accounting_children
from tests.kube.double.choice import is_going, is_ready
from tests.kube.double.conf import operator_conf
from tests.kube.double.container_log import ContainerLog
from tests.kube.double.controller import controller_children
from tests.kube.double.hands import Hands
from tests.kube.double.login import host_keys, login_children
from tests.kube.double.nodesets import NodeSets, frozen
from tests.kube.double.parts import digest
from tests.kube.double.pool import Memory
from tests.kube.double.rest import rest_children
from tests.kube.double.room import Room
from tests.kube.double.scene import COMPONENT, Scene
from tests.kube.double.shared import budget, headless_service
from tests.kube.double.sidecar import Sidecar
from tests.kube.double.slurm_side import PaperSlurm, RoomSlurm, SlurmSide

NO_SUCH_CLASS = "no-such-class"
LOOPBACK = {"loadBalancer": {"ingress": [{"ip": "127.0.0.1"}]}}


class Cluster:
    """`tree` is None without daemons. `look` is for one thread at a time."""

    def __init__(self, hands: Hands, name: str, home: Path, volumes: Path, tree: Tree | None) -> None:
        self.hands = hands
        self.room = Room(name, home, volumes, tree) if tree else None
        self._behind = _Behind(hands, self.room) if self.room else None
        self._memories: dict[str, Memory] = defaultdict(Memory)
        self._paper = PaperSlurm(lambda: self._ready_hosts)
        self._ready_hosts: list[str] = []

    def look(self, scene: Scene) -> bool:
        """One reconcile; whether another is due soon. A dead operator makes nothing, its pods' daemons go on."""
        again = False
        if not scene.switches.dead and not is_going(scene.controller):
            self._make_children(scene)
            again = self._look_after(scene)
        if self._behind:
            self._behind.look(scene)
        return again

    def stop(self) -> None:
        if self.room:
            self.room.stop()

    def remove(self) -> None:
        if self.room:
            self.room.remove()

    # Children

    def _make_children(self, scene: Scene) -> None:
        if scene.accounting and not is_going(scene.accounting):
            self._make_accounting(scene, scene.accounting)
        self._make_controller(scene)
        for rest in scene.rests:
            self._ensure(rest, rest_children(rest))
        for login in scene.logins:
            if not is_going(login):
                self._make_login(scene, login)
        if sets := [each for each in scene.node_sets if not is_going(each)]:
            for shared in (headless_service(scene.name, sets), budget(scene.name, sets)):
                self.hands.ensure(sets[0], shared)

    def _make_accounting(self, scene: Scene, accounting: Thing) -> None:
        hashes = scene.key_hashes(accounting)
        password = scene.secret((accounting["spec"].get("storageConfig") or {}).get("passwordKeyRef"))
        if hashes is None or password is None:
            return self._incomplete(accounting, "a Secret that the Accounting names is missing")
        return self._ensure(accounting, accounting_children(accounting, password, hashes))

    def _make_controller(self, scene: Scene) -> None:
        hashes = scene.key_hashes(scene.controller)
        if hashes is None:
            return self._incomplete(scene.controller, "a Secret that the Controller names is missing")
        conf = operator_conf(scene.controller, scene.accounting, scene.node_sets)
        claim = NO_SUCH_CLASS if scene.switches.unbound_claim else None
        service, *others = controller_children(scene.controller, conf, hashes, claim_class=claim)
        # v1.2.1 makes the Controller's Service once and never changes it.
        self.hands.ensure(scene.controller, service, once=True)
        return self._ensure(scene.controller, others)

    def _make_login(self, scene: Scene, login: Thing) -> None:
        name = login["metadata"]["name"]
        keys = self.hands.store.find(SECRET, scene.namespace, f"{name}-ssh-host-keys")
        keys = keys or self.hands.ensure(login, host_keys(login))
        sssd = scene.secret(login["spec"].get("sssdConfRef"))
        slurm_key = scene.controller["spec"].get("slurmKeyRef")
        if keys is None or sssd is None or slurm_key is None:
            return self._incomplete(login, "a Secret that the LoginSet names is missing")
        hashes = {
            "slinky.slurm.net/ssh-host-keys-hash": digest(str(sorted(keys["data"].items()))),
            "slinky.slurm.net/sssd-conf-hash": digest(sssd),
        }
        config, service, deployment = login_children(login, scene.name, slurm_key, hashes)
        self._ensure(login, [config, self._reachable(service), deployment])
        self._open_service(service)
        return self._write_login_status(login)

    def _reachable(self, service: dict[str, Any]) -> dict[str, Any]:
        """A load balancer's port is here the one where the room's sshd listens: nobody owns port 22 of loopback."""
        if self.room and service["spec"]["type"] == "LoadBalancer":
            service["spec"]["ports"][0]["port"] = self.room.cluster.ports.sshd
        return service

    def _open_service(self, wanted: dict[str, Any]) -> None:
        """A load balancer that stands at once, as a cloud's would after a while."""
        about = wanted["metadata"]
        known = self.hands.store.find(SERVICE, about["namespace"], about["name"])
        if known and wanted["spec"]["type"] == "LoadBalancer" and known.get("status") != LOOPBACK:
            self.hands.change(known, {"status": LOOPBACK}, "status")

    def _write_login_status(self, login: Thing) -> None:
        name = login["metadata"]["name"]
        deployment = self.hands.store.find(DEPLOYMENT, login["metadata"]["namespace"], name) or {}
        status = {
            "replicas": (deployment.get("status") or {}).get("replicas", 0),
            "selector": f"app.kubernetes.io/instance={name},app.kubernetes.io/name=login",
        }
        known = login.get("status") or {}
        if any(known.get(key) != value for key, value in status.items()):
            self.hands.change(login, {"status": status}, "status")

    def _ensure(self, of: Thing, children: list[dict[str, Any]]) -> None:
        if is_going(of):
            return
        for child in children:
            self.hands.ensure(of, child)

    def _incomplete(self, of: Thing, why: str) -> None:
        self.hands.event(of, "Warning", "SyncFailed", f"Failed to sync: {why}", "Sync")

    # NodeSets

    def _look_after(self, scene: Scene) -> bool:
        self._ready_hosts = [workers.host_name(pod) for pod in scene.running("worker") if is_ready(pod)]
        sets = NodeSets(self.hands, scene.switches, self._slurm(scene), lambda uid: self._memories[uid])
        again = False
        for node_set in scene.node_sets:
            # What an earlier one of this look changed.
            now = self.hands.store.find(NODE_SET, scene.namespace, node_set["metadata"]["name"]) or node_set
            try:
                again |= sets.look(
                    now, scene.controller["spec"].get("slurmKeyRef") or {"name": "", "key": ""}
                )
            except Unavailable as away:
                frozen(self.hands, now, away)
                again = True
        return again

    def _slurm(self, scene: Scene) -> SlurmSide | None:
        if not scene.rests:
            return None
        if not scene.rest_is_up:
            return _Away()
        return RoomSlurm(self.room) if self.room else self._paper


class _Away:
    """slurmrestd that does not answer."""

    def __getattr__(self, name: str) -> Any:
        raise Unavailable("Get slurmrestd: connection refused.")


@dataclass
class _Behind:
    """The room behind the pods, and what pods show of it."""

    hands: Hands
    room: Room

    def __post_init__(self) -> None:
        self.sidecar = Sidecar(self.room)
        self.log = ContainerLog(self.room.log, self.room.home / "container.log")

    def look(self, scene: Scene) -> None:
        wanted = scene.wanted()
        if not wanted.files.get("slurm.conf"):
            return
        self.sidecar.look(wanted)
        self.room.settle(wanted)
        self.log.catch_up()
        state = self.room.state()
        for pod in scene.pods:
            if scene.is_lost(pod):
                continue
            component = pod["metadata"]["labels"][COMPONENT]
            held = component in scene.switches.image_pull
            kubelet.report(self.hands, pod, state, held, self.room.kicks if component == "controller" else 0)
            if (pod.get("status") or {}).get("phase") == "Running":
                crashing = kubelet.is_crashing(state.daemon(kubelet.daemon_of(pod)) if state else None)
                port = self.room.cluster.ports.sshd
                is_open = not held and not crashing
                kubelet.offer(self.hands, pod, self.room.enter, self.log.copy, port, open_=is_open)
