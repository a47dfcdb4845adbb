"""The part of slurm.conf that is ours: a Controller's `extraConf`. Pure.

The operator writes the cluster's name, addresses, authentication, accounting's address and one `NodeSet=<group>` line
for each group before it. From 1.2 on it writes nothing else, so what makes GPUs, cgroups and restarted nodes work
stands here (slurm-operator 1.2 changelog). The user's block and the partitions follow.

Workers are dynamic nodes (`slurmd -Z`): a partition that names one by one a node that never registered is fatal to
slurmctld (26.05), one that names a Slurm NodeSet is not. So the platform's partitions name groups, and own partitions
are cut down to the nodes that Slurm is known to know. A group's partition goes after its last worker: jobs end with
the partition that they run in.
"""

from collections.abc import Set
from dataclasses import replace

from clusters.hostlist import expand, fold
from clusters.spec import ClusterSpec, PartitionSpec
from slurm.conf import parse
from slurm.render import RenderedConf, render_conf

HEAD = """\
GresTypes=gpu
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
ProctrackType=proctrack/cgroup
TaskPlugin=task/affinity,task/cgroup
PrologFlags=Contain
JobAcctGatherType=jobacct_gather/cgroup
AccountingStorageTRES=gres/gpu
"""
CGROUP_CONF = """\
CgroupPlugin=cgroup/v2
IgnoreSystemd=yes
ConstrainCores=yes
ConstrainRAMSpace=yes
ConstrainDevices=yes
"""


def rendered(
    spec: ClusterSpec, known: Set[str] | None = None, lingering: Set[str] = frozenset()
) -> RenderedConf:
    """The text and which of its lines are the user's. `known` are the nodes that Slurm has records of, None is all;
    `lingering` the groups that the spec has no longer and that still have workers."""
    kept = spec.with_partitions(_kept(spec.partitions, known))
    going = [PartitionSpec(name=group, nodes=group) for group in sorted(lingering)]
    going += [partition for partition in spec.region_partitions if partition.nodes in lingering]
    return render_conf(kept, _head(spec.slurm_conf), [*kept.group_partitions, *going, *kept.partitions])


def gres_conf(detect: str) -> str:
    """gres.conf(5); how many GPUs a node has comes with its registration."""
    return f"AutoDetect={detect}\n"


def _head(settings: str) -> str:
    """Without what the user sets: slurmctld goes by the last of two lines, but calls it an error at each start."""
    theirs = {setting.key.lower() for _line, setting in parse(settings).settings()}
    return "".join(line for line in HEAD.splitlines(True) if line.partition("=")[0].lower() not in theirs)


def _kept(partitions: tuple[PartitionSpec, ...], known: Set[str] | None) -> tuple[PartitionSpec, ...]:
    """Without the nodes that Slurm does not know, and without partitions that would be left with none."""
    cut = (replace(partition, nodes=_known(partition.nodes, known)) for partition in partitions)
    return tuple(partition for partition in cut if partition.nodes)


def _known(nodes: str, known: Set[str] | None) -> str:
    """As it was written where nothing is to be cut."""
    if known is None or nodes.upper() == "ALL":
        return nodes
    names = expand(nodes)
    return nodes if known >= set(names) else fold(name for name in names if name in known)
