"""A machine that Kubernetes hears nothing from any more."""

import pytest

from clusters.models import Node
from clusters.watch import watch_once
from slurm.kube.kinds import POD
from tests.clusters.polling import until
from tests.kube.trouble.ground import Ground

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(240, func_only=True)]


def test_a_lost_machine_is_shown_on_its_row_and_touches_nothing_else(ground: Ground):
    job = ground.a_job_on("slinky-0")
    watch_once(ground.cluster)
    lost = node(ground, "slinky-1")
    others = {name_and_uid(pod) for pod in ground.kube.list(POD, ground.names.namespace).items}
    ground.rig.lose_node(lost.machine)
    try:
        assert until(lambda: "NotReady" in seen(ground, "slinky-1").machine_state, 20)
        beside = node(ground, "slinky-0")
        assert beside.machine_state == "Ready" and beside.health == "busy"
        assert ground.cluster.observed_problem == ""
        part = next(part for part in ground.cluster.parts if part["name"] == "slinky-1")
        assert part["state"] != "up"
        assert ground.job_state(job) == "RUNNING"
        # Slurm itself asks its nodes only now and then; it is told nothing by us.
        assert "DRAIN" not in ground.ask("scontrol", "-o", "show", "node", "slinky-0")
        now = {name_and_uid(pod) for pod in ground.kube.list(POD, ground.names.namespace).items}
        assert others == now
    finally:
        ground.rig.find_node(lost.machine)
    assert until(lambda: seen(ground, "slinky-1").machine_state == "Ready", 30)
    ground.end_job(job)


def seen(ground: Ground, name: str) -> Node:
    watch_once(ground.cluster)
    return node(ground, name)


def node(ground: Ground, name: str) -> Node:
    return ground.row.nodes.get(name=name)


def name_and_uid(pod: dict[str, dict[str, str]]) -> tuple[str, str]:
    return pod["metadata"]["name"], pod["metadata"]["uid"]
