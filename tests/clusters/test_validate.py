"""What a spec may hold: one table of single mistakes, each found at its field path and nowhere else."""

from dataclasses import replace

import pytest

from clusters.spec import CPU_GROUP, ClusterSpec, NodeGroup, PartitionSpec, Shape
from clusters.validate import ADDRESSES, RESERVED, validate
from tests.clusters.keys import ED25519, OTHER_ED25519, rsa

GPU = Shape("gpu-8x", 64, 512_000, 8, "h100")
CPU = Shape("cpu-16", 16, 64_000)
DEBUG = PartitionSpec("debug", "slinky-[0-1]", max_time_minutes=60)
GOOD = ClusterSpec(
    name="tiny",
    image="slurm-24-11",
    slurm_version="24.11",
    groups=(NodeGroup("slinky", GPU, (0, 1, 2, 5)), NodeGroup(CPU_GROUP, CPU, (0, 1))),
    region_partitions=(PartitionSpec("science", "slinky"),),
    partitions=(DEBUG,),
    slurm_conf="# mine\n\tMaxJobCount=20000\n",
    ssh_keys=(ED25519, OTHER_ED25519),
)


def gpus(**fields: object) -> ClusterSpec:
    return replace(GOOD, groups=(replace(GOOD.groups[0], **fields), GOOD.groups[1]))  # type: ignore[arg-type]


def cpus(**fields: object) -> ClusterSpec:
    return replace(GOOD, groups=(GOOD.groups[0], replace(GOOD.groups[1], **fields)))  # type: ignore[arg-type]


def shape(**fields: object) -> ClusterSpec:
    return gpus(shape=replace(GPU, **fields))  # type: ignore[arg-type]


def own(**fields: object) -> ClusterSpec:
    return GOOD.with_partitions((replace(DEBUG, **fields),))  # type: ignore[arg-type]


def test_a_good_spec_has_no_problem():
    assert validate(GOOD) == ()


BAD_NAMES = ("", "a b", "-x", "a,b", "a=b", "a#b", "ü", "0day", "a" * 64)
BAD_NODES = ("", "slinky-3", "slinky-[0-9]", "gpu-0", "slinky-[1", "a b")
MISTAKES = [
    *[(replace(GOOD, name=name), "name") for name in ("", "Tiny", "1st", "a-", "a_b", "a" * 41, "a.b", "é")],
    (replace(GOOD, groups=(), partitions=(), region_partitions=()), "groups"),
    (replace(GOOD, groups=(*GOOD.groups, NodeGroup("other", GPU, (0,)))), "groups[2].name"),
    (replace(GOOD, groups=(*GOOD.groups, NodeGroup("slinky", GPU, (9,)))), "groups[2].name"),
    (gpus(ordinals=(0, 1, 2, 5, 5)), "groups[0].ordinals"),
    (gpus(ordinals=(0, 1, 2, 5, -1)), "groups[0].ordinals"),
    (gpus(ordinals=(0, 1, 2, 5, 100_000)), "groups[0].ordinals"),
    (gpus(ordinals=tuple(range(4097))), "groups[0].ordinals"),
    (shape(cpus=0), "groups[0].shape.cpus"),
    (shape(memory_mib=0), "groups[0].shape.memory_mib"),
    (shape(gpus=0), "groups[0].shape.gpus"),
    (shape(gpus=-1), "groups[0].shape.gpus"),
    (shape(gpu_model="h100 sxm"), "groups[0].shape.gpu_model"),
    (cpus(shape=replace(CPU, gpus=1)), "groups[1].shape.gpus"),
    *[(own(name=name), "partitions[0].name") for name in BAD_NAMES],
    *[(own(name=name), "partitions[0].name") for name in sorted(RESERVED | ADDRESSES)],
    *[(own(name=name), "partitions[0].name") for name in ("DEFAULT", "Default", "All", "SLINKY", "Science")],
    (GOOD.with_partitions((DEBUG, replace(DEBUG, name="DEBUG"))), "partitions[1].name"),
    (GOOD.with_partitions(tuple(replace(DEBUG, name=f"p{n}") for n in range(21))), "partitions"),
    (GOOD.with_partitions(tuple(replace(DEBUG, name=n, default=True) for n in "ab")), "partitions"),
    *[(own(nodes=nodes), "partitions[0].nodes") for nodes in BAD_NODES],
    (own(nodes="slinky-0 State=DOWN"), "partitions[0].nodes"),
    (own(max_time_minutes=0), "partitions[0].max_time_minutes"),
    (own(max_time_minutes=-5), "partitions[0].max_time_minutes"),
    (own(max_time_minutes=525_601), "partitions[0].max_time_minutes"),
    (own(default_time_minutes=61), "partitions[0].default_time_minutes"),
    *[(own(state=state), "partitions[0].state") for state in ("", "up", "UP Default=YES")],
    *[(own(oversubscribe=o), "partitions[0].oversubscribe") for o in ("", "MAYBE", "YES:0", "FORCE:x")],
    (own(priority_tier=-1), "partitions[0].priority_tier"),
    (own(priority_tier=65_534), "partitions[0].priority_tier"),
    *[(own(qos=qos), "partitions[0].qos") for qos in ("a b", "a,b", "x Nodes=ALL", "#")],
    (own(allow_groups=("ok", "a,b")), "partitions[0].allow_groups[1]"),
    (own(allow_accounts=("",)), "partitions[0].allow_accounts[0]"),
    (replace(GOOD, region_partitions=(PartitionSpec("science", "slinky-9"),)), "region_partitions[0].nodes"),
    (replace(GOOD, ssh_keys=(ED25519, rsa(1024))), "ssh_keys[1]"),
    (replace(GOOD, ssh_keys=(ED25519, ED25519.replace("ada", "eve"))), "ssh_keys[1]"),
    (replace(GOOD, ssh_keys=("-----BEGIN OPENSSH PRIVATE KEY-----",)), "ssh_keys[0]"),
    (replace(GOOD, slurm_conf="x" * 600_000), "slurm_conf"),
    *[(GOOD.with_slurm_conf(f"A=1{c}B=2"), "slurm_conf") for c in "\x00\x0b\x0c\r\x1b\x7f\x85\u2028"],
    (replace(GOOD, image="slurm\x00"), "image"),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "path"), MISTAKES)
def test_a_mistake_is_found_at_its_path_and_nowhere_else(spec, path):
    problems = validate(spec)
    assert {problem.path for problem in problems} == {path}
    assert all(problem.blocking and problem.message for problem in problems)


@pytest.mark.parametrize(
    "spec",
    [
        own(nodes="ALL"),
        own(nodes="all"),
        own(nodes="slinky-[0-2,5],cpu-workers-[0-1]"),
        own(max_time_minutes=None, default_time_minutes=60),
        own(default_time_minutes=60),
        own(
            oversubscribe="FORCE:4",
            state="DRAIN",
            priority_tier=65_533,
            qos="high",
            allow_groups=("ml-team",),
        ),
        own(name="Default2"),
        GOOD.with_partitions(()),
        GOOD.with_partitions(tuple(replace(DEBUG, name=f"p{n}") for n in range(20))),
        replace(GOOD, groups=(GOOD.groups[0], NodeGroup(CPU_GROUP, CPU, ()))),
        replace(GOOD, ssh_keys=()),
    ],
)
def test_what_is_unusual_and_right_is_taken(spec):
    assert validate(spec) == ()


def test_control_characters_are_found_wherever_they_hide():
    problems = validate(own(qos="a\nNodeName=evil"))
    assert [p.path for p in problems] == ["partitions[0].qos", "partitions[0].qos"]


def test_a_taken_name_and_a_plans_limit_are_told():
    problems = validate(GOOD, taken={"tiny"}, most_nodes={"gpu-8x": 3})
    assert [p.path for p in problems] == ["name", "groups[0].ordinals"]


def test_everything_wrong_is_told_at_once():
    spec = replace(own(name="all", nodes="slinky-9", state="?"), name="-", ssh_keys=("x",))
    assert [p.path for p in validate(spec)] == [
        "name",
        "partitions[0].name",
        "partitions[0].nodes",
        "partitions[0].state",
        "ssh_keys[0]",
    ]
