"""What pods, machines and events look like on the cluster's page."""

import pytest

from clusters.observation import PartState
from slurm.provisioners.slinky.events import warnings_in
from slurm.provisioners.slinky.scene import Scene
from slurm.provisioners.slinky.sight import (
    FROZEN,
    controller_problem,
    is_frozen,
    machine_state_of,
    machines_of,
    parts_of,
)
from tests.slurm.slinky.test_events import NOW
from tests.slurm.slinky.things import NAMES, condition, machine, pod, thing, waiting, warning, worker_pod

CONTROLLER = pod(NAMES.controller_pod, "controller")


def scene(*pods: object, **rest: object) -> Scene:
    return Scene(NAMES, controller=thing("Controller", NAMES.base, spec={}), pods=pods, **rest)  # type: ignore[arg-type]


def states(found: Scene) -> dict[str, tuple[str, str]]:
    return {part.name: (part.kind, part.state.value) for part in parts_of(found)}


def test_each_service_and_each_worker_is_a_part():
    found = scene(
        CONTROLLER,
        pod("a", "accounting"),
        pod("r", "restapi"),
        pod("l", "login"),
        worker_pod("slinky-10"),
        worker_pod("slinky-2", ready=False),
        accounting=thing("Accounting", NAMES.base),
        rest=thing("RestApi", NAMES.base),
        login=thing("LoginSet", NAMES.login),
    )
    assert states(found) == {
        "slurmdbd": ("accounting", "up"),
        "slurmctld": ("controller", "up"),
        "slurmrestd": ("rest", "up"),
        "sshd": ("login", "up"),
        "slinky-2": ("worker", "starting"),
        "slinky-10": ("worker", "up"),
    }
    assert [part.name for part in parts_of(found)][-2:] == ["slinky-2", "slinky-10"]


def test_a_service_without_a_pod_is_starting_and_says_why():
    told = warnings_in([warning("FailedCreate", "denied the request: no", NAMES.controller_set)], NAMES, NOW)
    (part,) = parts_of(scene(), told)
    assert (part.state, part.detail) == (PartState.STARTING, told[0].text)


def test_a_crashing_controller_is_down():
    crashing = pod(
        NAMES.controller_pod,
        "controller",
        ready=False,
        containerStatuses=[waiting("slurmctld", "CrashLoopBackOff")],
    )
    (part,) = parts_of(scene(crashing))
    assert (part.state, part.restarts) == (PartState.DOWN, 3)
    assert part.detail == "Slurmctld ends as soon as it is started."
    assert controller_problem(scene(crashing), ()) == (
        "The controller, slurmctld, is down. Slurmctld ends as soon as it is started."
    )


def test_a_rest_service_that_does_not_answer_is_not_shown_as_up():
    """Its probe looks at the port only; the operator's own event tells."""
    told = warnings_in([warning("SyncFinalizerFailed", "refused", NAMES.node_set("slinky"))], NAMES, NOW)
    found = scene(CONTROLLER, pod("r", "restapi"), rest=thing("RestApi", NAMES.base))
    part = next(part for part in parts_of(found, told) if part.kind == "rest")
    assert (part.state, part.detail) == (PartState.STARTING, FROZEN)


def test_an_operator_that_has_touched_a_worker_since_is_not_frozen():
    told = warnings_in([warning("SyncFinalizerFailed", "refused", NAMES.node_set("slinky"))], NAMES, NOW)
    assert is_frozen(scene(worker_pod("slinky-0")), told)
    assert not is_frozen(scene(worker_pod("slinky-0", made="2026-11-30T12:00:30Z")), told)
    assert not is_frozen(scene(), ())


def test_an_operator_that_got_past_the_rest_service_since_is_not_frozen():
    """Neither a status nor a later failure is written by one that is frozen."""
    name, later = NAMES.node_set("slinky"), "2026-11-30T12:00:30Z"
    frozen = warning("SyncFinalizerFailed", "refused", name, "NodeSet")
    over_quota = warning("FailedCreate", "exceeded quota: small", name, "NodeSet", later)
    assert is_frozen(scene(), warnings_in([frozen], NAMES, NOW))
    assert not is_frozen(scene(), warnings_in([frozen, over_quota], NAMES, NOW))

    node_set = thing("NodeSet", name, spec={})
    wrote = {"manager": "operator", "subresource": "status", "time": later}
    node_set["metadata"]["managedFields"] = [wrote, {"manager": "quarterdeck", "time": later}]
    told = warnings_in([frozen], NAMES, NOW)
    assert not is_frozen(scene(node_sets=(node_set,)), told)
    wrote["time"] = "2026-11-30T11:59:30Z"
    assert is_frozen(scene(node_sets=(node_set,)), told)


def test_a_worker_that_restarts_politely_is_not_up():
    (_, part) = parts_of(scene(CONTROLLER, worker_pod("slinky-0")), (), {"slinky-0": "waits for its jobs"})
    assert (part.state, part.detail) == (PartState.STARTING, "waits for its jobs")


@pytest.mark.parametrize(
    ("found", "machines", "expected"),
    [
        (worker_pod("slinky-0", "m1"), [machine("m1")], "Ready"),
        (
            worker_pod("slinky-0", "m1"),
            [machine("m1", ready=False)],
            "NotReady: the machine does not answer Kubernetes",
        ),
        (worker_pod("slinky-0", "m1"), [], "NodeLost: Kubernetes has no such machine any more"),
        (worker_pod("slinky-0", "m1", ready=False), [machine("m1")], "Pod Running, not ready"),
        (
            worker_pod(
                "slinky-0",
                ready=False,
                phase="Pending",
                conditions=[condition("PodScheduled", False, "0/2 nodes are available: 2 Insufficient cpu.")],
            ),
            [],
            "Pod Pending: no machine takes it: 2 with too little cpu",
        ),
        (
            worker_pod(
                "slinky-0",
                "m1",
                ready=False,
                containerStatuses=[waiting("slurmd", "ImagePullBackOff", "gone")],
            ),
            [machine("m1")],
            "Pod Running: the image of slurmd cannot be pulled (gone)",
        ),
    ],
)
def test_a_nodes_machine_state_is_the_pods_and_the_machines(found, machines, expected):
    looked = scene(found, machines={one["metadata"]["name"]: one for one in machines})
    assert machine_state_of(looked)("slinky-0") == expected


def test_a_node_without_a_pod_says_so():
    assert machine_state_of(scene())("slinky-0") == "No pod"


def test_the_machine_under_a_node_is_its_pods():
    assert machines_of(scene(worker_pod("slinky-0", "m7"), worker_pod("slinky-1"))) == {"slinky-0": "m7"}
