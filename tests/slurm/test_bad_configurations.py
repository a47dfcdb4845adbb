"""Configurations that were fed to real controllers (22.05, 24.11, 26.05) and what they did to them.

Each is caught here where the text can show it: in the user's part of the file, in a partition's own form, or in the
complete file. The few that only a daemon can judge are listed with who judges them.
"""

import pytest

from slurm.checks.conf import check_conf
from slurm.checks.partition import check_partition

WHOLE = """ClusterName=sandbox
SlurmctldHost=here(127.0.0.1)
GresTypes=gpu
NodeName=slinky-0 NodeHostname=here NodeAddr=127.0.0.1 Port=18010 CPUs=8 CoresPerSocket=8 Gres=gpu:8
NodeName=slinky-1 NodeHostname=here NodeAddr=127.0.0.1 Port=18011 CPUs=8 CoresPerSocket=8 Gres=gpu:8
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""

USERS_PART = {
    "unknown key": ("FooBar=1", "FooBar"),
    "bad integer": ("SlurmctldTimeout=abc", "SlurmctldTimeout"),
    "missing select plugin": ("SelectType=select/nope", "SelectType"),
    "bad select parameter": ("SelectTypeParameters=CR_Bogus", "SelectTypeParameters"),
    "duplicate node": ("NodeName=slinky-1 CPUs=8", "NodeName=slinky-1"),
    "two nodes on one port": ("NodeName=slinky-9 Port=18010", "NodeName=slinky-9"),
    "node with a bad number": ("NodeName=slinky-9 CPUs=many", "NodeName=slinky-9"),
    "node whose CPUs do not add up": ("NodeName=n CPUs=8 Sockets=3 CoresPerSocket=3", "NodeName=n"),
    "gres without GresTypes": ("NodeName=n Gres=gpu:8", "NodeName=n"),
    "unknown scheduler option": ("SchedulerParameters=nonsense_option=5", "SchedulerParameters"),
    "bad scheduler option": ("SchedulerParameters=bf_interval=abc", "SchedulerParameters"),
    "changed cluster name": ("ClusterName=other", "ClusterName"),
    "unknown SlurmUser": ("SlurmUser=nosuchuser", "SlurmUser"),
    "missing state directory": ("StateSaveLocation=/nonexistent/state", "StateSaveLocation"),
    "line without an equals sign": ("garbage words here", "garbage words here"),
    "include of a missing file": ("Include /nonexistent.conf", "Include"),
    "second default partition": ("PartitionName=px Nodes=ALL Default=YES", "PartitionName=px"),
    "bad enforcement": ("AccountingStorageEnforce=bogus", "AccountingStorageEnforce"),
    "missing priority plugin": ("PriorityType=priority/nope", "PriorityType"),
    "key set twice": ("KillWait=5\nKillWait=9", "KillWait"),
}

WHOLE_FILE = {
    "unknown key": (WHOLE + "FooBar=1\n", "FooBar"),
    "bad integer": (WHOLE + "SlurmctldTimeout=abc\n", "SlurmctldTimeout"),
    "missing select plugin": (WHOLE + "SelectType=select/nope\n", "SelectType"),
    "bad select parameter": (WHOLE + "SelectTypeParameters=CR_Bogus\n", "SelectTypeParameters"),
    "partition of an unknown node": (WHOLE + "PartitionName=px Nodes=ghost-1\n", "Nodes"),
    "duplicate node": (WHOLE + "NodeName=slinky-1 CPUs=8\n", "NodeName"),
    "two nodes on one port": (WHOLE.replace("18011", "18010"), "Port"),
    "unclosed host list": (WHOLE + "PartitionName=px Nodes=slinky-[0-\n", "Nodes"),
    "gres without GresTypes": (WHOLE.replace("GresTypes=gpu\n", ""), "Gres"),
    "partition with a bad state": (WHOLE + "PartitionName=px Nodes=slinky-0 State=FOO\n", "State"),
    "partition with a bad time": (WHOLE + "PartitionName=px Nodes=slinky-0 MaxTime=banana\n", "MaxTime"),
    "partition with an unknown field": (WHOLE + "PartitionName=px Nodes=slinky-0 Frob=1\n", "Frob"),
    "node with a bad number": (WHOLE + "NodeName=n CPUs=many\n", "CPUs"),
    "node whose CPUs do not add up": (WHOLE + "NodeName=n CPUs=8 Sockets=3 CoresPerSocket=3\n", "CPUs"),
    "no cluster name": (WHOLE.replace("ClusterName=sandbox\n", ""), "ClusterName"),
    "empty file": ("", "ClusterName"),
    "line without an equals sign": (WHOLE + "garbage words here\n", "garbage words here"),
    "include of a missing file": (WHOLE + "Include /nonexistent.conf\n", "Include"),
    "two default partitions": (WHOLE + "PartitionName=px Nodes=slinky-0 Default=YES\n", "Default"),
    "bad enforcement": (WHOLE + "AccountingStorageEnforce=bogus\n", "AccountingStorageEnforce"),
    "missing priority plugin": (WHOLE + "PriorityType=priority/nope\n", "PriorityType"),
}

PARTITION_FORM = {
    "partition of an unknown node": ({"Nodes": "ghost-1"}, "Nodes"),
    "unclosed host list": ({"Nodes": "slinky-[0-"}, "Nodes"),
    "partition with a bad state": ({"State": "FOO"}, "State"),
    "partition with a bad time": ({"MaxTime": "banana"}, "MaxTime"),
    "partition with an unknown field": ({"Frob": "1"}, "Frob"),
}

# The text is right; whether the thing exists is known to others, who are asked before the controller is touched.
LEFT_TO_OTHERS = {
    "partition with an unknown QOS": (
        "QOS=nosuch",
        "the shadow controller of 26.05; older ones start with it",
    ),
    "partition for an unknown group": (
        "AllowGroups=nosuchgroup",
        "nobody: Slurm starts and the group is empty",
    ),
    "partition for an unknown account": (
        "AllowAccounts=nosuch",
        "nobody: Slurm starts and nobody may use it",
    ),
    "partition removed with waiting jobs": ("", "the review page, which counts the jobs"),
}


@pytest.mark.parametrize("name", USERS_PART)
def test_it_is_caught_in_the_users_part(name: str) -> None:
    text, key = USERS_PART[name]
    problems = check_conf("# ours\n" + text, version="24.11", node_names=("slinky-0", "slinky-1"))
    (blocking,) = [problem for problem in problems if problem.blocking]
    assert blocking.line == 1 + len(text.splitlines())
    assert f"Line {blocking.line}: " in blocking.message and key in blocking.message


@pytest.mark.parametrize("name", WHOLE_FILE)
@pytest.mark.parametrize("version", ["22.05", "24.11", "26.05"])
def test_it_is_caught_in_a_whole_file(name: str, version: str) -> None:
    text, key = WHOLE_FILE[name]
    blocking = [problem for problem in check_conf(text, version=version, whole=True) if problem.blocking]
    assert [problem for problem in blocking if key in problem.message]
    assert all(problem.line or "missing" in problem.message for problem in blocking)


def test_the_file_they_were_made_from_is_right() -> None:
    assert [problem for problem in check_conf(WHOLE, version="24.11", whole=True) if problem.blocking] == []


@pytest.mark.parametrize("name", PARTITION_FORM)
def test_it_is_caught_in_the_partition_form(name: str) -> None:
    fields, key = PARTITION_FORM[name]
    problems = check_partition(
        {"PartitionName": "px", "Nodes": "slinky-0", **fields},
        version="24.11",
        node_names=("slinky-0", "slinky-1"),
    )
    (problem,) = problems
    assert problem.blocking and key in problem.message


@pytest.mark.parametrize("name", LEFT_TO_OTHERS)
def test_what_only_others_can_judge_is_let_through(name: str) -> None:
    field, _ = LEFT_TO_OTHERS[name]
    text = WHOLE + f"PartitionName=px Nodes=slinky-0 {field}\n"
    assert [problem for problem in check_conf(text, version="24.11", whole=True) if problem.blocking] == []
