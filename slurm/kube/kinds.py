"""The kinds of objects that Quarterdeck reads or writes, and where the API serves them. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# A Kubernetes object as JSON: apiVersion, kind, metadata, spec, status ...
Thing = Mapping[str, Any]

SLINKY_GROUP = "slinky.slurm.net"
SLINKY_VERSION = "v1beta1"


@dataclass(frozen=True)
class Kind:
    """One resource. `group` is empty for the core API; `plural` is its name in paths and permissions."""

    name: str
    plural: str
    group: str = ""
    version: str = "v1"
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", part: str = "") -> str:
        """`/apis/apps/v1/namespaces/n/statefulsets/x/scale`; without a namespace, all of them."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        inside = f"/namespaces/{namespace}" if namespace and self.namespaced else ""
        return "/".join(piece for piece in (f"{root}{inside}/{self.plural}", name, part) if piece)


def _slinky(name: str, plural: str) -> Kind:
    return Kind(name, plural, SLINKY_GROUP, SLINKY_VERSION)


NAMESPACE = Kind("Namespace", "namespaces", namespaced=False)
NODE = Kind("Node", "nodes", namespaced=False)
POD = Kind("Pod", "pods")
SECRET = Kind("Secret", "secrets")
CONFIG_MAP = Kind("ConfigMap", "configmaps")
SERVICE = Kind("Service", "services")
CLAIM = Kind("PersistentVolumeClaim", "persistentvolumeclaims")
EVENT = Kind("Event", "events")
QUOTA = Kind("ResourceQuota", "resourcequotas")
STATEFUL_SET = Kind("StatefulSet", "statefulsets", "apps")
DEPLOYMENT = Kind("Deployment", "deployments", "apps")
STORAGE_CLASS = Kind("StorageClass", "storageclasses", "storage.k8s.io", namespaced=False)
CRD = Kind("CustomResourceDefinition", "customresourcedefinitions", "apiextensions.k8s.io", namespaced=False)
VALIDATING_WEBHOOKS = Kind(
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    "admissionregistration.k8s.io",
    namespaced=False,
)
CONTROLLER = _slinky("Controller", "controllers")
ACCOUNTING = _slinky("Accounting", "accountings")
REST_API = _slinky("RestApi", "restapis")
NODE_SET = _slinky("NodeSet", "nodesets")
LOGIN_SET = _slinky("LoginSet", "loginsets")
KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        *(NAMESPACE, NODE, POD, SECRET, CONFIG_MAP, SERVICE, CLAIM, EVENT, QUOTA, STATEFUL_SET, DEPLOYMENT),
        *(STORAGE_CLASS, CRD, CONTROLLER, ACCOUNTING, REST_API, NODE_SET, LOGIN_SET),
    )
}


def kind_of(thing: Thing) -> Kind:
    """The kind of an object that we write. Raises KeyError for one that is not in the list above."""
    return KINDS[thing["kind"]]
