"""What a rendering depends on, and what all rendered objects have in common. Pure."""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from clusters.ref import ClusterRef
from clusters.spec import ClusterSpec
from slurm.kube.kinds import Kind, Thing
from slurm.provisioners.slinky.names import CLUSTER_LABEL, MANAGED_BY, MANAGER, Names
from slurm.provisioners.slinky.region import RegionSettings

RESTARTED_AT = "quarterdeck.dev/restarted-at"
# Parts of a cluster beside its groups of workers, which go by their own names. The order is that of an upgrade
# (slurm.schedmd.com/upgrades.html: slurmdbd first, then slurmctld, then the rest).
ACCOUNTING, CONTROLLER, REST_API, LOGIN = "accounting", "controller", "restapi", "login"

# When each part was last restarted on purpose, by part: any text that differs from the one before.
Restarts = Mapping[str, str]


@dataclass(frozen=True)
class Design:
    """`known` are the nodes that Slurm has records of: own partitions name no others. None means all of the spec's.

    `replicas` are the sizes of NodeSets, by group, at a stage of a change; of others it is the number of their nodes.
    `lingering` are the groups that the spec has no longer and that still have workers.
    """

    spec: ClusterSpec
    names: Names
    ref: ClusterRef
    settings: RegionSettings
    restarts: Restarts = field(default_factory=dict)
    known: Set[str] | None = None
    replicas: Mapping[str, int] = field(default_factory=dict)
    lingering: Set[str] = frozenset()

    @property
    def controller_ref(self) -> dict[str, str]:
        return {"name": self.names.base}

    def image(self, program: str) -> str:
        return f"{self.settings.images}/{program}:{self.spec.slurm_version}{self.settings.image_suffix}"

    def restarted(self, part: str) -> dict[str, str]:
        """The annotation that makes the operator start new pods, where there has been a restart."""
        return {RESTARTED_AT: self.restarts[part]} if part in self.restarts else {}

    def thing(self, kind: Kind, name: str, **body: object) -> Thing:
        """An object in the team's namespace.

        The operator copies a resource's own labels and annotations to its pods and starts new ones whenever they
        change, so the labels never change and there are no annotations.
        """
        labels = {MANAGED_BY: MANAGER, CLUSTER_LABEL: self.names.key}
        metadata = {"name": name, "namespace": self.names.namespace, "labels": labels}
        return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata, **body}


def template(annotations: Mapping[str, str], spec: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A pod template of the operator's resources, its empty halves left out."""
    metadata = {"metadata": {"annotations": dict(annotations)}} if annotations else {}
    return {**metadata, **({"spec": dict(spec)} if spec else {})}


def secret_ref(name: str, key: str) -> dict[str, str]:
    return {"name": name, "key": key}


def volume_claim(settings: RegionSettings, size: str) -> dict[str, Any]:
    """The spec of a volume of the region's storage class, or of the cluster's default one."""
    named = {"storageClassName": settings.storage_class} if settings.storage_class else {}
    return {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **named}
