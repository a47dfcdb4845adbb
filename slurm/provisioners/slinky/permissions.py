"""What the console's account may do in a region: one list, from which the checks and the ClusterRole are made. Pure.

Nothing is asked for that is not used. Write access to a NodeSet is root on the machines it runs on (slurmd is
privileged and a pod template is free-form): whoever holds this role is trusted with the GPU machines.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from slurm.kube.kinds import SLINKY_GROUP, Thing
from slurm.provisioners.slinky.region import DatabaseKind, LoginBy, RegionSettings

ROLE = "quarterdeck"
ROLE_FILE = "permissions.yaml"
KUBECONFIG_FILE = "kubeconfig.sh"
LOOK = ("get", "list", "watch")
KEEP = ("get", "list", "watch", "create", "patch", "delete")


@dataclass(frozen=True)
class Right:
    """Verbs on one resource; `part` is a subresource. `everywhere` resources lie in no namespace, or are looked at in
    all. `optional` ones only let the console do or say more."""

    plural: str
    verbs: tuple[str, ...]
    why: str
    group: str = ""
    part: str = ""
    everywhere: bool = False
    optional: bool = False

    @property
    def resource(self) -> str:
        """As RBAC and `kubectl auth can-i` name it within its group: `pods/exec`."""
        return f"{self.plural}/{self.part}" if self.part else self.plural

    @property
    def full_name(self) -> str:
        """With its group: `statefulsets.apps`, `pods/exec`."""
        return f"{self.plural}.{self.group}" if self.group else self.resource


@dataclass(frozen=True)
class Ask:
    """One verb of a right: what is asked of the API server, and what a person reads when it says no."""

    verb: str
    right: Right

    def __str__(self) -> str:
        return f"{self.verb} {self.right.full_name}"


_OF_TEAMS = (
    *(
        Right(plural, KEEP, "a cluster is made of them", SLINKY_GROUP)
        for plural in ("accountings", "controllers", "loginsets", "nodesets", "restapis")
    ),
    Right("configmaps", KEEP, "configuration files, the console's SSH authority, and slurm.conf as it runs"),
    Right(
        "secrets", ("get", "create", "patch", "delete"), "each cluster's keys, and its login node's host keys"
    ),
    Right("persistentvolumeclaims", KEEP, "volumes, and what is left when a cluster is deleted"),
    # A MariaDB of an earlier setting goes with its cluster, so deleting is allowed in any case.
    Right("services", (*LOOK, "delete"), "where the login nodes are reached"),
    Right("statefulsets", (*LOOK, "delete"), "whether controller and accounting are up", "apps"),
    Right("deployments", LOOK, "whether the REST service, login nodes and the operator are up", "apps"),
    Right("pods", ("get", "list", "watch", "patch", "delete"), "workers: which leaves first, rebooting one"),
    Right("pods", ("get",), "the last lines of a part that fails", part="log"),
    # An exec by WebSocket is a GET, and since Kubernetes 1.35 asks for create as well.
    Right("pods", ("get", "create"), "Slurm's own commands beside the controller", part="exec"),
    Right("events", LOOK, "why something does not start"),
    Right("resourcequotas", ("get", "list"), "what a team may still use", optional=True),
)
_EVERYWHERE = (
    Right("namespaces", ("get", "list", "watch", "create", "patch"), "one for each team", everywhere=True),
    Right("nodes", LOOK, "machines, their GPUs and their state", everywhere=True),
    Right(
        "storageclasses", ("get", "list"), "what volumes can be made of", "storage.k8s.io", everywhere=True
    ),
    Right(
        "customresourcedefinitions",
        ("get", "list"),
        "which version of the operator this is",
        "apiextensions.k8s.io",
        everywhere=True,
        optional=True,
    ),
    Right(
        "validatingwebhookconfigurations",
        ("get", "list"),
        "whether the operator's webhook is there",
        "admissionregistration.k8s.io",
        everywhere=True,
        optional=True,
    ),
)


def rights_for(settings: RegionSettings) -> tuple[Right, ...]:
    """What this region's settings need, each resource once."""
    return (*(_with_settings(right, settings) for right in _OF_TEAMS), *_by_settings(settings), *_EVERYWHERE)


def asks_for(settings: RegionSettings) -> tuple[Ask, ...]:
    return tuple(Ask(verb, right) for right in rights_for(settings) for verb in right.verbs)


def cluster_role(settings: RegionSettings) -> Thing:
    """The ClusterRole, ready to apply."""
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": ROLE, "labels": {"app.kubernetes.io/name": ROLE}},
        "rules": [
            {"apiGroups": [right.group], "resources": [right.resource], "verbs": list(right.verbs)}
            for right in rights_for(settings)
        ],
    }


def documents(settings: RegionSettings) -> dict[str, str]:
    """Files for somebody with an administrator's kubectl, by name."""
    return {ROLE_FILE: role_yaml(settings), KUBECONFIG_FILE: _SCRIPT.format(role=ROLE)}


def role_yaml(settings: RegionSettings) -> str:
    """The ClusterRole with a ServiceAccount that has it, and a token for that, as one file for `kubectl apply`."""
    rules = "\n".join(_rule_lines(settings))
    return _FILE.format(role=ROLE, rules=rules)


def _with_settings(right: Right, settings: RegionSettings) -> Right:
    """Rights that grow with a setting: pods for the shadow controller, a StatefulSet and Service for MariaDB."""
    own_database = settings.database.kind is DatabaseKind.OWN
    if right.resource == "pods" and settings.shadow_pods:
        why = f"{right.why}; a short one that reads a slurm.conf before it is applied"
        return replace(right, verbs=(*right.verbs, "create"), why=why)
    if right.resource in ("statefulsets", "services") and own_database:
        return replace(right, verbs=KEEP, why=f"{right.why}; MariaDB for accounting")
    return right


def _by_settings(settings: RegionSettings) -> Iterator[Right]:
    """Through the API server where that was chosen, and else while a login node has no address yet."""
    yield Right(
        "pods",
        ("get", "create"),
        "terminals, through the API server",
        part="portforward",
        optional=settings.login_by is not LoginBy.PORT_FORWARD,
    )


def _rule_lines(settings: RegionSettings) -> Iterator[str]:
    for right in rights_for(settings):
        yield f"  # {right.why}"
        yield f'  - apiGroups: ["{right.group}"]'
        yield f'    resources: ["{right.resource}"]'
        yield f"    verbs: [{', '.join(right.verbs)}]"


_FILE = """\
# What Quarterdeck may do in this region, to be applied by an administrator: kubectl apply -f permissions.yaml
# It is made from the region's settings: download it again when they change.
apiVersion: v1
kind: Namespace
metadata:
  name: {role}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {role}
  namespace: {role}
---
# A token that lives until it is deleted. Where tokens must expire, use `kubectl create token` and replace the
# kubeconfig on the region's page in time.
apiVersion: v1
kind: Secret
metadata:
  name: {role}-token
  namespace: {role}
  annotations:
    kubernetes.io/service-account.name: {role}
type: kubernetes.io/service-account-token
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {role}
  labels:
    app.kubernetes.io/name: {role}
rules:
{rules}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {role}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {role}
subjects:
  - kind: ServiceAccount
    name: {role}
    namespace: {role}
"""

_SCRIPT = """\
#!/bin/sh
# Prints a kubeconfig of the account that permissions.yaml makes, for your kubectl's current cluster:
#   kubectl apply -f permissions.yaml && sh kubeconfig.sh > {role}.kubeconfig
set -eu
of_cluster() {{ kubectl config view --raw --minify --flatten -o "jsonpath={{.clusters[0].cluster.$1}}"; }}
token=$(kubectl -n {role} get secret {role}-token -o "jsonpath={{.data.token}}" | base64 -d)
cat <<END
apiVersion: v1
kind: Config
current-context: {role}
contexts:
  - name: {role}
    context: {{cluster: {role}, user: {role}}}
clusters:
  - name: {role}
    cluster:
      server: $(of_cluster server)
      certificate-authority-data: $(of_cluster certificate-authority-data)
users:
  - name: {role}
    user:
      token: $token
END
"""
