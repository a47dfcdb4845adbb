"""The clusters of these tests: one as the demo has it, and one that differs wherever a region may choose."""

from clusters.ref import ClusterRef
from clusters.spec import ClusterSpec, LifeScripts, Mount, NodeGroup, PartitionSpec, Shape
from slurm.provisioners.slinky.design import Design
from slurm.provisioners.slinky.names import names_of
from slurm.provisioners.slinky.region import Database, DatabaseKind, LoginBy, RegionSettings, Toleration

GPU = NodeGroup("slinky", Shape("h100-8x", 96, 1_024_000, 8, "H100"), (0, 1, 2, 3))
CPU = NodeGroup("cpu-workers", Shape("cpu-16", 16, 65_536), (0, 1))
CA = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJx1nbbnTTcJrl6bOkP1zCFLhW0vAc1Y3Vd5cY1Wbbbb quarterdeck demo"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJx1nbbnTTcJrl6bOkP1zCFLhW0vAc1Y3Vd5cY1Waaaa ada@example.org"
DEMO = ClusterSpec(
    name="demo",
    image="slurm-26-05",
    slurm_version="26.05",
    groups=(GPU, CPU),
    region_partitions=(PartitionSpec("llm", "slinky"),),
    partitions=(
        PartitionSpec("train", "slinky-[0-2]", max_time_minutes=10_080, priority_tier=10),
        PartitionSpec("debug", "slinky-3,cpu-workers-0", max_time_minutes=60, default_time_minutes=10),
    ),
    slurm_conf="# How long an ended job stays in memory.\nMinJobAge=300\n",
    ssh_keys=(KEY,),
    mounts=(
        Mount("v000000000001", "shared", "/shared"),
        Mount("v000000000002", "imagenet", "/data/imagenet", read_only=True),
    ),
    scripts=LifeScripts(
        worker_init="#!/bin/bash\nsysctl -w vm.swappiness=1\n",
        worker_prolog="#!/bin/bash\nmkdir -p /scratch/$SLURM_JOB_ID\n",
        controller_epilog="#!/bin/bash\nexit 0\n",
    ),
)
PLAIN = ClusterSpec(name="plain", image="slurm-26-05", slurm_version="26.05", groups=(CPU,))
ELSEWHERE = RegionSettings(
    images="registry.example.org/slurm",
    image_suffix="-rocky9",
    log_image="registry.example.org/alpine:3",
    storage_class="fast",
    login_by=LoginBy.PORT_FORWARD,
    database=Database(DatabaseKind.EXISTING, "db.example.org", 3307, "accounting"),
    gpu_selector={"example.org/gpu": "true"},
    gpu_tolerations=(Toleration("pool", "Equal", "gpu", "NoExecute"),),
)


def design_of(spec: ClusterSpec = DEMO, settings: RegionSettings | None = None, **rest: object) -> Design:
    ref = ClusterRef("c0123456789ab", spec.name, "research", ssh_ca=CA, region_slug="lab")
    return Design(spec, names_of(ref, "quarterdeck"), ref, settings or RegionSettings(), **rest)  # type: ignore[arg-type]


GOLDEN = {"demo": design_of(), "plain": design_of(PLAIN), "elsewhere": design_of(settings=ELSEWHERE)}
