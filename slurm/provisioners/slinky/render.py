"""Every object of a cluster that carries no secret, from its spec. Pure: same arguments, same objects.

The console applies them as they are; `tests/data/slinky/golden` shows what they look like.
"""

from collections.abc import Mapping

from slurm.kube.kinds import Thing
from slurm.kube.manifest import manifest
from slurm.provisioners.slinky import conf
from slurm.provisioners.slinky.accounting import accounting, own_database
from slurm.provisioners.slinky.controller import controller, extra_conf, rest_api
from slurm.provisioners.slinky.design import Design
from slurm.provisioners.slinky.files import namespace, slurm_files, ssh_authority
from slurm.provisioners.slinky.login import login_set
from slurm.provisioners.slinky.scripts import script_files
from slurm.provisioners.slinky.workers import node_set

ORDER = (
    "Namespace", "ConfigMap", "Service", "StatefulSet", "Accounting", "Controller", "RestApi", "NodeSet", "LoginSet",
)  # fmt: skip


def render(design: Design) -> tuple[Thing, ...]:
    """In creation order: what an object refers to comes before it."""
    return (
        namespace(design),
        slurm_files(design),
        ssh_authority(design),
        *script_files(design),
        *own_database(design),
        accounting(design),
        controller(design),
        rest_api(design),
        *(node_set(design, group) for group in design.spec.groups),
        login_set(design),
    )


def files(design: Design) -> Mapping[str, str]:
    """The same as files to read: Slurm's own first, then the objects in creation order."""
    return {
        "slurm.conf": extra_conf(design),
        "gres.conf": conf.gres_conf(design.settings.gpu_detect),
        "cgroup.conf": conf.CGROUP_CONF,
        **{_file_name(thing): manifest(thing) for thing in render(design)},
    }


def _file_name(thing: Thing) -> str:
    """The number is the kind's, so that an object keeps its name whatever comes and goes before it."""
    at, kind = ORDER.index(thing["kind"]), thing["kind"].lower()
    return f"objects/{at:02}-{kind}-{thing['metadata']['name']}.yaml"
