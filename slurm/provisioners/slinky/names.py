"""What everything of a cluster is called in its region. Pure.

Names are unique in the whole region, not only in the namespace: operator 1.2 confuses two Controllers of one name in
two namespaces (slurm-operator before 73a6ab50). They are short enough for the operator's own suffixes: a Controller may
have 40 characters, and `slurm-workers-<name>` and `<name>-controller-0` are DNS labels.
"""

from dataclasses import dataclass

from clusters.life_scripts import ABOUT, OF_JOBS
from clusters.ref import ClusterRef

_SLUG_CHARACTERS = 13
MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGER = "quarterdeck"
TEAM_LABEL = "quarterdeck.dev/team"
CLUSTER_LABEL = "quarterdeck.dev/cluster"
VOLUME_LABEL = "quarterdeck.dev/volume"


@dataclass(frozen=True)
class Names:
    """The objects of one cluster. `base` is the name of its Controller, Accounting and RestApi."""

    namespace: str
    base: str

    @property
    def key(self) -> str:
        """The cluster's key, which holds no hyphen."""
        return self.base.rpartition("-")[2]

    @property
    def controller_set(self) -> str:
        """The StatefulSet that the operator makes of the Controller; its one pod ends in -0."""
        return f"{self.base}-controller"

    @property
    def controller_pod(self) -> str:
        return f"{self.controller_set}-0"

    @property
    def accounting_set(self) -> str:
        return f"{self.base}-accounting"

    @property
    def rest_deployment(self) -> str:
        return f"{self.base}-restapi"

    @property
    def login(self) -> str:
        """The LoginSet, and the Deployment and Service that the operator makes of it."""
        return f"{self.base}-login"

    @property
    def host_keys(self) -> str:
        """The Secret in which the operator keeps the login nodes' host keys."""
        return f"{self.login}-ssh-host-keys"

    @property
    def running_conf(self) -> str:
        """The ConfigMap in which the operator writes slurm.conf."""
        return f"{self.base}-config"

    @property
    def slurm_files(self) -> str:
        return f"{self.base}-files"

    def job_scripts(self, stem: str) -> str:
        """The ConfigMap with one prolog or epilog."""
        return f"{self.base}-{stem}"

    @property
    def init_scripts(self) -> str:
        return f"{self.base}-init"

    @property
    def scripts(self) -> tuple[str, ...]:
        """The ConfigMaps with life scripts."""
        return (*(self.job_scripts(ABOUT[hook].stem) for hook in OF_JOBS), self.init_scripts)

    @property
    def slurm_key(self) -> str:
        return f"{self.base}-slurm-key"

    @property
    def jwt_key(self) -> str:
        return f"{self.base}-jwt-key"

    @property
    def sssd(self) -> str:
        return f"{self.base}-sssd"

    @property
    def ssh_authority(self) -> str:
        """The ConfigMap with the key that login nodes trust."""
        return f"{self.base}-ssh-authority"

    @property
    def database(self) -> str:
        """The MariaDB StatefulSet and Service where the region runs one for each cluster; its Secret everywhere."""
        return f"{self.base}-mariadb"

    @property
    def note(self) -> str:
        """The ConfigMap in which we keep what was last sent."""
        return f"{self.base}-applied"

    @property
    def shadow_pod(self) -> str:
        return f"{self.base}-shadow"

    def node_set(self, group: str) -> str:
        return f"{self.base}-{group}"


def names_of(ref: ClusterRef, prefix: str) -> Names:
    """`<slug, cut>-<key>` as base: 27 characters at most."""
    slug = ref.name[:_SLUG_CHARACTERS].strip("-")
    return Names(namespace=namespace_of(ref.team, prefix), base=f"{slug}-{ref.key}")


def namespace_of(team: str, prefix: str) -> str:
    return f"{prefix}-{team}"


def claim_of(volume: str) -> str:
    """The claim of a volume, by its key: a new name for people does not move it."""
    return f"volume-{volume}"
