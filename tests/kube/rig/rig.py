"""A whole rig: started, broken on purpose, mended, stopped."""

import base64
import json
import os
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import yaml

from tests.kube.rig import parts, things
from tests.kube.rig.admin import Admin, slinky_crds
from tests.kube.rig.api import Api, wait_until
from tests.kube.rig.build import Build
from tests.kube.rig.pki import LIFETIME, Authority, write_secret
from tests.kube.rig.place import Place
from tests.kube.rig.process import Kept, Process

ADMINS = "system:masters"
READY_WITHIN_S = 60.0


class Rig(Admin):
    """Etcd, API server, controllers, scheduler and kwok in a directory of their own.

    `start` and `stop` are for one thread: the programs die with the thread that started them. A second start in the
    same directory finds what the first one left.
    """

    def __init__(self, root: Path, build: Build) -> None:
        self.place = Place.at(root)
        self.authority = Authority.of(self.place.pki)
        super().__init__(Api(self.kubeconfig()))
        self._build = build
        self._parts = {name: self._process(name) for name in parts.PROGRAMS}

    # Life

    def start(self, crds: Sequence[Path] | None = None) -> None:
        """All of it, ready to be used; about 6 s. `crds` are files of definitions, `slinky_crds()` unless given.

        Raises RuntimeError or TimeoutError with the last words of what did not start.
        """
        self._write_files()
        self._start_part("etcd", self._etcd_is_ready)
        self.start_api()
        self.install([*self._build.crds, *(slinky_crds() if crds is None else crds)])
        for name in ("kube-controller-manager", "kube-scheduler", "kwok"):
            self._parts[name].start()
        self.api.create(things.CLASSES, things.shared_class())
        self._wait(
            "kube-controller-manager",
            lambda: self._exists(f"{things.NAMESPACES}/default/serviceaccounts/default"),
        )

    def stop(self) -> None:
        """Idempotent. Objects stay in the directory."""
        for part in reversed(self._parts.values()):
            part.stop(at_once=part.name != "etcd")

    def check(self) -> None:
        """Raises RuntimeError when a program ended by itself."""
        for part in self._parts.values():
            part.check()

    # What tests break

    def stop_api(self) -> None:
        """Nobody answers at the API's address: connections are refused."""
        self._parts["kube-apiserver"].stop(at_once=True)

    def start_api(self) -> None:
        """The API answers (again), at the same address, with everything it held. Blocks until ready, about 3 s."""
        self._start_part("kube-apiserver", self.api.is_ready)

    def pause(self) -> None:
        """The API server hangs: connections are accepted and never answered, as when a network drops packets."""
        self._parts["kube-apiserver"].freeze()

    def resume(self) -> None:
        self._parts["kube-apiserver"].thaw()

    @contextmanager
    def away(self) -> Iterator[None]:
        """The API refuses connections within the block."""
        self.stop_api()
        try:
            yield
        finally:
            self.start_api()

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """The API answers nothing within the block."""
        self.pause()
        try:
            yield
        finally:
            self.resume()

    def kill_scheduler(self) -> None:
        """It is back after a moment."""
        self._parts["kube-scheduler"].kill()

    def compact(self) -> None:
        """Forget all history: lists go on, but a watch or a page from an earlier version gets 410 Gone.

        The API server is started anew, as its own memory of recent changes would serve such a watch.
        """
        revision = self._etcd("range", {"key": _b64(b"/"), "limit": 1})["header"]["revision"]
        self._etcd("compaction", {"revision": revision, "physical": True})
        self.stop_api()
        self.start_api()

    # Who may use it

    def kubeconfig(
        self, user: str = "admin", groups: Sequence[str] | None = None, lifetime: timedelta = LIFETIME
    ) -> str:
        """For `user` by a client certificate; everything inline, no file is named. The administrator may do all,
        others what `allow` grants them. One with a negative `lifetime` has expired.
        """
        member_of = [ADMINS] if user == "admin" and groups is None else groups or ()
        pair = self.authority.issue(user, groups=member_of, lifetime=lifetime)
        credential = {"client-certificate-data": _b64(pair.certificate), "client-key-data": _b64(pair.key)}
        authority = _b64(self.authority.pair.certificate)
        cluster = {"server": self.place.api_url, "certificate-authority-data": authority}
        context = {"cluster": "rig", "user": user}
        return yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "rig",
                "clusters": [{"name": "rig", "cluster": cluster}],
                "users": [{"name": user, "user": credential}],
                "contexts": [{"name": "rig", "context": context}],
            },
            sort_keys=False,
        )

    # Inside

    def _write_files(self) -> None:
        write_secret(self.place.admin_kubeconfig, self.api.kubeconfig.encode())
        self.place.stages.write_text("---\n".join(file.read_text() for file in self._build.stages))

    def _process(self, name: str) -> Process:
        argv = parts.command(name, self._build.program(name), self.place)
        path = f"{self.place.shims}:{os.environ.get('PATH', os.defpath)}"
        env = {**os.environ, "PATH": path} if name == "kwok" else None
        kind = Kept if name == "kube-scheduler" else Process
        return kind(name, argv, self.place.log(name), env)

    def _start_part(self, name: str, is_ready: Callable[[], bool]) -> None:
        self._parts[name].start()
        self._wait(name, is_ready)

    def _wait(self, what: str, is_so: Callable[[], bool]) -> None:
        def checked() -> bool:
            self.check()
            return is_so()

        wait_until(what, checked, READY_WITHIN_S)

    def _etcd_is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.place.etcd_url}/health", timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def _etcd(self, call: str, body: things.Thing) -> Any:
        """etcd's JSON gateway; keys are base64."""
        request = urllib.request.Request(f"{self.place.etcd_url}/v3/kv/{call}", json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.loads(answer.read())


def _b64(content: bytes) -> str:
    return base64.b64encode(content).decode()
