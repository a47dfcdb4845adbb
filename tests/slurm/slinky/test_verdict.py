"""The verdict on a change: what can never become good, what is to be written next, what is waited for and why."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from clusters.observation import JobSeen, PartitionSeen, Verdict
from clusters.spec import PartitionSpec
from slurm.provisioners.slinky import conf
from slurm.provisioners.slinky.crash import Crash
from slurm.provisioners.slinky.events import warnings_in
from slurm.provisioners.slinky.look import NUDGE, Look, must_nudge, must_renew_controller, nudge_of
from slurm.provisioners.slinky.running import NOT_THERE, Running, Silence
from slurm.provisioners.slinky.scene import Scene
from slurm.provisioners.slinky.sight import FROZEN
from slurm.provisioners.slinky.stages import stage_of
from slurm.provisioners.slinky.verdict import verdict_of
from tests.slurm.slinky.standings import node, spec_with, standing, worker
from tests.slurm.slinky.things import (
    NAMES,
    condition,
    node_set,
    pod,
    thing,
    waiting,
    warning,
    worker_pod,
    workload,
)

NOW = datetime(2026, 11, 30, 12, 1, tzinfo=UTC)
SPEC = replace(
    spec_with(slinky=(0, 1)), partitions=(PartitionSpec("debug", "slinky-0"),), slurm_conf="MinJobAge=400\n"
)
CONF = conf.rendered(SPEC).text


def partition(name: str) -> PartitionSeen:
    return PartitionSeen(name, "UP", "slinky-[0-1]", name == "all", 2, 8, None, None, 1)


def job(number: str, nodes: str, state: str = "RUNNING") -> JobSeen:
    return JobSeen(
        job_id=number,
        submit_at=NOW,
        name="train",
        user="ada",
        account="",
        partition="all",
        state=state,
        reason="",
        priority=1,
        nodes=nodes,
        node_count=1,
        cpus=1,
        gpus=0,
        memory_mib=None,
        limit_s=7200,
        start_at=NOW,
        end_at=NOW + timedelta(hours=2),
    )


def running(written: str = CONF, **fields: object) -> Running:
    found = Running(
        conf=f"ClusterName=demo\n{written}",
        config={"HASH_VAL": "Match", "MinJobAge": "400 sec"},
        nodes=(node("slinky-0"), node("slinky-1")),
        partitions=(partition("all"), partition("slinky"), partition("debug")),
        jobs=(),
    )
    return replace(found, **fields)  # type: ignore[arg-type]


def a_scene(**fields: object) -> Scene:
    found = Scene(
        NAMES,
        controller=thing("Controller", NAMES.base, spec={"extraConf": CONF}),
        accounting=thing("Accounting", NAMES.base, spec={}),
        rest=thing("RestApi", NAMES.base, spec={}),
        login=thing("LoginSet", NAMES.login, spec={}),
        controller_set=workload("StatefulSet", NAMES.controller_set),
        accounting_set=workload("StatefulSet", NAMES.accounting_set),
        rest_deployment=workload("Deployment", NAMES.rest_deployment),
        login_deployment=workload("Deployment", NAMES.login),
        running_conf=thing("ConfigMap", NAMES.running_conf, data={"slurm.conf": f"ClusterName=demo\n{CONF}"}),
        node_sets=(node_set("slinky", 2),),
        pods=(
            pod(NAMES.controller_pod, "controller"),
            pod("a", "accounting"),
            pod("r", "restapi"),
            pod("l", "login"),
            worker_pod("slinky-0", "m0"),
            worker_pod("slinky-1", "m1"),
        ),
    )
    return replace(found, **fields)  # type: ignore[arg-type]


def a_look(**fields: object) -> Look:
    stands = standing(slinky=(0, 1))
    found = Look(SPEC, a_scene(), stands, stage_of(SPEC, stands), None, (), running(), (), NOW)
    return replace(found, **fields)  # type: ignore[arg-type]


def said(look: Look) -> tuple[Verdict, str]:
    found = verdict_of(look)
    return found.verdict, found.why


def test_a_cluster_that_is_as_its_spec_says_is_done():
    assert verdict_of(a_look()).verdict is Verdict.DONE


def test_what_was_never_applied_is_waited_for():
    look = a_look(scene=Scene(NAMES), heard=Silence("It is down."))
    assert said(look) == (Verdict.WAITING, "demo has not been applied in quarterdeck-research yet.")


def test_what_an_apply_would_write_now_is_the_next_stage():
    assert said(a_look(due=("NodeSet x has another replicas.",))) == (
        Verdict.APPLY_AGAIN,
        "NodeSet x has another replicas.",
    )


CRASHING = {
    "crash": Crash(1, True),
    "log": ("slurmctld: fatal: PrologFlags invalid: NoSuchFlag",),
    "heard": Silence("It is down."),
}


def test_a_controller_that_dies_of_its_file_is_hopeless():
    verdict, why = said(a_look(**CRASHING))
    assert verdict is Verdict.HOPELESS and "NoSuchFlag" in why


def test_a_crash_under_the_last_file_is_mended_by_a_new_pod():
    look = a_look(**{**CRASHING, "crash": Crash(1, False)})
    assert verdict_of(look).verdict is Verdict.APPLY_AGAIN
    assert must_renew_controller(look)


def test_a_crash_says_nothing_before_the_operator_has_written_the_new_file():
    old = thing("ConfigMap", NAMES.running_conf, data={"slurm.conf": "ClusterName=demo\n"})
    look = a_look(**CRASHING, scene=a_scene(running_conf=old))
    assert verdict_of(look).verdict is Verdict.WAITING
    assert not must_renew_controller(replace(look, crash=Crash(1, False)))


@pytest.mark.parametrize(
    ("reason", "made", "verdict"),
    [
        ("ImagePullBackOff", "2026-11-30T11:00:00Z", Verdict.HOPELESS),
        ("ImagePullBackOff", "2026-11-30T12:00:30Z", Verdict.WAITING),
        ("InvalidImageName", "2026-11-30T12:00:30Z", Verdict.HOPELESS),
    ],
)
def test_an_image_that_cannot_be_had_for_long_is_hopeless(reason, made, verdict):
    stuck = pod(
        "l", "login", ready=False, made=made, containerStatuses=[waiting("login", reason, "not found")]
    )
    scene = a_scene(pods=(*(p for p in a_scene().pods if p["metadata"]["name"] != "l"), stuck))
    found = verdict_of(a_look(scene=scene))
    assert found.verdict is verdict and "image" in found.why


@pytest.mark.parametrize(
    ("missing", "name"),
    [("accounting", "slurmdbd"), ("controller", "slurmctld"), ("restapi", "slurmrestd"), ("login", "sshd")],
)
def test_each_service_is_waited_for_by_name(missing, name):
    pods = [p for p in a_scene().pods if p["metadata"]["labels"]["app.kubernetes.io/component"] != missing]
    verdict, why = said(a_look(scene=a_scene(pods=tuple(pods))))
    assert (verdict, why.split(".")[0]) == (Verdict.WAITING, f"Waiting for {name}")


def test_an_operator_that_makes_nothing_is_named():
    scene = a_scene(controller_set=None, pods=a_scene().pods[1:])
    verdict, why = said(a_look(scene=scene, heard=Silence("It is down.")))
    assert verdict is Verdict.WAITING and "Is slurm-operator running" in why


def test_an_operator_that_looks_at_nothing_is_named():
    scene = a_scene(node_sets=(node_set("slinky", 2, seen=False),))
    _, why = said(a_look(scene=scene))
    assert why == f"The operator has not looked at NodeSet {NAMES.node_set('slinky')} yet. {IDLE}"


IDLE = "Is slurm-operator running in this region?"


def test_a_frozen_operator_is_told_where_something_waits_for_it():
    told = warnings_in([warning("SyncFinalizerFailed", "refused", NAMES.node_set("slinky"))], NAMES, NOW)
    assert said(a_look(warned=told))[0] is Verdict.DONE
    verdict, why = said(coming(warned=told))
    assert verdict is Verdict.WAITING and why.endswith(FROZEN)


def test_a_restart_of_a_service_is_waited_for():
    stamped = {"template": {"metadata": {"annotations": {"quarterdeck.dev/restarted-at": "now"}}}}
    scene = a_scene(login=thing("LoginSet", NAMES.login, spec=stamped))
    assert "has not started sshd anew yet" in said(a_look(scene=scene))[1]


def test_a_rollout_of_a_service_is_waited_for():
    scene = a_scene(login_deployment=workload("Deployment", NAMES.login, replicas=1, updatedReplicas=0))
    assert "has not started sshd anew yet" in said(a_look(scene=scene))[1]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (
            running(""),
            "The new slurm.conf has not reached the controller's pod yet, which takes up to two minutes.",
        ),
        (
            running(config={"HASH_VAL": "Different Ours=0x1 Slurmctld=0x2"}),
            "The controller has not read its new",
        ),
        (
            running(config={"MinJobAge": "300 sec"}),
            "MinJobAge should be 400, the controller runs with 300 sec.",
        ),
        (
            running(partitions=(partition("all"), partition("slinky"))),
            "The controller has no partition debug yet.",
        ),
    ],
    ids=["file", "not read", "setting", "partition"],
)
def test_the_running_configuration_is_read_back(found, expected):
    verdict, why = said(a_look(heard=found))
    assert verdict is Verdict.WAITING and why.startswith(expected)


def test_a_file_of_which_slurms_commands_end_is_hopeless_once_it_is_there():
    fatal = ("error: Invalid PrologFlag: X", "fatal: PrologFlags invalid: X")
    verdict, why = said(a_look(heard=Silence("no answer", CONF, fatal)))
    assert verdict is Verdict.HOPELESS and "PrologFlags invalid: X" in why
    other = a_look(heard=Silence("no answer", CONF.replace("400", "5"), fatal))
    assert said(other) == (Verdict.WAITING, NOT_THERE)


def test_a_pod_is_told_once_to_fetch_each_file():
    assert not must_nudge(a_look())
    look = a_look(heard=running("# old\n"))
    assert must_nudge(look)
    told = pod(NAMES.controller_pod, "controller")
    told["metadata"]["annotations"] = {NUDGE: nudge_of(look)}
    assert not must_nudge(replace(look, scene=a_scene(pods=(told,))))


def test_a_controller_that_does_not_answer_is_waited_for():
    assert said(a_look(heard=Silence("scontrol did not answer."))) == (
        Verdict.WAITING,
        "scontrol did not answer.",
    )


def coming(**fields: object) -> Look:
    stands = standing(slinky=(0, 1), extra=())
    stands = replace(stands, nodes=(node("slinky-0"),))
    return a_look(standing=stands, stage=stage_of(SPEC, stands), **fields)


def test_a_node_that_does_not_register_is_waited_for_with_the_operators_words():
    message = f"Deleting Pod {NAMES.namespace}/{NAMES.base}-slinky-1: Slurm node is not registered but pod is healthy"
    told = warnings_in(
        [warning("SlurmNodeNotRegistered", message, NAMES.node_set("slinky"), "NodeSet")], NAMES, NOW
    )
    verdict, why = said(coming(warned=told))
    assert verdict is Verdict.WAITING
    assert why.startswith(
        "Waiting for slinky-1 to register with the controller. Worker slinky-1 does not register"
    )


def test_a_worker_without_a_machine_says_what_is_missing():
    unplaced = worker_pod(
        "slinky-1",
        ready=False,
        phase="Pending",
        conditions=[
            condition("PodScheduled", False, "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.")
        ],
    )
    scene = a_scene(pods=(*a_scene().pods[:-1], unplaced))
    assert said(coming(scene=scene))[1].endswith(
        "slinky-1: no machine takes it: 3 with too little nvidia.com/gpu."
    )


def going(**fields: object) -> Look:
    stands = replace(
        standing(slinky=(0, 1)), workers={"slinky": tuple(worker("slinky", n) for n in (0, 1, 2))}
    )
    return a_look(standing=stands, **fields)


def test_jobs_on_nodes_that_go_are_waited_for_without_a_deadline():
    found = verdict_of(going(heard=running(jobs=(job("12", "slinky-2"), job("13", "slinky-0")))))
    assert (found.verdict, found.patient) == (Verdict.WAITING, True)
    assert found.why == (
        "slinky-2 goes when its job 12 (ada) ended. At the latest that is at 2026-11-30 14:01 UTC."
    )


def test_a_node_that_goes_without_jobs_has_a_deadline():
    found = verdict_of(going())
    assert (found.verdict, found.patient, found.why) == (
        Verdict.WAITING,
        False,
        "Waiting for slinky-2 to go.",
    )


def test_workers_that_are_renewed_are_waited_for():
    scene = a_scene(node_sets=(node_set("slinky", 2, updatedReplicas=1),))
    assert "workers of slinky are ready" in said(a_look(scene=scene))[1]


def test_jobs_on_workers_that_are_renewed_have_no_deadline():
    scene = a_scene(node_sets=(node_set("slinky", 2, updatedReplicas=1),))
    drained = node("slinky-1", "MIXED+DRAIN", "slurm-operator: Pod is pending update", busy=4)
    stands = standing(slinky=(0, 1), extra=[drained])
    found = verdict_of(a_look(scene=scene, standing=stands, heard=running(jobs=(job("7", "slinky-1"),))))
    assert found.patient and "slinky-1" in found.why


def test_a_node_that_was_down_before_is_no_fault_of_the_change():
    for reason, verdict in (("", Verdict.WAITING), ("broken fan", Verdict.DONE)):
        stands = standing(slinky=(0, 1), extra=[node("slinky-1", "DOWN", reason)])
        assert verdict_of(a_look(standing=stands)).verdict is verdict


def test_an_upgrade_that_waits_its_turn_is_not_done():
    assert said(a_look(held="the controller to run 26.11")) == (
        Verdict.WAITING,
        "Waiting for the controller to run 26.11.",
    )
