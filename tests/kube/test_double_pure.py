"""The double's pure parts: files, names, and who goes first."""

from typing import Any

from tests.kube.double.choice import to_remove
from tests.kube.double.conf import Place, operator_conf, room_conf, room_gres
from tests.kube.double.demo import demo, node_set
from tests.kube.double.slurm_side import node_of
from tests.kube.double.workers import CORDON, COST, DEADLINE, INDEX, host_of, revision, sizes, slurmd_conf

PLACE = Place("demo-controller-0", "slurm", "root", 17001, 17002, "/run/munge.socket", "/state", "/spool")
# What operator v1.2.1 wrote for such a cluster, but for the namespace.
RECORDED = """\
#
### GENERAL ###
ClusterName=demo
SlurmUser=slurm
SlurmctldHost=demo-controller-0(demo-controller.here)
SlurmctldPort=6817
StateSaveLocation=/var/spool/slurmctld/demo
SlurmdUser=root
SlurmdPort=6818
SlurmdSpoolDir=/var/spool/slurmd
MaxNodeCount=1024
#
### LOGGING ###
SlurmctldLogFile=/var/log/slurm/slurmctld.log
SlurmSchedLogFile=/var/log/slurm/slurmctld.log
SlurmdLogFile=/var/log/slurm/slurmd.log
#
### PLUGINS & PARAMETERS ###
AuthType=auth/slurm
CredType=cred/slurm
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=/etc/slurm/jwt.key
AuthInfo=use_client_ids
SlurmctldParameters=enable_configless,reconfig_on_restart
#
### ACCOUNTING ###
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=demo-accounting
AccountingStoragePort=6819
#
### NODESET & PARTITION ###
NodeSet=cpu-workers Feature=cpu-workers
PartitionName=cpu-workers Nodes=cpu-workers State=UP MaxTime=1-00:00:00
NodeSet=slinky Feature=slinky
#
### EXTRA CONFIG ###
GresTypes=gpu

"""


def controller(extra: str) -> dict[str, Any]:
    made = next(each for each in demo("here") if each["kind"] == "Controller")
    return {**made, "spec": {**made["spec"], "extraConf": extra}}


def accounting() -> dict[str, Any]:
    return next(each for each in demo("here") if each["kind"] == "Accounting")


def test_slurm_conf_is_as_recorded() -> None:
    cpu = node_set("here", "demo", "cpu-workers", 2)
    cpu["spec"]["partition"] = {"enabled": True, "config": "State=UP MaxTime=1-00:00:00"}
    gpu = node_set("here", "demo", "slinky", 4)
    assert operator_conf(controller("GresTypes=gpu\n"), accounting(), [gpu, cpu]) == RECORDED


def test_shared_keys_are_merged_behind_extra_conf() -> None:
    extra = "SlurmctldParameters=Idle_On_Node_Suspend,enable_configless\n"
    text = operator_conf(controller(extra), None, [])
    assert text.endswith(
        f"### EXTRA CONFIG ###\n{extra}\n#\n### MERGED CONFIG ###\n"
        "SlurmctldParameters=enable_configless,reconfig_on_restart,idle_on_node_suspend\n"
    )
    assert "AccountingStorageHost" not in text


def test_a_rooms_file_differs_only_where_it_must() -> None:
    plugins = "ProctrackType=proctrack/cgroup\nTaskPlugin=task/affinity,task/cgroup\n"
    extra = f"{plugins}FooBar=1\nPartitionName=a Nodes=ALL\n"
    text = room_conf(operator_conf(controller(extra), accounting(), []), PLACE)
    lines = text.splitlines()
    assert {
        "SlurmctldHost=demo-controller-0(127.0.0.1)",
        "SlurmctldPort=17001",
        "AuthType=auth/munge",
    } <= set(lines)
    assert {"FooBar=1", "PartitionName=a Nodes=ALL", "TaskPlugin=task/none"} <= set(lines)
    assert "cgroup" not in text
    assert len([line for line in lines if line.startswith("ProctrackType=")]) == 1


def test_a_plugin_that_does_not_exist_stays_one() -> None:
    assert "ProctrackType=proctrack/nonsense" in room_conf("ProctrackType=proctrack/nonsense\n", PLACE)


def test_gres_conf_serves_any_ordinal() -> None:
    assert room_gres([node_set("here", "demo", "slinky", 1, "gpu:h100:8")]).splitlines() == [
        "AutoDetect=off",
        "NodeName=slinky-[0-1023] Name=gpu Type=h100 File=/dev/nvidia[0-7]",
    ]


def test_what_a_worker_is_started_with() -> None:
    made = node_set("here", "demo", "slinky", 1, "gpu:h100:8")
    assert slurmd_conf(made) == "Features=slinky Gres=gpu:h100:8"
    assert sizes(made) == (16, 65536)
    assert host_of(made, 3) == "slinky-3"


def test_replicas_and_metadata_start_no_rollout() -> None:
    made = node_set("here", "demo", "slinky", 1)
    other = node_set("here", "demo", "slinky", 5)
    other["metadata"]["annotations"] = {"a": "b"}
    assert revision(made) == revision(other)
    other["spec"]["slurmd"]["image"] = "another"
    assert revision(made) != revision(other)


def pod(
    ordinal: int, node: str = "machine", ready: bool = True, notes: dict[str, str] | None = None
) -> dict[str, Any]:
    metadata = {
        "name": f"p-{ordinal}",
        "labels": {INDEX: str(ordinal)},
        "annotations": notes or {},
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    return {
        "metadata": metadata,
        "spec": {"nodeName": node} if node else {},
        "status": {"phase": "Running", "conditions": conditions},
    }


def first(*pods: dict[str, Any]) -> str:
    return str(to_remove(pods, 1)[0]["metadata"]["name"])


def test_who_goes_first() -> None:
    assert first(pod(0), pod(1), pod(2)) == "p-2"
    assert first(pod(0, node=""), pod(1, ready=False), pod(2)) == "p-0"
    assert first(pod(0), pod(1, ready=False), pod(2, notes={COST: "-5"})) == "p-1"
    assert first(pod(0), pod(1, notes={COST: "-5"}), pod(2, notes={CORDON: "true"})) == "p-1"
    assert (
        first(pod(0), pod(1, notes={CORDON: "true"}), pod(2, notes={DEADLINE: "2026-01-01T01:00:00Z"}))
        == "p-1"
    )


def test_a_nodes_record_is_read_whatever_its_reason_says() -> None:
    line = (
        "NodeName=slinky-1 Arch=x86_64 State=IDLE+DRAIN+DYNAMIC_NORM+NOT_RESPONDING ThreadsPerCore=1 "
        'Reason=State=DOWN [really] [root@2026-11-30T13:39:54] Comment={"a":"b c"}'
    )
    node = node_of(line)
    assert (node.name, node.reason, node.comment) == ("slinky-1", "State=DOWN [really]", '{"a":"b c"}')
    assert node.is_drained and node.is_external
