"""One cluster as the API holds it: its resources and pods together, and what its room should run. Reads only."""

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from slurm.kube.kinds import (
    ACCOUNTING,
    CONFIG_MAP,
    LOGIN_SET,
    NODE,
    NODE_SET,
    POD,
    REST_API,
    SECRET,
    SERVICE,
    Thing,
)
from tests.kube.double import workers
from tests.kube.double.choice import is_going, is_ready
from tests.kube.double.conf import room_gres
from tests.kube.double.parts import digest
from tests.kube.double.store import Store
from tests.kube.double.switches import Switches
from tests.kube.double.wanted import Claimed, Login, Wanted, Worker

COMPONENT, INSTANCE = "app.kubernetes.io/component", "app.kubernetes.io/instance"


@dataclass(frozen=True)
class Scene:
    store: Store
    controller: Thing
    switches: Switches

    @property
    def name(self) -> str:
        return str(self.controller["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.controller["metadata"]["namespace"])

    # Its resources

    @cached_property
    def accounting(self) -> Thing | None:
        ref = self.controller["spec"].get("accountingRef") or {}
        return self.store.find(ACCOUNTING, self.namespace, ref["name"]) if ref.get("name") else None

    @cached_property
    def node_sets(self) -> list[Thing]:
        return self._of_it(NODE_SET)

    @cached_property
    def logins(self) -> list[Thing]:
        return self._of_it(LOGIN_SET)

    @cached_property
    def rests(self) -> list[Thing]:
        """The oldest first: it is the one that the operator asks."""
        return sorted(self._of_it(REST_API), key=lambda each: each["metadata"]["creationTimestamp"])

    def _of_it(self, kind: object) -> list[Thing]:
        found = self.store.of(kind, self.namespace)  # type: ignore[arg-type]
        return [each for each in found if each["spec"]["controllerRef"]["name"] == self.name]

    def secret(self, ref: dict[str, str] | None) -> str | None:
        """The text of one key; None when the Secret or the key is missing."""
        found = self.store.find(SECRET, self.namespace, ref["name"]) if ref else None
        data = (found or {}).get("data") or {}
        return (
            base64.b64decode(data[ref["key"]]).decode(errors="replace")
            if ref and ref["key"] in data
            else None
        )

    def key_hashes(self, of: Thing) -> dict[str, str] | None:
        """The annotations that start new pods when a key changes; None while one is missing."""
        spec = of["spec"]
        refs = {"jwt": spec.get("jwtKeyRef") or spec.get("jwtHs256KeyRef"), "slurm": spec.get("slurmKeyRef")}
        keys = {name: self.secret(ref) for name, ref in refs.items()}
        if None in keys.values():
            return None
        return {f"slinky.slurm.net/{name}-key-hash": digest(str(key)) for name, key in keys.items()}

    # Its pods

    @cached_property
    def pods(self) -> list[Thing]:
        """All of them, worker pods included."""
        return [pod for pod in self.store.of(POD, self.namespace) if self._is_own(pod)]

    def _is_own(self, pod: Thing) -> bool:
        marks = pod["metadata"].get("labels") or {}
        component, instance = marks.get(COMPONENT), marks.get(INSTANCE)
        if component == "worker":
            return bool(marks.get(workers.CLUSTER) == self.name)
        names = {
            "controller": [self.name],
            "accounting": [self.accounting["metadata"]["name"]] if self.accounting else [],
            "restapi": [each["metadata"]["name"] for each in self.rests],
            "login": [each["metadata"]["name"] for each in self.logins],
        }
        return instance in names.get(component or "", [])

    def running(self, component: str) -> Iterator[Thing]:
        """Pods that a kubelet would have started containers for, on machines that are there."""
        for pod in self.pods:
            held = component in self.switches.image_pull
            if pod["metadata"]["labels"][COMPONENT] == component and not held and self._runs(pod):
                yield pod

    def _runs(self, pod: Thing) -> bool:
        begun = (pod.get("status") or {}).get("phase") == "Running"
        return begun and not is_going(pod) and not self.is_lost(pod)

    def is_lost(self, pod: Thing) -> bool:
        """Its machine does not answer: nobody runs its containers or says how they are."""
        node = self.store.find(NODE, "", pod["spec"].get("nodeName", ""))
        return node is None or not is_ready(node)

    @property
    def rest_is_up(self) -> bool:
        """Whether slurmrestd would answer: a ready pod of the oldest RestApi, and nobody broke it."""
        ready = any(is_ready(pod) for pod in self.running("restapi"))
        return ready and not self.switches.rest_away

    # Its room

    def wanted(self) -> Wanted:
        spec = self.controller["spec"]
        return Wanted(
            files=self._pod_files(),
            gres=room_gres(self.node_sets),
            controller=self._uid("controller"),
            accounting=self._uid("accounting"),
            workers=tuple(self._workers()),
            lost=frozenset(workers.host_name(pod) for pod in self.pods if self.is_lost(pod)),
            login=next((self._login(pod) for pod in self.running("login")), None),
            in_place=bool(spec.get("inplaceReconfigure")),
            crash=self.switches.controller_crash,
            delay_s=self.switches.volume_delay_s,
        )

    def _uid(self, component: str) -> str:
        return next((str(pod["metadata"]["uid"]) for pod in self.running(component)), "")

    def _pod_files(self) -> dict[str, str]:
        refs = self.controller["spec"].get("configFileRefs") or ()
        files: dict[str, str] = {}
        for name in (f"{self.name}-config", *(ref["name"] for ref in refs)):
            files |= (self.store.find(CONFIG_MAP, self.namespace, name) or {}).get("data") or {}
        return files

    def _workers(self) -> Iterator[Worker]:
        for pod in self.running("worker"):
            host = workers.host_name(pod)
            if not self.switches.is_unregistered(host):
                # As the pod was made with, not as the NodeSet is now.
                conf = _argument(pod, "--conf").strip("'")
                cpus, memory_mib = (int(_variable(pod, name)) for name in ("POD_CPUS", "POD_MEMORY"))
                uid = str(pod["metadata"]["uid"])
                yield Worker(host, uid, conf, cpus, memory_mib, tuple(_claimed(pod)))

    def _login(self, pod: Thing) -> Login:
        name = pod["metadata"]["labels"][INSTANCE]
        config = (self.store.find(CONFIG_MAP, self.namespace, f"{name}-ssh-config") or {}).get("data") or {}
        keys = (self.store.find(SECRET, self.namespace, f"{name}-ssh-host-keys") or {}).get("data") or {}
        service = self.store.find(SERVICE, self.namespace, name) or {}
        ports = [each.get("nodePort") for each in (service.get("spec") or {}).get("ports") or ()]
        return Login(
            uid=str(pod["metadata"]["uid"]),
            config=config.get("sshd_config", "").partition("### EXTRA CONFIG ###\n")[2],
            keys=config.get("authorized_keys", ""),
            host_keys={file: base64.b64decode(key).decode() for file, key in keys.items()},
            files=dict(self._mounted_files(pod)),
            ports=tuple(port for port in ports if port),
            claims=tuple(_claimed(pod)),
        )

    def _mounted_files(self, pod: Thing) -> Iterator[tuple[str, str]]:
        """The user's own ConfigMaps and Secrets in the login pod, as (path, text)."""
        volumes = {each["name"]: each for each in pod["spec"].get("volumes") or ()}
        for mount in pod["spec"]["containers"][0].get("volumeMounts") or ():
            volume = volumes.get(mount["name"], {})
            for file, text in self._volume_files(volume).items():
                if not mount.get("subPath"):
                    yield f"{mount['mountPath']}/{file}", text
                elif mount["subPath"] == file:
                    yield mount["mountPath"], text

    def _volume_files(self, volume: Thing) -> dict[str, str]:
        if config := volume.get("configMap"):
            return dict((self.store.find(CONFIG_MAP, self.namespace, config["name"]) or {}).get("data") or {})
        if secret := volume.get("secret"):
            data = (self.store.find(SECRET, self.namespace, secret["secretName"]) or {}).get("data") or {}
            return {file: base64.b64decode(text).decode(errors="replace") for file, text in data.items()}
        return {}


def _claimed(pod: Thing) -> Iterator[Claimed]:
    """The claims in a pod's main container, which keep it from starting while they are not bound."""
    claims = {
        each["name"]: each["persistentVolumeClaim"]
        for each in pod["spec"].get("volumes") or ()
        if "persistentVolumeClaim" in each
    }
    for mount in pod["spec"]["containers"][0].get("volumeMounts") or ():
        if claim := claims.get(mount["name"]):
            is_read_only = bool(mount.get("readOnly") or claim.get("readOnly"))
            yield Claimed(claim["claimName"], mount["mountPath"], is_read_only)


def _variable(pod: Thing, name: str) -> str:
    found = pod["spec"]["containers"][0].get("env") or ()
    return next((str(each["value"]) for each in found if each["name"] == name), "0")


def _argument(pod: Thing, name: str) -> str:
    arguments = pod["spec"]["containers"][0].get("args") or []
    return arguments[arguments.index(name) + 1] if name in arguments else ""
