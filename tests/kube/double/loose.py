"""Pods that run a Slurm image without the operator: somebody's own, such as one that only reads a configuration.

There is no cluster behind them, so their commands run in an empty room with the image's programs: no daemon, and for
each command a network of its own, as each pod would have. /run is one for all, so they run one after the other.
"""

from pathlib import Path

from slurm.kube.kinds import POD, Thing
from slurm.provisioners.sandbox.daemon import specs_text
from slurm.provisioners.sandbox.files import replace_file
from slurm.provisioners.sandbox.images import Tree
from slurm.provisioners.sandbox.layout import lay_out
from slurm.provisioners.sandbox.ports import ports_of
from slurm.provisioners.sandbox.room import remove_directory
from slurm.provisioners.sandbox.space import command_prefix, keeper_pid, start_keeper, stop_keeper
from tests.kube.double.hands import Hands
from tests.kube.double.kinds import EXEC
from tests.kube.double.kubelet import ENTER, of_pod
from tests.kube.double.room import PATH_LINE, PodCluster
from tests.kube.double.scene import COMPONENT

IMAGE = "/slurmctld:"
# Loopback, and an address besides it without which glibc takes the machine for one that has no IPv4.
ALONE = 'ip link set lo up; ip address add 192.0.2.1/32 dev lo; exec "$@"'


def is_loose(pod: Thing) -> bool:
    marks = pod["metadata"].get("labels") or {}
    return COMPONENT not in marks and IMAGE in pod["spec"]["containers"][0].get("image", "")


class EmptyRoom:
    """Made with the first pod that needs it."""

    def __init__(self, home: Path, tree: Tree) -> None:
        self.home = home
        self.tree = tree
        self.enter = home / "enter"

    def offer(self, hands: Hands, namespace: str) -> None:
        """Lead the commands of a namespace's loose pods here."""
        for pod in hands.store.of(POD, namespace):
            if is_loose(pod) and (pod.get("status") or {}).get("phase") == "Running":
                self._begin()
                envs = [{"name": ENTER, "value": str(self.enter)}]
                hands.ensure(pod, of_pod(EXEC, pod, {"execs": [{"local": {"envs": envs}}]}))

    def remove(self) -> None:
        stop_keeper(self.home)
        remove_directory(self.home)

    def _begin(self) -> None:
        if keeper_pid(self.home):
            return
        ports, _ = ports_of(self.home, ())
        lay_out(PodCluster("shadow", self.home, self.tree, ports), {"slurm.conf": ""})
        replace_file(self.home / "keeper/daemons.json", specs_text([]))
        start_keeper(self.home, prefix=False)
        prefix = " ".join(command_prefix(self.home))
        enter = f'exec {prefix} flock /run/one unshare --net sh -c \'{ALONE}\' sh "$name" "$@"\n'
        replace_file(self.enter, PATH_LINE + enter)
