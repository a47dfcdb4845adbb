"""One demo cluster on an API server with a double, and what tests ask and do of it."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import asyncssh

from console.errors import Unavailable
from slurm.kube.kinds import EVENT, NODE_SET, POD, Kind, Thing
from slurm.provisioners.sandbox.space import run_inside
from tests.kube.double.api import Api
from tests.kube.double.demo import demo
from tests.kube.double.operator import Double
from tests.kube.double.switches import flip
from tests.kube.double.workers import host_name

COMPONENT = "app.kubernetes.io/component"
PATIENCE_S = 60.0


class World:
    """`name` is the Controller's. Whatever is awaited is awaited for a minute at most."""

    def __init__(self, double: Double, kubeconfig: str, namespace: str, name: str = "demo") -> None:
        self.double, self.namespace, self.name = double, namespace, name
        self.api = Api(kubeconfig)
        # Whose certificates the login node trusts.
        self.authority = asyncssh.generate_private_key("ssh-ed25519")

    def make(self, **sizes: Any) -> None:
        """The cluster's resources, all at once, and wait until its workers are idle."""
        self.double.mind(self.namespace)
        ca_key = self.authority.export_public_key().decode()
        for thing in demo(self.namespace, self.name, ca_key=ca_key, **sizes):
            self.api.create(thing)
        count = sizes.get("gpus", 2) + sizes.get("cpus", 0)
        self.until("all workers are idle", lambda: list(self.states().values()).count("idle") == count, 180.0)

    # Kubernetes

    def find(self, kind: Kind, name: str) -> Thing | None:
        return self.api.get(kind, self.namespace, name)

    def get(self, kind: Kind, name: str) -> Thing:
        found = self.find(kind, name)
        assert found is not None, f"there is no {kind.name} {name}"
        return found

    def patch(self, kind: Kind, name: str, change: dict[str, Any]) -> None:
        self.api.patch(self.get(kind, name), change)

    def scale(self, replicas: int, group: str = "slinky") -> None:
        self.patch(NODE_SET, f"{self.name}-{group}", {"spec": {"replicas": replicas}})

    def node_set(self, group: str = "slinky") -> Thing:
        return self.get(NODE_SET, f"{self.name}-{group}")

    def pods(self, component: str) -> list[Thing]:
        found, _ = self.api.list(POD, self.namespace)
        return [pod for pod in found if pod["metadata"].get("labels", {}).get(COMPONENT) == component]

    def pod(self, component: str) -> Thing:
        """The one of this component that is not going."""
        found = [pod for pod in self.pods(component) if not pod["metadata"].get("deletionTimestamp")]
        assert len(found) == 1, [pod["metadata"]["name"] for pod in found]
        return found[0]

    def uids(self, component: str) -> dict[str, str]:
        """By name."""
        return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in self.pods(component)}

    def workers(self) -> list[str]:
        return sorted(self.uids("worker"))

    def events(self, reason: str) -> list[Thing]:
        found, _ = self.api.list(EVENT, self.namespace)
        return [event for event in found if event["reason"] == reason]

    def count(self, reason: str) -> int:
        return sum(event.get("count") or 1 for event in self.events(reason))

    # Slurm

    def slurm(self, *argv: str) -> str:
        """What a command prints in the room."""
        done = run_inside(self.double.room_home(self.namespace, self.name), list(argv), 15.0)
        assert done.returncode == 0, f"{' '.join(argv)}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def can(self, *argv: str) -> bool:
        """Whether a command succeeds now: the controller may be starting anew."""
        try:
            return (
                run_inside(self.double.room_home(self.namespace, self.name), list(argv), 15.0).returncode == 0
            )
        except Unavailable:
            return False

    def states(self) -> dict[str, str]:
        """Node states by name as sinfo says them; empty while nobody answers."""
        home = self.double.room_home(self.namespace, self.name)
        try:
            done = run_inside(home, ["sinfo", "-h", "-N", "-o", "%N %T"], 15.0)
        except Unavailable:  # the room is not there yet
            return {}
        return dict(line.split() for line in done.stdout.splitlines()) if done.returncode == 0 else {}

    def submit(self, *options: str, script: str = "sleep 300") -> str:
        """A batch job's id, once it runs."""
        job = self.slurm("sbatch", "--parsable", "-t5", "-o", "/tmp/%j.out", *options, "--wrap", script)
        self.until(f"job {job} runs", lambda: self.job_state(job) == "RUNNING")
        return job

    def job_state(self, job: str) -> str:
        return self.slurm("squeue", "-h", "-t", "all", "-o", "%T", "-j", job)

    def is_rested(self) -> bool:
        """The workers are slinky-0 to slinky-2, each idle. Slurm keeps its records of others."""
        hosts = {host_name(pod) for pod in self.pods("worker")}
        states = self.states()
        return hosts == {f"slinky-{n}" for n in range(3)} and all(
            states.get(host) == "idle" for host in hosts
        )

    # Time and trouble

    def until(self, what: str, is_so: Callable[[], object], within_s: float = PATIENCE_S) -> None:
        deadline = time.monotonic() + within_s
        while not is_so():
            assert time.monotonic() < deadline, f"not within {within_s:g} s: {what}"
            time.sleep(0.1)

    def stays(self, what: str, is_so: Callable[[], object], for_s: float) -> None:
        deadline = time.monotonic() + for_s
        while time.monotonic() < deadline:
            assert is_so(), f"did not last {for_s:g} s: {what}"
            time.sleep(0.1)

    @contextmanager
    def broken(self, **switches: object) -> Iterator[None]:
        """With these switches on within the block."""
        flip(self.double.home, **switches)
        try:
            yield
        finally:
            flip(self.double.home, **dict.fromkeys(switches))
