"""What an administrator does to a Kubernetes that tests run on: nodes, volumes, namespaces, rights, definitions."""

import os
import secrets
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.kube.rig import things
from tests.kube.rig.api import Api, Refused, wait_until

OUR_CRDS = Path(__file__).resolve().parent.parent / "crds"


class Admin:
    """On a rig of ours or on any other API server whose administrator we are. Blocking; raises `Refused`."""

    def __init__(self, api: Api) -> None:
        self.api = api

    # Rights

    def allow(self, user: str, rules: Sequence[things.Thing], namespace: str = "") -> None:
        """Grant RBAC rules to a user, in one namespace or everywhere, in place of what was granted there before.

        `user` is a certificate's name or `system:serviceaccount:<namespace>:<account>`.
        """
        for path, thing in things.grant(user, rules, namespace):
            if self.api.create(path, thing) is None:
                self.api.merge(f"{path}/{thing['metadata']['name']}", thing)

    def token_for(self, namespace: str, account: str, seconds: int = 3600) -> str:
        """A token of a service account, which is made when there is none. At least 600 seconds."""
        accounts = f"{things.NAMESPACES}/{namespace}/serviceaccounts"
        self.api.create(accounts, {"metadata": {"name": account}})
        request = {"spec": {"expirationSeconds": seconds}}
        return str(self.api.ask("POST", f"{accounts}/{account}/token", request)["status"]["token"])

    def token_kubeconfig(self, namespace: str, account: str) -> str:
        """A kubeconfig of a service account, by a token; it may what `allow` granted."""
        config = yaml.safe_load(self.api.kubeconfig)
        config["users"][0]["user"] = {"token": self.token_for(namespace, account)}
        return yaml.safe_dump(config, sort_keys=False)

    # Nodes

    def add_nodes(self, count: int, prefix: str = "node", first: int = 1, **sizes: Any) -> list[str]:
        """`prefix`-001 and on, with the sizes that `things.node` takes; Ready soon after. Those that exist are left."""
        names = [f"{prefix}-{number:03d}" for number in range(first, first + count)]
        for name in names:
            self.api.create(things.NODES, things.node(name, **sizes))
        return names

    def wait_nodes_ready(self, names: Iterable[str]) -> None:
        for name in names:
            wait_until(f"node {name}", lambda path=f"{things.NODES}/{name}": things.is_so(self.api.get(path)))

    def lose_node(self, name: str) -> None:
        """Nobody hears from it any more: what the node controller does after its time of grace, at once. Its taints,
        and the eviction of its pods minutes later, are the controller's own doing.
        """
        self.api.merge(f"{things.NODES}/{name}", things.unmanaged())
        self._set_conditions(f"{things.NODES}/{name}", "Unknown", "NodeStatusUnknown")
        for pod in self._pods_of(name):
            self._set_conditions(pod, "False", "NodeNotReady")

    def find_node(self, name: str) -> None:
        """It is back, its pods too."""
        self.api.merge(f"{things.NODES}/{name}", things.managed())
        self.wait_nodes_ready([name])
        for pod in self._pods_of(name):
            self._set_conditions(pod, "True", "")

    def _pods_of(self, node: str) -> list[str]:
        pods = self.api.get(f"/api/v1/pods?fieldSelector=spec.nodeName%3D{node}")["items"]
        return [things.pod_path(pod["metadata"]) for pod in pods]

    def _set_conditions(self, path: str, status: str, reason: str) -> None:
        conditions = self.api.get(path)["status"].get("conditions", ())
        changed = [things.turned(each, status, reason) for each in conditions]
        self.api.merge(f"{path}/status", {"status": {"conditions": changed}})

    # Volumes

    def add_volumes(self, count: int, prefix: str = "shared", size: str = "1Ti") -> None:
        """Volumes for claims of the shared class, one each."""
        for number in range(1, count + 1):
            self.api.create(things.VOLUMES, things.volume(f"{prefix}-{number:03d}", size))

    def free_volumes(self) -> None:
        """Volumes whose claims are gone serve others; a person who cleans up does this by hand."""
        for volume in self.api.get(things.VOLUMES)["items"]:
            if volume["status"].get("phase") == "Released":
                self.api.merge(f"{things.VOLUMES}/{volume['metadata']['name']}", {"spec": {"claimRef": None}})

    # Namespaces

    def add_namespace(self, prefix: str) -> str:
        """A new one; its name begins with `prefix`. Pods may be made in it at once."""
        self.free_volumes()
        name = f"{prefix}-{secrets.token_hex(3)}"
        self.api.create(things.NAMESPACES, {"metadata": {"name": name}})
        path = f"{things.NAMESPACES}/{name}/serviceaccounts/default"
        wait_until(f"the default account of {name}", lambda: self._exists(path))
        return name

    def delete_namespace(self, name: str) -> None:
        """With everything in it; does not wait for the end. Nothing when it is not there."""
        if self._exists(f"{things.NAMESPACES}/{name}"):
            self.api.delete(f"{things.NAMESPACES}/{name}")
            # The namespace controller would wait for the time that pods were promised.
            self.api.delete(f"{things.NAMESPACES}/{name}/pods?gracePeriodSeconds=0")

    def _exists(self, path: str) -> bool:
        try:
            self.api.get(path)
        except Refused as refusal:
            if refusal.status == 404:
                return False
            raise
        return True

    # Definitions

    def install(self, files: Iterable[Path]) -> None:
        """Custom resource definitions, one a file; waits until all are served. Those that exist are left."""
        definitions = [yaml.safe_load(file.read_text()) for file in files]
        for definition in definitions:
            self.api.create(things.CRDS, definition)
        for definition in definitions:
            path = f"{things.CRDS}/{definition['metadata']['name']}"
            wait_until(path, lambda path=path: things.is_so(self.api.get(path), "Established"))


def slinky_crds() -> list[Path]:
    """Files of the operator's own definitions where SLINKY_CRDS names their directory; otherwise our reduced ones."""
    return sorted(Path(os.environ.get("SLINKY_CRDS") or OUR_CRDS).glob("*.yaml"))
