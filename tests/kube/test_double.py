"""The double does what operator v1.2.1 was seen to do, on a real API server and with real Slurm behind its pods."""

from collections.abc import Iterator
from contextlib import suppress

import pytest

from slurm.kube.kinds import (
    CONFIG_MAP,
    CONTROLLER,
    LOGIN_SET,
    NODE_SET,
    POD,
    REST_API,
    SECRET,
    SERVICE,
    Thing,
)
from tests.kube.double.choice import is_ready
from tests.kube.double.demo import EXTRA_CONF, node_set
from tests.kube.double.kinds import BUDGET
from tests.kube.double.workers import CORDON, COST
from tests.kube.double.world import World

NOTE = {"annotations": {"example.com/restarted-at": "now"}}
SCALE_IN = "slurm-operator: Pod ({}/{}) is pending termination for scale-in"


@pytest.fixture(autouse=True)
def rested(world: World) -> Iterator[None]:
    """Whatever a test did: three idle workers again."""
    yield
    world.until("jobs are cancelled", lambda: world.can("scancel", "-u", "root"))
    world.scale(3)
    world.until("three idle workers", world.is_rested)


# What it makes


def test_children_have_the_recorded_names_and_owners(world: World) -> None:
    services = {"demo-accounting", "demo-controller", "demo-login", "demo-restapi", "slurm-workers-demo"}
    found = {each["metadata"]["name"]: each for each in world.api.list(SERVICE, world.namespace)[0]}
    assert set(found) == services
    assert found["demo-controller"]["metadata"]["ownerReferences"][0]["kind"] == "Controller"
    assert world.get(BUDGET, "slurm-workers-pdb-demo")["spec"]["maxUnavailable"] == 0
    assert world.get(SECRET, "demo-login-ssh-host-keys")["immutable"] is True
    assert len(world.workers()) == 3


def test_slurm_conf_ends_with_extra_conf_as_it_stands(world: World) -> None:
    text = world.get(CONFIG_MAP, "demo-config")["data"]["slurm.conf"]
    assert text.startswith("#\n### GENERAL ###\nClusterName=demo\nSlurmUser=slurm\n")
    assert f"NodeSet=slinky Feature=slinky\n#\n### EXTRA CONFIG ###\n{EXTRA_CONF}\n" in text


def test_worker_pods_mirror_slurm(world: World) -> None:
    worker = world.get(POD, "demo-slinky-1")
    assert worker["metadata"]["labels"]["nodeset.slinky.slurm.net/pod-hostname"] == "slinky-1"
    assert worker["spec"]["containers"][0]["args"][-1] == "'Features=slinky Gres=gpu:h100:8'"
    world.until("its condition", lambda: "SlurmNodeStateIdle" in conditions(world.get(POD, "demo-slinky-1")))
    world.until("the counters", lambda: world.node_set()["status"].get("slurmIdle") == 3)
    assert (world.node_set()["status"]["replicas"], world.node_set()["status"]["desired"]) == (3, 3)


def test_jobs_run_on_declared_gpus(world: World) -> None:
    printed = world.slurm(
        "srun", "-t1", "-w", "slinky-1", "--gres=gpu:2", "sh", "-c", "hostname; echo $CUDA_VISIBLE_DEVICES"
    )
    assert printed.split() == ["slinky-1", "0,1"]


# Pods that are replaced, and pods that are not


@pytest.mark.parametrize(
    ("kind", "name", "component"), [(CONTROLLER, "demo", "controller"), (REST_API, "demo", "restapi")]
)
def test_an_annotation_on_a_resource_replaces_its_pods(
    world: World, kind: object, name: str, component: str
) -> None:
    before = world.uids(component)
    world.patch(kind, name, {"metadata": NOTE})  # type: ignore[arg-type]
    world.until("another pod is ready", lambda: is_new(world.pods(component), set(before.values())))
    world.until("Slurm answers", world.states)


def test_new_root_keys_do_not_reach_a_running_login_pod(world: World) -> None:
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHeE1S1d8uQ1QZpZ0l0Hh5cU2ZzvY7p7v7m1m1v7kY2Q someone"
    before = world.uids("login")
    world.patch(LOGIN_SET, "demo-login", {"spec": {"rootSshAuthorizedKeys": f"{key}\n"}})
    world.until(
        "the ConfigMap has it",
        lambda: key in world.get(CONFIG_MAP, "demo-login-ssh-config")["data"]["authorized_keys"],
    )
    world.stays("the pod and its file", lambda: world.uids("login") == before and key not in keys(world), 3.0)
    world.patch(LOGIN_SET, "demo-login", {"spec": {"template": {"metadata": NOTE}}})
    world.until("a new pod has it", lambda: world.uids("login") != before and key in keys(world))


def test_an_annotation_in_the_template_replaces_workers_one_by_one(world: World) -> None:
    before = set(world.uids("worker").values())
    world.patch(NODE_SET, "demo-slinky", {"spec": {"template": {"metadata": NOTE}}})

    def missing() -> int:
        return 3 - sum(is_ready(pod) for pod in world.pods("worker"))

    def all_new() -> bool:
        assert missing() <= 1
        now = set(world.uids("worker").values())
        return len(now) == 3 and not now & before

    world.until("all three are new", all_new)
    assert world.count("RollingUpdate") >= 3


# Scaling


def test_scale_up_uses_free_ordinals_from_the_lowest(world: World) -> None:
    world.patch(POD, "demo-slinky-0", {"metadata": {"annotations": {COST: "-10"}}})
    world.scale(2)
    world.until("slinky-0 goes", lambda: world.workers() == ["demo-slinky-1", "demo-slinky-2"])
    assert "drained" in world.states()["slinky-0"]
    world.scale(3)
    world.until(
        "it returns", lambda: world.workers()[0] == "demo-slinky-0" and world.states()["slinky-0"] == "idle"
    )


def test_scale_in_moves_its_choice_from_a_busy_worker_to_an_idle_one(world: World) -> None:
    job = world.submit("-w", "slinky-2")
    world.scale(2)
    world.until("slinky-2 is drained first", lambda: world.states()["slinky-2"] == "draining")
    chosen = world.get(POD, "demo-slinky-2")
    assert chosen["metadata"]["annotations"][CORDON] == "true"
    world.until(
        "its conditions say so", lambda: "SlurmNodeStateDrain" in conditions(world.get(POD, "demo-slinky-2"))
    )
    world.until("an idle one goes", lambda: world.workers() == ["demo-slinky-0", "demo-slinky-2"])
    world.until("slinky-2 is undrained", lambda: world.states()["slinky-2"] == "mixed")
    assert world.states()["slinky-1"].startswith("drained")
    assert CORDON not in world.get(POD, "demo-slinky-2")["metadata"]["annotations"]
    assert world.job_state(job) == "RUNNING"


def test_a_low_deletion_cost_holds_scale_in_until_the_job_ends(world: World) -> None:
    world.patch(POD, "demo-slinky-1", {"metadata": {"annotations": {COST: "-10"}}})
    job = world.submit("-w", "slinky-1")
    world.scale(2)
    world.until("it is drained", lambda: world.states()["slinky-1"] == "draining")
    world.stays("nobody goes", lambda: len(world.workers()) == 3, 5.0)
    reason = world.slurm("sinfo", "-h", "-n", "slinky-1", "-O", "Reason:120")
    assert reason == SCALE_IN.format(world.namespace, "demo-slinky-1")
    world.slurm("scancel", job)
    world.until("it goes", lambda: world.workers() == ["demo-slinky-0", "demo-slinky-2"])


def test_a_cordon_by_hand_is_undone(world: World) -> None:
    world.patch(POD, "demo-slinky-1", {"metadata": {"annotations": {CORDON: "true"}}})
    world.until(
        "it is gone", lambda: CORDON not in world.get(POD, "demo-slinky-1")["metadata"]["annotations"], 5.0
    )


def test_a_drain_by_a_person_is_left_alone(world: World) -> None:
    world.slurm("scontrol", "update", "nodename=slinky-1", "state=drain", "reason=broken fan")
    world.until("it is seen", lambda: world.node_set()["status"].get("slurmDrain") == 1)
    world.stays("it stays", lambda: world.states()["slinky-1"] == "drained", 3.0)
    world.slurm("scontrol", "update", "nodename=slinky-1", "state=resume")


def test_a_node_set_that_is_deleted_is_not_drained(world: World) -> None:
    world.api.create(node_set(world.namespace, world.name, "extra", 1))
    world.until("its worker is idle", lambda: world.states().get("extra-0") == "idle")
    job = world.submit("-w", "extra-0")
    world.api.delete(world.node_set("extra"))
    world.until("its pod is gone", lambda: "demo-extra-0" not in world.workers())
    world.until("its job has ended", lambda: world.job_state(job) != "RUNNING")
    world.until(
        "its line is gone", lambda: "extra" not in world.get(CONFIG_MAP, "demo-config")["data"]["slurm.conf"]
    )
    world.until("its node is down", lambda: world.states()["extra-0"].startswith("down"))
    world.slurm("scancel", job)
    world.until("Slurm lets go of its record", lambda: forgets(world, "extra-0"))


# Configurations


def test_a_file_that_scontrol_cannot_read_is_retried_and_the_old_one_stays(world: World) -> None:
    world.patch(CONTROLLER, "demo", {"spec": {"extraConf": EXTRA_CONF + "FooBar=1\n"}})
    world.until("the pod shows it", lambda: "FooBar=1" in shown(world))
    world.stays("the controller runs", lambda: is_ready(world.pod("controller")), 5.0)
    assert world.pod("controller")["status"]["containerStatuses"][0]["restartCount"] == 0
    world.patch(CONTROLLER, "demo", {"spec": {"extraConf": EXTRA_CONF}})
    world.until("commands read the file again", world.states)


def test_a_file_that_only_slurmctld_refuses_crash_loops_until_it_is_good(world: World) -> None:
    job = world.submit("-w", "slinky-0")
    world.patch(
        CONTROLLER, "demo", {"spec": {"extraConf": EXTRA_CONF + "PartitionName=own Nodes=slinky-77\n"}}
    )
    world.until("it crash-loops", lambda: waiting(world.pod("controller")) == "CrashLoopBackOff")
    assert not is_ready(world.pod("controller"))
    assert world.pod("controller")["status"]["containerStatuses"][0]["restartCount"] >= 1
    world.until("the workers' operator is frozen", lambda: world.events("SyncFinalizerFailed"))
    world.patch(CONTROLLER, "demo", {"spec": {"extraConf": EXTRA_CONF}})
    world.until(
        "it is ready", lambda: is_ready(world.pod("controller")) and not waiting(world.pod("controller"))
    )
    world.until("the job goes on", lambda: world.states() and world.job_state(job) == "RUNNING")


def test_a_good_file_is_in_force_within_seconds(world: World) -> None:
    world.patch(
        CONTROLLER, "demo", {"spec": {"extraConf": EXTRA_CONF + "PartitionName=own Nodes=slinky-[0-1]\n"}}
    )
    world.until("the partition", lambda: "own" in world.slurm("sinfo", "-h", "-o", "%R"), 15.0)
    world.patch(CONTROLLER, "demo", {"spec": {"extraConf": EXTRA_CONF}})
    world.until("no partition", lambda: "own" not in world.slurm("sinfo", "-h", "-o", "%R"), 15.0)


def test_without_in_place_a_new_file_starts_a_new_pod_whatever_is_in_it(world: World) -> None:
    world.patch(CONTROLLER, "demo", {"spec": {"inplaceReconfigure": False}})
    world.until(
        "no side container",
        lambda: all(side_containers(pod) == ["logfile"] for pod in world.pods("controller")),
    )
    world.until("it answers", world.states)
    before = set(world.uids("controller").values())
    world.patch(CONTROLLER, "demo", {"spec": {"extraConf": EXTRA_CONF + "FooBar=1\n"}})
    world.until(
        "a new pod", lambda: world.uids("controller") and not before & set(world.uids("controller").values())
    )
    world.until("it crash-loops", lambda: crashing(world))
    world.patch(CONTROLLER, "demo", {"spec": {"extraConf": EXTRA_CONF, "inplaceReconfigure": True}})
    world.until(
        "it is well again", lambda: world.states() and all(is_ready(pod) for pod in world.pods("controller"))
    )


# What is broken


def test_a_worker_that_does_not_register_is_replaced_again_and_again(world: World) -> None:
    with world.broken(unregistered=["slinky-3"]):
        before = world.count("SlurmNodeNotRegistered")
        world.scale(4)
        world.until("three times", lambda: world.count("SlurmNodeNotRegistered") >= before + 3)
        assert "slinky-3" not in world.states()
        world.scale(3)
        world.until("it is gone", lambda: len(world.workers()) == 3)


def test_without_rest_nothing_is_scaled(world: World) -> None:
    before = world.node_set()
    with world.broken(rest_away=True):
        world.scale(4)
        world.until("it says so", lambda: world.count("SyncFinalizerFailed") >= 1)
        world.stays("nothing happens", lambda: len(world.workers()) == 3, 3.0)
        status = world.node_set()["status"]
        assert status["observedGeneration"] == before["metadata"]["generation"]
        assert status["desired"] == 3
    world.until("it goes on", lambda: len(world.workers()) == 4)


def test_a_dead_operator_does_nothing(world: World) -> None:
    with world.broken(dead=True):
        world.scale(4)
        world.patch(CONTROLLER, "demo", {"spec": {"extraConf": EXTRA_CONF + "MaxJobCount=20000\n"}})
        world.stays("nothing", lambda: len(world.workers()) == 3, 3.0)
        assert "MaxJobCount" not in world.get(CONFIG_MAP, "demo-config")["data"]["slurm.conf"]
    world.patch(CONTROLLER, "demo", {"spec": {"extraConf": EXTRA_CONF}})


def test_an_image_that_cannot_be_pulled_waits(world: World) -> None:
    with world.broken(image_pull=["restapi"]):
        world.until("it waits", lambda: waiting(world.pod("restapi")) == "ImagePullBackOff")
        assert not is_ready(world.pod("restapi"))
    world.until("it runs", lambda: is_ready(world.pod("restapi")))


def test_a_node_set_without_its_controller_is_left_alone(world: World) -> None:
    world.api.create(node_set(world.namespace, "other", "lost", 1))
    world.until("it says so", lambda: world.events("ControllerRefFailed"))
    assert not [name for name in world.workers() if "lost" in name]
    world.api.delete(world.get(NODE_SET, "other-lost"))


def forgets(world: World, host: str) -> bool:
    """Records of nodes stay in Slurm for ever; it is busy for a moment after a job."""
    with suppress(AssertionError):
        world.slurm("scontrol", "delete", f"nodename={host}")
    return host not in world.states()


def is_new(pods: list[Thing], before: set[str]) -> bool:
    return len(pods) == 1 and pods[0]["metadata"]["uid"] not in before and is_ready(pods[0])


def conditions(pod: object) -> set[str]:
    found = pod["status"].get("conditions", ())  # type: ignore[index]
    return {each["type"] for each in found if each["status"] == "True"}


def side_containers(pod: Thing) -> list[str]:
    return [each["name"] for each in pod["spec"]["initContainers"]]


def waiting(pod: object) -> str:
    state = (pod["status"].get("containerStatuses") or [{"state": {}}])[0]["state"]  # type: ignore[index]
    return str(state.get("waiting", {}).get("reason", ""))


def crashing(world: World) -> bool:
    return any(waiting(pod) == "CrashLoopBackOff" for pod in world.pods("controller"))


def keys(world: World) -> str:
    """authorized_keys as sshd reads it."""
    return world.slurm("cat", "/etc/ssh/cluster/authorized_keys")


def shown(world: World) -> str:
    """slurm.conf as the controller's pod shows it."""
    return world.slurm("cat", "/etc/slurm-pod/slurm.conf")
