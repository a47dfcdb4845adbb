"""Objects of ours edited and deleted by hand."""

import pytest

from clusters import run
from clusters.machine import ChangeStatus
from clusters.watch import watch_once
from slurm.kube.kinds import CONTROLLER, LOGIN_SET, NAMESPACE, REST_API
from tests.clusters.polling import until
from tests.kube.clusters import remove_namespace
from tests.kube.trouble.ground import SPEC, Ground, limited, said

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(600, func_only=True)]
S = ChangeStatus
BY_HAND = "?fieldManager=kubectl-edit"


def edit_conf_by_hand(ground: Ground) -> None:
    text = ground.get(CONTROLLER, ground.names.base)["spec"]["extraConf"]
    change = {"spec": {"extraConf": text.replace("MaxJobCount=20000", "MaxJobCount=4321")}}
    ground.rig.api.merge(ground.path("controllers", ground.names.base) + BY_HAND, change)


def shows(ground: Ground, *words: str) -> bool:
    """Whether the page comes to show a drift with these words; without words, none."""

    def does() -> bool:
        watch_once(ground.cluster)
        found = ground.cluster.observed_drift
        return all(word in found for word in words) if words else not found

    return until(does, 20)


def test_an_edit_by_hand_is_shown_and_the_next_change_overwrites_it(ground: Ground):
    assert shows(ground)
    edit_conf_by_hand(ground)
    assert shows(ground, "+MaxJobCount=4321")
    change = ground.edit(limited(65))
    assert change.status == S.COMMITTED, said(change)
    assert shows(ground)
    assert "MaxJobCount = 20000" in " ".join(ground.ask("scontrol", "show", "config").split())
    assert "MaxTime=01:05:00" in ground.ask("scontrol", "show", "partition", "debug")


def test_an_edit_by_hand_is_overwritten_by_reconfigure(ground: Ground):
    edit_conf_by_hand(ground)
    assert shows(ground, "+MaxJobCount=4321")
    change = ground.reconfigure()
    assert change.status == S.COMMITTED, said(change)
    assert shows(ground)
    assert "MaxJobCount=4321" not in ground.get(CONTROLLER, ground.names.base)["spec"]["extraConf"]


def test_resources_deleted_by_hand_are_shown_and_made_again_by_reconfigure(ground: Ground):
    job = ground.a_job_on("slinky-0")
    gone = ((LOGIN_SET, ground.names.login), (REST_API, ground.names.base))
    for kind, name in gone:
        assert ground.kube.delete(kind, name, ground.names.namespace)
    assert shows(ground, *(f"{kind.name} {name}: deleted by hand" for kind, name in gone))
    change = ground.reconfigure()
    assert change.status == S.COMMITTED, said(change)
    assert shows(ground)
    assert ground.job_state(job) == "RUNNING"
    ground.end_job(job)


def test_a_namespace_deleted_by_hand_is_said_and_made_again_by_reconfigure(ground: Ground, monkeypatch):
    """The most that a hand can do: everything is gone, accounting and keys included."""
    monkeypatch.setattr(run, "EDIT_S", 150)
    remove_namespace(ground.kube, ground.names.namespace)
    assert until(lambda: "Nothing of contract runs in" in _problem(ground), 20)
    ground.rig.free_volumes()
    change = ground.reconfigure()
    assert ground.kube.find(NAMESPACE, ground.names.namespace)
    assert change.status == S.COMMITTED, said(change)
    assert ground.cluster.provisioner.judge(SPEC).verdict == "done"


def _problem(ground: Ground) -> str:
    watch_once(ground.cluster)
    return str(ground.cluster.observed_problem)
