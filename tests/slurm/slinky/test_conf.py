"""slurm.conf as the Controller gets it: the platform's lines, the user's block, and partitions that never kill it."""

from dataclasses import replace

import pytest

from clusters.spec import CPU_GROUP, GPU_GROUP, NodeGroup, PartitionSpec
from slurm.checks.conf import check_conf
from slurm.conf import parse
from slurm.parameters import Owner, find
from slurm.provisioners.slinky.conf import HEAD, rendered
from slurm.render import DEFAULT_USER_CONF, rendered_in, user_part
from tests.slurm.slinky.designs import CPU, DEMO, GPU


def partitions(text: str) -> dict[str, str]:
    lines = [line.split() for line in text.splitlines() if line.startswith("PartitionName=")]
    return {words[0].partition("=")[2]: words[1].partition("=")[2] for words in lines}


def test_platform_partitions_name_groups_and_own_ones_nodes():
    assert partitions(rendered(DEMO).text) == {
        "all": "ALL",
        "slinky": "slinky",
        "cpu-workers": "cpu-workers",
        "llm": "slinky",
        "train": "slinky-[0-2]",
        "debug": "slinky-3,cpu-workers-0",
    }


@pytest.mark.parametrize(
    ("known", "train", "debug"),
    [
        (
            {"slinky-0", "slinky-1", "slinky-2", "slinky-3", "cpu-workers-0"},
            "slinky-[0-2]",
            "slinky-3,cpu-workers-0",
        ),
        ({"slinky-0", "slinky-2", "slinky-3"}, "slinky-[0,2]", "slinky-3"),
        ({"slinky-1"}, "slinky-1", None),
        (set(), None, None),
    ],
)
def test_own_partitions_name_only_nodes_that_slurm_knows(known, train, debug):
    """slurmctld 26.05 dies of a partition that names a dynamic node which never registered."""
    found = partitions(rendered(DEMO, frozenset(known)).text)
    assert (found.get("train"), found.get("debug")) == (train, debug)
    assert {"all", "slinky", "cpu-workers", "llm"} <= set(found)


def test_an_own_partition_of_all_nodes_needs_none_to_be_known():
    spec = DEMO.with_partitions((PartitionSpec("mine", "ALL", default=True),))
    assert partitions(rendered(spec, frozenset()).text)["mine"] == "ALL"


def test_a_cluster_is_never_without_a_default_partition():
    """`all` is default again while the own default partition cannot be written yet."""
    spec = DEMO.with_partitions((PartitionSpec("mine", "slinky-0", default=True),))
    for known in (None, frozenset()):
        assert rendered(spec, known).text.count("Default=YES") == 1


def test_partitions_of_groups_without_nodes_are_left_out():
    spec = replace(DEMO, groups=(NodeGroup(GPU_GROUP, GPU.shape, ()), CPU), partitions=())
    assert partitions(rendered(spec).text) == {"all": "ALL", CPU_GROUP: CPU_GROUP}


def test_the_editor_finds_the_users_block():
    conf = rendered(DEMO)
    assert rendered_in({"slurm.conf": conf.text}, DEMO) == conf
    edited = conf.text.replace("MinJobAge=300", "MinJobAge=60")
    assert (
        user_part(edited, conf).text == DEMO.slurm_conf.replace("300", "60")
        and not user_part(edited, conf).problems
    )
    assert user_part(conf.text.replace("GresTypes=gpu", "GresTypes=x"), conf).problems


def test_what_the_platform_writes_is_known_to_slurm_and_fits_its_types():
    """Read as one file, with the lines that the operator puts before it."""
    operators = "ClusterName=demo\nSlurmctldHost=c\nAuthType=auth/slurm\n"
    groups = "".join(f"NodeSet={group.name} Feature={group.name}\n" for group in DEMO.groups)
    whole = operators + groups + rendered(DEMO).text
    found = check_conf(whole, version="26.05", node_names=DEMO.node_names, whole=True)
    assert [problem.message for problem in found] == []


# What slurm-operator 1.2 writes itself or merges (slinky.md 1.9), and the lines of HEAD that fit its pods.
OPERATORS = [
    *(
        "ClusterName",
        "SlurmUser",
        "SlurmctldHost",
        "SlurmctldPort",
        "StateSaveLocation",
        "SlurmdUser",
        "SlurmdPort",
    ),
    *("SlurmdSpoolDir", "MaxNodeCount", "SlurmctldLogFile", "SlurmSchedLogFile", "SlurmdLogFile", "AuthType"),
    *(
        "CredType",
        "AuthAltTypes",
        "AuthAltParameters",
        "AuthInfo",
        "AccountingStorageType",
        "AccountingStorageHost",
    ),
    *(
        "AccountingStoragePort",
        "Prolog",
        "Epilog",
        "PrologSlurmctld",
        "EpilogSlurmctld",
        "GresTypes",
        "SelectType",
    ),
    *("SelectTypeParameters", "ProctrackType", "TaskPlugin", "JobAcctGatherType"),
]


@pytest.mark.parametrize("key", OPERATORS)
def test_what_the_operator_writes_is_locked(key):
    parameter = find(key)
    assert parameter is not None and parameter.owner in (Owner.OPERATOR, Owner.NODE_GROUP)
    assert any(p.blocking for p in check_conf(f"{key}=x\n", version="26.05"))


@pytest.mark.parametrize("key", ["SlurmctldParameters", "AccountingStorageTRES"])
def test_what_is_merged_may_be_added_to_with_a_note(key):
    parameter = find(key)
    assert parameter is not None and parameter.owner is Owner.MERGED


@pytest.mark.parametrize("block", [DEFAULT_USER_CONF, "returntoservice=1\n", "PrologFlags=Contain,X11\n", ""])
def test_what_the_user_sets_the_platform_does_not(block):
    """slurmctld 26.05 goes by the last of two lines, and logs an error at each start."""
    document = parse(rendered(replace(DEMO, slurm_conf=block)).text)
    keys = [setting.key.lower() for _line, setting in document.settings()]
    assert len(keys) == len(set(keys)) and {"returntoservice", "prologflags"} < set(keys)


def test_the_head_sets_each_key_once():
    keys = [setting.key for _line, setting in parse(HEAD).settings()]
    assert len(keys) == len(set(keys)) == len(HEAD.splitlines())


def test_a_group_keeps_its_partition_until_its_last_worker_has_gone():
    """And what the region declares on it: jobs end with the partition that they run in."""
    region = (PartitionSpec("batch", "cpu-workers"),)
    gone = replace(DEMO, region_partitions=region, groups=DEMO.groups[:1], partitions=())
    lines = [line for line in rendered(gone).text.splitlines() if "cpu-workers" in line]
    assert lines == []
    lines = [
        line for line in rendered(gone, None, {"cpu-workers"}).text.splitlines() if "cpu-workers" in line
    ]
    assert [line.split()[:2] for line in lines] == [
        ["PartitionName=cpu-workers", "Nodes=cpu-workers"],
        ["PartitionName=batch", "Nodes=cpu-workers"],
    ]
