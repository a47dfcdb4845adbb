"""The stage of a measurement: one cluster of 5,000 nodes and a queue, answered by a scripted Slurm.

The answers are generated; everything after them is the real decoder, the real recorders and the real database.
"""

import random
from collections.abc import Iterator, Sequence

from clusters.models import Cluster
from clusters.observation import Observation
from clusters.watch import hand_over
from slurm.client import Slurm
from slurm.observe import observe_slurm
from tests.bench.jobs_page import queue_answer
from tests.slurm.job_rows import make_cluster
from tests.slurm.scripted import Scripted

NODES = 5000
PARTITION = b"PartitionName=all State=UP Nodes=slinky-[0-4999] Default=YES TotalCPUs=480000 TotalNodes=5000\n"


class Stage:
    """`look` is one tick: ask, decode, hand over to every recorder."""

    def __init__(self, jobs: int) -> None:
        self.cluster: Cluster = make_cluster(slug=f"bench-{jobs}")
        self.jobs = jobs
        self.nodes = nodes_answer(NODES)
        self.edited: dict[str, str] = {}
        executor = Scripted(
            {
                "squeue": self._queue,
                "scontrol -a -o show nodes": lambda argv: self.nodes,
                "scontrol -a -o show partitions": PARTITION,
            }
        )
        self.slurm = Slurm(executor, remember=self.cluster.key)

    def look(self) -> Observation:
        seen = observe_slurm(self.slurm, {}, lambda name: "Ready")
        assert not seen.problem, seen.problem
        hand_over(self.cluster, seen)
        return seen

    def edit(self, count: int) -> None:
        """Let `count` jobs have another priority at the next look."""
        self.edited = {str(1000 + index): str(200_000 + index) for index in range(count)}

    def _queue(self, argv: Sequence[str]) -> bytes:
        first, *_, last = argv[argv.index("-O") + 1].split(",")
        field, record = first.split(":", 1)[1], last.split(":", 1)[1]
        return queue_answer(self.jobs, field, record, priorities=self.edited)


def nodes_answer(count: int, seed: int = 7) -> bytes:
    """What `scontrol -o show nodes` prints for that many nodes."""
    return "\n".join(_node_lines(count, random.Random(seed))).encode() + b"\n"


def _node_lines(count: int, draw: random.Random) -> Iterator[str]:
    for n in range(count):
        gpus = draw.choice((0, 2, 8))
        state = draw.choices(("IDLE", "MIXED", "ALLOCATED", "IDLE+DRAIN", "DOWN*"), (20, 40, 35, 3, 2))[0]
        reason = " Reason=XID 79 on GPU 2 (by noor) [root@2026-11-30T08:00:00]" if "D" in state[4:] else ""
        yield (
            f"NodeName=slinky-{n} Arch=x86_64 CoresPerSocket=48  CPUAlloc={gpus * 12} CPUEfctv=96 CPUTot=96 "
            f"AvailableFeatures=gpu,h100 ActiveFeatures=gpu,h100 Gres=gpu:8 NodeAddr=10.0.0.1 NodeHostName=slinky-{n} "
            f"Version=24.11.5 OS=Linux RealMemory=1024000 AllocMem={gpus * 8000} FreeMem=900000 Sockets=2 Boards=1 "
            f"State={state} ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A Partitions=all "
            f"BootTime=2026-11-29T23:54:20 SlurmdStartTime=2026-11-30T00:13:57 LastBusyTime=2026-11-30T00:13:54 "
            f"ResumeAfterTime=None CfgTRES=cpu=96,mem=1000G,billing=96,gres/gpu=8 "
            f"AllocTRES=cpu={gpus * 12},mem={gpus * 8}G,gres/gpu={gpus} CurrentWatts=0 AveWatts=0{reason}"
        )
