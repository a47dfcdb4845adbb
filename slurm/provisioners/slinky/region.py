"""What a Region of the slinky provisioner is set up with: `Region.config` as a document, checked when it is read. Pure.

Secrets are not here: the kubeconfig and the database password are sealed under `region:<slug>` (`console.secrets`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

import msgspec

KUBECONFIG = "kubeconfig"
DATABASE_PASSWORD = "database-password"
IMAGES = "ghcr.io/slinkyproject"
# A namespace has 63 characters (RFC 1123 label) and a team's slug 40: cut short, two teams could share one.
MOST_PREFIX = 22


class LoginBy(StrEnum):
    """How login nodes are reached from the console and from outside."""

    LOAD_BALANCER = "LoadBalancer"
    NODE_PORT = "NodePort"
    PORT_FORWARD = "port-forward"


class DatabaseKind(StrEnum):
    """Where accounting is kept: a MariaDB of ours beside each cluster, or one that is there."""

    OWN = "own"
    EXISTING = "existing"


@dataclass(frozen=True)
class Database:
    """Host, port and user of an existing server; each cluster gets a database of its own in it."""

    kind: DatabaseKind = DatabaseKind.OWN
    host: str = ""
    port: int = 3306
    username: str = "slurm"
    image: str = "docker.io/library/mariadb:11.8"
    size: str = "8Gi"


@dataclass(frozen=True)
class Toleration:
    """As in a pod's spec."""

    key: str
    operator: str = "Exists"
    value: str = ""
    effect: str = ""


@dataclass(frozen=True)
class RegionSettings:
    """`in_cluster` takes the service account of the pod that the console runs in, instead of a kubeconfig.

    `images` is the registry folder with the operator's images; their tag is the spec's Slurm version and `image_suffix`
    (`26.05-ubuntu24.04`). `storage_class` empty is the cluster's default. `gpu_selector` picks the machines with GPUs.
    """

    in_cluster: bool = False
    namespace_prefix: Annotated[str, msgspec.Meta(max_length=MOST_PREFIX)] = "quarterdeck"
    images: str = IMAGES
    image_suffix: str = "-ubuntu24.04"
    log_image: str = "docker.io/library/alpine:3.22"
    storage_class: str = ""
    state_size: str = "4Gi"
    login_by: LoginBy = LoginBy.LOAD_BALANCER
    database: Database = Database()
    gpu_resource: str = "nvidia.com/gpu"
    gpu_selector: Mapping[str, str] = field(default_factory=dict)
    gpu_tolerations: tuple[Toleration, ...] = (Toleration("nvidia.com/gpu", effect="NoSchedule"),)
    gpu_detect: str = "nvidia"
    shadow_pods: bool = True


def settings_of(config: Mapping[str, object]) -> RegionSettings:
    """Raises `msgspec.ValidationError`, naming the path, for a document that does not fit."""
    return msgspec.convert(config, RegionSettings)
