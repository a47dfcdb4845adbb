"""Partitions as people describe them."""

import pytest

from slurm.checks.partition import RESERVED_NAMES, check_partition, check_partitions, field_path

NODES = tuple(f"slinky-{number}" for number in range(8)) + ("cpu-workers-0", "cpu-workers-1")
GOOD = {"PartitionName": "px", "Nodes": "slinky-[0-3,7]"}


def _check(version: str = "24.11", **fields: str) -> list[tuple[str, str, str, bool]]:
    problems = check_partition(
        {**GOOD, **fields},
        version=version,
        node_names=NODES,
        taken_names=("all", "train"),
        path="partitions[2]",
    )
    assert all(problem.message.endswith(".") and problem.hint for problem in problems)
    return [(problem.path, problem.message, problem.hint, problem.blocking) for problem in problems]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"Nodes": "ALL"},
        {"Nodes": "all", "MaxTime": "1-00:00:00", "DefaultTime": "1:00:00", "State": "drain"},
        {"MaxTime": "INFINITE", "OverSubscribe": "FORCE:4", "PriorityTier": "10", "QOS": "gpu-high"},
        {
            "AllowGroups": "staff,lab\\\\domain users",
            "AllowAccounts": "a.b,c",
            "Default": "YES",
            "Hidden": "no",
        },
        {"maxtime": "90", "nodes": "cpu-workers-[0-1]", "DefMemPerCPU": "4000", "MaxNodes": "UNLIMITED"},
        {"QOS": "", "AllowGroups": "", "MaxTime": ""},
        {"TRESBillingWeights": "CPU=1.0,Mem=0.25G,GRES/gpu=2.0", "PreemptMode": "REQUEUE"},
    ],
)
def test_a_right_partition_has_no_problem(fields: dict[str, str]) -> None:
    given = {key: value for key, value in GOOD.items() if key.lower() not in {one.lower() for one in fields}}
    assert check_partition({**given, **fields}, version="24.11", node_names=NODES) == ()


@pytest.mark.parametrize(
    "fields, path, words, hint",
    [
        ({"Nodes": "slinky-[6-9]"}, "nodes", "names slinky-8, slinky-9, which", "slinky-[0-7]"),
        ({"Nodes": "slinki-1"}, "nodes", "names slinki-1", "Did you mean slinky-1?"),
        ({"Nodes": "slinky-[0-"}, "nodes", "not closed", "slinky-[0-1,5,8-10]"),
        ({"Nodes": "slinky-[3-1]"}, "nodes", "runs backwards", "slinky-[0-1,5,8-10]"),
        ({"Nodes": "slinky-[0-99999999]"}, "nodes", "more than 65536", "slinky-"),
        ({"Nodes": ""}, "nodes", "Nodes is missing", "ALL"),
        ({"Nodes": "slinky-0 MaxTime=1"}, "nodes", "' ' at character 9", "slinky-"),
        ({"PartitionName": ""}, "name", "PartitionName is missing", "letters"),
        ({"PartitionName": "a b"}, "name", "“a b” is not a name", "letters"),
        ({"PartitionName": "-rf"}, "name", "is not a name", "beginning with"),
        ({"PartitionName": "x" * 64}, "name", "is not a name", "at most 63"),
        ({"PartitionName": "x\nNodeName=y"}, "name", "line end", "one line"),
        ({"PartitionName": "Train"}, "name", "Train is taken", "another name"),
        ({"PartitionName": "DeFault"}, "name", "DeFault is reserved", "line of defaults"),
        ({"State": "FOO"}, "state", "State “FOO” is not a value", "INACTIVE"),
        ({"MaxTime": "banana"}, "max_time_minutes", "MaxTime “banana” is not a time", "1-00:00:00"),
        ({"DefaultTime": "2-0", "MaxTime": "1-0"}, "default_time_minutes", "is longer than MaxTime", "Lower"),
        ({"MinNodes": "4", "MaxNodes": "2"}, "min_nodes", "is more than MaxNodes", "Lower"),
        ({"OverSubscribe": "FORCE:0"}, "oversubscribe", "is not NO, YES", "FORCE:n"),
        ({"QOS": "a b"}, "qos", "QOS “a b” is not a name", "limits"),
        ({"AllowGroups": "x,,y"}, "allow_groups", "“x,,y” is not a list of names", "groups"),
        ({"AllowAccounts": "a;b"}, "allow_accounts", "“a;b” is not a list of names", "Accounts"),
        ({"AllowGroups": "x\nInclude /etc/passwd"}, "allow_groups", "line end", "one line"),
        ({"PriorityTier": "99999"}, "priority_tier", "99999 is out of range", "65533"),
        ({"Frob": "1"}, "frob", "Frob is not a field of a partition", "does not start"),
        ({"MaxTme": "1"}, "max_tme", "MaxTme is not a field", "MaxTime"),
        ({"SelectTypeParameters": "CR_CPU"}, "select_type_parameters", "“CR_CPU” is not a value", "CR_Core"),
        ({"Exclusive": "USER"}, "exclusive", "exists only from Slurm 26.05", "Take"),
        ({"PreemptMode": "NICELY"}, "preempt_mode", "“NICELY” is not a value", "Known"),
    ],
)  # fmt: skip
def test_a_mistake_is_found_at_its_field(fields: dict[str, str], path: str, words: str, hint: str) -> None:
    ((where, message, advice, blocking),) = _check(**fields)
    assert where == f"partitions[2].{path}"
    assert words in message
    assert hint in advice
    assert blocking


@pytest.mark.parametrize("name", sorted(RESERVED_NAMES) + ["ALL", "Default", "SLINKY", "Vision"])
def test_names_of_the_platform_are_reserved_in_any_case(name: str) -> None:
    ((where, message, _, _),) = _check(PartitionName=name)
    assert where == "partitions[2].name"
    assert "reserved" in message


def test_what_slurm_would_ignore_is_advice() -> None:
    ((where, message, _, blocking),) = _check(AllowAccounts="a", DenyAccounts="b")
    assert (where, blocking) == ("partitions[2].deny_accounts", False)
    assert "ignored beside AllowAccounts" in message


def test_fields_are_addressed_as_the_spec_names_them() -> None:
    assert [field_path(key) for key in ("MaxTime", "AllowGroups", "QOS", "OverSubscribe", "PriorityTier")] == [
        "max_time_minutes", "allow_groups", "qos", "oversubscribe", "priority_tier",
    ]  # fmt: skip


def test_own_partitions_are_checked_against_each_other() -> None:
    two = [{**GOOD, "Default": "YES"}, {**GOOD, "PartitionName": "PX", "Default": "yes"}]
    paths = [problem.path for problem in check_partitions(two, version="24.11", node_names=NODES)]
    assert paths == ["partitions[1].name", "partitions[1].default"]


def test_a_cluster_has_at_most_twenty_own_partitions() -> None:
    many = [{**GOOD, "PartitionName": f"p{number}"} for number in range(21)]
    assert check_partitions(many[:20], version="24.11", node_names=NODES) == ()
    (problem,) = check_partitions(many, version="24.11", node_names=NODES)
    assert (problem.path, "21 own partitions" in problem.message) == ("partitions", True)
