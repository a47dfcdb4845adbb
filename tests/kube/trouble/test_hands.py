"""Objects of ours edited and deleted by hand."""

import pytest

from clusters import run
from clusters.machine import ChangeStatus
from clusters.watch import watch_once
from slurm.kube.kinds import CONTROLLER, LOGIN_SET, NAMESPACE, REST_API
from tests.kube.clusters import remove_namespace
from tests.kube.trouble.ground import SPEC, Ground, limited, said

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(300)]
S = ChangeStatus
BY_HAND = "?fieldManager=kubectl-edit"


def edit_conf_by_hand(ground: Ground) -> None:
    text = ground.get(CONTROLLER, ground.names.base)["spec"]["extraConf"]
    change = {"spec": {"extraConf": text.replace("MaxJobCount=20000", "MaxJobCount=4321")}}
    ground.rig.api.merge(ground.path("controllers", ground.names.base) + BY_HAND, change)


def drift(ground: Ground) -> str:
    watch_once(ground.cluster)
    return ground.cluster.observed_drift


def test_an_edit_by_hand_is_shown_and_the_next_change_overwrites_it(ground: Ground):
    assert drift(ground) == ""
    edit_conf_by_hand(ground)
    assert "+MaxJobCount=4321" in drift(ground)
    change = ground.edit(limited(65))
    assert change.status == S.COMMITTED, said(change)
    assert drift(ground) == ""
    assert "MaxJobCount = 20000" in " ".join(ground.ask("scontrol", "show", "config").split())
    assert "MaxTime=01:05:00" in ground.ask("scontrol", "show", "partition", "debug")


def test_an_edit_by_hand_is_overwritten_by_reconfigure(ground: Ground):
    edit_conf_by_hand(ground)
    assert "MaxJobCount" in drift(ground)
    change = ground.reconfigure()
    assert change.status == S.COMMITTED, said(change)
    assert drift(ground) == ""
    assert "MaxJobCount=4321" not in ground.get(CONTROLLER, ground.names.base)["spec"]["extraConf"]


def test_resources_deleted_by_hand_are_shown_and_made_again_by_reconfigure(ground: Ground):
    job = ground.a_job_on("slinky-0")
    gone = ((LOGIN_SET, ground.names.login), (REST_API, ground.names.base))
    for kind, name in gone:
        assert ground.kube.delete(kind, name, ground.names.namespace)
    found = drift(ground)
    assert all(f"{kind.name} {name}: deleted by hand" in found for kind, name in gone)
    change = ground.reconfigure()
    assert change.status == S.COMMITTED, said(change)
    assert drift(ground) == ""
    assert ground.job_state(job) == "RUNNING"
    ground.end_job(job)


def test_a_namespace_deleted_by_hand_is_said_and_made_again_by_reconfigure(ground: Ground, monkeypatch):
    """The most that a hand can do: everything is gone, accounting and keys included."""
    monkeypatch.setattr(run, "EDIT_S", 150)
    remove_namespace(ground.kube, ground.names.namespace)
    watch_once(ground.cluster)
    assert ground.names.namespace in ground.cluster.observed_problem
    ground.rig.free_volumes()
    change = ground.reconfigure()
    assert ground.kube.find(NAMESPACE, ground.names.namespace)
    assert change.status == S.COMMITTED, said(change)
    assert ground.cluster.provisioner.judge(SPEC).verdict == "done"
