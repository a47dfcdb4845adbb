"""A platform behind seeded rows (`tests.seed`): nothing can be reached there, and pages get what they ask of one."""

from collections.abc import Mapping

from clusters.acts import Act, Touch
from clusters.provisioner import ClusterRef, Executor, Home, LoginEndpoint
from clusters.spec import ClusterSpec
from console.errors import Problem, Unavailable
from slurm.checks.conf import check_conf
from slurm.render import render_conf
from tests.fake_foresight import foreseen

HEAD = """\
ClusterName=llama-pretrain
SlurmctldHost=controller(10.0.4.2)
SlurmctldPort=6817
SlurmUser=slurm
AuthType=auth/munge
StateSaveLocation=/var/spool/slurmctld
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageTRES=gres/gpu
"""


class Nowhere:
    """Just enough of a platform for pages: the login node, the file it would write, and what the text shows."""

    def __init__(self, ref: ClusterRef) -> None:
        self.ref = ref

    def executor(self, login: str = "") -> Executor:
        raise Unavailable("There is no cluster behind these rows.")

    def login_executor(self) -> Executor:
        return self.executor()

    def homes(self) -> tuple[Home, ...]:
        raise Unavailable("There is no cluster behind these rows.")

    def render(self, spec: ClusterSpec) -> Mapping[str, str]:
        nodes = (
            f"NodeName={name} CPUs={group.shape.cpus} RealMemory={group.shape.memory_mib}\n"
            for group in spec.groups
            for name in group.node_names
        )
        return {"slurm.conf": render_conf(spec, HEAD + "".join(nodes)).text}

    def check(self, spec: ClusterSpec, *, shadow: bool = True) -> tuple[Problem, ...]:
        return check_conf(spec.slurm_conf, version=spec.slurm_version, node_names=spec.node_names)

    def foresee(self, act: Act) -> tuple[Touch, ...]:
        return foreseen(act)

    def login(self) -> LoginEndpoint:
        return LoginEndpoint("login.llama.example", 2222, "root", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA")
