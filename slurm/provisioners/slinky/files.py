"""The namespace, and the ConfigMaps that pods mount. Pure."""

from slurm.kube.kinds import CONFIG_MAP, NAMESPACE, Thing
from slurm.provisioners.slinky.conf import CGROUP_CONF, gres_conf
from slurm.provisioners.slinky.design import Design
from slurm.provisioners.slinky.names import MANAGED_BY, MANAGER, TEAM_LABEL

AUTHORITY_FILE = "user_ca.pub"


def namespace(design: Design) -> Thing:
    return team_namespace(design.names.namespace, design.ref.team)


def team_namespace(name: str, team: str) -> Thing:
    """Shared by the team's clusters and volumes, so it looks the same for each of them.

    slurmd runs privileged: where the API server holds namespaces to a stricter pod security standard by default, worker
    pods would be refused without the label that says so.
    """
    labels = {
        MANAGED_BY: MANAGER,
        TEAM_LABEL: team,
        "pod-security.kubernetes.io/enforce": "privileged",
    }
    return {
        "apiVersion": NAMESPACE.api_version,
        "kind": NAMESPACE.name,
        "metadata": {"name": name, "labels": labels},
    }


def slurm_files(design: Design) -> Thing:
    """Files beside slurm.conf. The operator neither watches nor hashes them; the controller's pod looks itself."""
    data = {"cgroup.conf": CGROUP_CONF, "gres.conf": gres_conf(design.settings.gpu_detect)}
    return design.thing(CONFIG_MAP, design.names.slurm_files, data=data)


def ssh_authority(design: Design) -> Thing:
    """The public key whose certificates the login nodes trust."""
    data = {AUTHORITY_FILE: f"{design.ref.ssh_ca.strip()}\n"}
    return design.thing(CONFIG_MAP, design.names.ssh_authority, data=data)
