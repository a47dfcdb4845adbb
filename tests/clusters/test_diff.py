"""Diffs in paths that a person reads, and the same in a sentence."""

from dataclasses import replace

import pytest

from clusters.diff import FieldChange, Op, diff, sentence
from clusters.spec import (
    CPU_GROUP,
    ClusterSpec,
    Leaver,
    LoginGroup,
    Logins,
    LoginUser,
    NodeGroup,
    PartitionSpec,
    Shape,
)
from tests.clusters.keys import ED25519, OTHER_ED25519

SHAPE = Shape("gpu-8x", 64, 512_000, 8, "h100")
CPU = Shape("cpu-16", 16, 64_000)
DEBUG = PartitionSpec("debug", "slinky-0", max_time_minutes=60)
MO, LIN = LoginUser("mo", 20000, keys=(ED25519,)), LoginUser("lin", 20001)
BASE = ClusterSpec(
    name="tiny",
    image="slurm-24-11",
    slurm_version="24.11",
    groups=(NodeGroup("slinky", SHAPE, (0, 1, 2, 3)),),
    partitions=(DEBUG,),
    slurm_conf="# mine\nSchedulerType=sched/backfill\nMaxJobCount=10000",
)


def conf(text: str) -> ClusterSpec:
    return BASE.with_slurm_conf(text)


def partition(**fields: object) -> ClusterSpec:
    return BASE.with_partitions((replace(DEBUG, **fields),))  # type: ignore[arg-type]


CASES = {
    "login users": (
        BASE.with_logins(
            Logins(on=True, account="research", users=(MO, LIN), groups=(LoginGroup("lab", 20002),))
        ),
        [
            ("change", "logins.on", "no", "yes"),
            ("add", "logins.account", "", "research"),
            ("add", "logins.users[mo]", "", "20000"),
            ("add", "logins.users[lin]", "", "20001"),
            ("add", "logins.groups[lab]", "", "20002"),
        ],
        "Login users: on, Slurm account research, add mo, add lin, add group lab",
    ),
    "nothing": (BASE, [], "Nothing changes"),
    "grow": (
        replace(BASE, groups=(NodeGroup("slinky", SHAPE, (0, 1, 2, 3, 4, 5)),)),
        [("change", "groups[slinky].ordinals", "0-3", "0-5")],
        "slinky: 4 to 6 nodes",
    ),
    "sparse scale-in": (
        replace(BASE, groups=(NodeGroup("slinky", SHAPE, (0, 2, 3)),)),
        [("change", "groups[slinky].ordinals", "0-3", "0,2-3")],
        "slinky: 4 to 3 nodes",
    ),
    "new group": (
        replace(BASE, groups=(*BASE.groups, NodeGroup(CPU_GROUP, CPU, (0, 1)))),
        [("add", "groups[cpu-workers]", "", "2 × cpu-16")],
        "cpu-workers: added, 2 × cpu-16",
    ),
    "group gone": (
        replace(BASE, groups=()),
        [("remove", "groups[slinky]", "4 × gpu-8x", "")],
        "slinky: removed",
    ),
    "shape": (
        replace(BASE, groups=(NodeGroup("slinky", replace(SHAPE, gpus=4), (0, 1, 2, 3)),)),
        [("change", "groups[slinky].shape.gpus", "8", "4")],
        "slinky: GPUs 4",
    ),
    "time limit": (
        partition(max_time_minutes=120),
        [("change", "partitions[debug].max_time_minutes", "60", "120")],
        "Partition debug: time limit 2 h",
    ),
    "no time limit": (
        partition(max_time_minutes=None),
        [("remove", "partitions[debug].max_time_minutes", "60", "")],
        "Partition debug: time limit no limit",
    ),
    "odd time limit": (
        partition(max_time_minutes=36 * 60 + 5),
        [("change", "partitions[debug].max_time_minutes", "60", "2165")],
        "Partition debug: time limit 1 d 12 h 5 min",
    ),
    "two fields": (
        partition(default=True, state="DRAIN"),
        [
            ("change", "partitions[debug].default", "no", "yes"),
            ("change", "partitions[debug].state", "UP", "DRAIN"),
        ],
        "Partition debug: default, state DRAIN",
    ),
    "accounts": (
        partition(allow_accounts=("physics", "bio")),
        [("add", "partitions[debug].allow_accounts", "", "physics, bio")],
        "Partition debug: allowed accounts physics, bio",
    ),
    "renamed": (
        partition(name="de.bug"),
        [
            ("remove", "partitions[debug]", "slinky-0, 1 h", ""),
            ("add", "partitions[de.bug]", "", "slinky-0, 1 h"),
        ],
        "Partition debug: removed; Partition de.bug: added on slinky-0, 1 h",
    ),
    "reordered": (BASE.with_partitions((DEBUG,)), [], "Nothing changes"),
    "conf line changed": (
        conf("# mine\nSchedulerType=sched/builtin\nMaxJobCount=10000"),
        [("change", "slurm_conf:2", "SchedulerType=sched/backfill", "SchedulerType=sched/builtin")],
        "slurm.conf: 1 line",
    ),
    "conf lines added and removed": (
        conf("SchedulerType=sched/backfill\nMaxJobCount=10000\nMaxArraySize=1001"),
        [("remove", "slurm_conf:1", "# mine", ""), ("add", "slurm_conf:3", "", "MaxArraySize=1001")],
        "slurm.conf: 2 lines",
    ),
    "image": (
        replace(BASE, image="slurm-26-05", slurm_version="26.05"),
        [("change", "image", "slurm-24-11", "slurm-26-05"), ("change", "slurm_version", "24.11", "26.05")],
        "Image: slurm-24-11 to slurm-26-05; Slurm: 24.11 to 26.05",
    ),
    "key added": (
        replace(BASE, ssh_keys=(ED25519,)),
        [("add", "ssh_keys[ada@laptop]", "", "ada@laptop")],
        "SSH keys: add ada@laptop",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_difference_is_told_in_paths_and_in_a_sentence(case):
    new, expected, spoken = CASES[case]
    found = diff(BASE, new)
    assert [(c.op, c.path, c.old, c.new) for c in found] == expected
    assert sentence(found) == spoken


@pytest.mark.parametrize("case", CASES)
def test_the_way_back_mirrors_the_way_there(case):
    new = CASES[case][0]
    mirror = {Op.ADD: Op.REMOVE, Op.REMOVE: Op.ADD, Op.CHANGE: Op.CHANGE}
    there = {(c.op, c.old, c.new) for c in diff(BASE, new)}
    back = {(mirror[c.op], c.new, c.old) for c in diff(new, BASE)}
    assert there == back


def test_the_order_of_partitions_is_no_difference():
    two = (DEBUG, PartitionSpec("long", "ALL"))
    assert diff(BASE.with_partitions(two), BASE.with_partitions(two[::-1])) == ()


def test_keys_are_told_apart_by_comment_or_fingerprint():
    nameless = OTHER_ED25519.rsplit(" ", 1)[0]
    found = diff(replace(BASE, ssh_keys=(ED25519,)), replace(BASE, ssh_keys=(nameless,)))
    assert [c.op for c in found] == [Op.REMOVE, Op.ADD]
    assert found[1].path.startswith("ssh_keys[SHA256:")


def test_a_long_sentence_is_cut_to_what_the_row_holds():
    many = tuple(FieldChange(Op.ADD, f"partitions[p{n}]", "", "ALL, no limit") for n in range(40))
    assert len(sentence(many)) == 200
    assert sentence(many).endswith("…")


def test_what_becomes_of_a_login_user_is_said_by_name() -> None:
    before = BASE.with_logins(Logins(on=True, users=(MO, LIN)))
    fresh = replace(LIN, sudo=True, keys=(OTHER_ED25519,))
    left = Leaver("mo", 20000, jobs="cancel", home="archive")
    after = BASE.with_logins(Logins(on=True, users=(fresh,), leavers=(left,)))
    changes = diff(before, after)
    assert [(one.path, one.old, one.new) for one in changes] == [
        ("logins.users[mo]", "20000", ""),
        ("logins.users[lin].sudo", "no", "yes"),
        ("logins.keys[lin: ben@desk]", "", "ben@desk"),
        ("logins.leavers[mo]", "", "jobs cancelled, home archived"),
    ]
    assert sentence(changes) == (
        "Login users: remove mo, lin sudo yes, add key ben@desk of lin, of mo jobs cancelled, home archived"
    )
