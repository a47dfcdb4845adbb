"""What others hold, limit and forbid in a team's namespace."""

import pytest

from clusters import run
from clusters.machine import ChangeStatus
from slurm.kube.kinds import NODE_SET, POD
from tests.clusters.polling import until
from tests.kube.rig.api import Refused
from tests.kube.rig.webhook import refusing
from tests.kube.trouble.ground import Ground, said, scaled

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(240, func_only=True)]
S = ChangeStatus


def apply_as(ground: Ground, manager: str, thing: dict[str, object]) -> None:
    """What `kubectl apply --server-side --force-conflicts --field-manager` sends of a NodeSet."""
    path = ground.path("nodesets", ground.names.node_set("slinky"))
    query = f"?fieldManager={manager}&force=true"
    head = {
        "apiVersion": NODE_SET.api_version,
        "kind": NODE_SET.name,
        "metadata": {"name": ground.names.node_set("slinky")},
    }
    ground.rig.api.ask("PATCH", f"{path}{query}", {**head, **thing}, "application/apply-patch+yaml")


def test_a_field_that_another_applies_is_left_to_it_and_its_name_is_shown(ground: Ground):
    apply_as(ground, "argocd", {"spec": {"controllerRef": {"name": ground.names.base}, "replicas": 2}})
    try:
        change = ground.edit(scaled(3))
        assert change.status == S.ROLLED_BACK, said(change)
        assert "argocd" in change.why
        assert "spec.replicas" in str(change.problems)
        assert ground.get(NODE_SET, ground.names.node_set("slinky"))["spec"]["replicas"] == 2
    finally:
        apply_as(ground, "argocd", {})


def test_a_field_that_a_hand_has_edited_is_taken_back(ground: Ground):
    path = ground.path("nodesets", ground.names.node_set("slinky"))
    config = {
        "spec": {"slurmd": {"image": "registry.invalid/slurmd:other"}, "updateStrategy": {"type": "OnDelete"}}
    }
    ground.rig.api.merge(f"{path}?fieldManager=kubectl-edit", config)
    change = ground.edit(scaled(3))
    assert change.status == S.COMMITTED, said(change)
    assert "registry.invalid" not in str(ground.get(NODE_SET, ground.names.node_set("slinky"))["spec"])


def test_a_quota_that_is_used_up_is_named_and_the_change_is_rolled_back(ground: Ground, monkeypatch):
    monkeypatch.setattr(run, "EDIT_S", 15)
    pods = len(ground.kube.list(POD, ground.names.namespace).items)
    quotas = ground.path("resourcequotas", group="api/v1")
    # A check's own pod is one more.
    hard = {"pods": str(pods), "count/configmaps": "1000"}
    ground.rig.api.create(quotas, {"metadata": {"name": "small"}, "spec": {"hard": hard}})
    path = ground.path("resourcequotas", "small", group="api/v1")
    assert until(lambda: "used" in ground.rig.api.get(path).get("status", {}))
    try:
        change = ground.edit(scaled(3))
        assert change.status == S.ROLLED_BACK, said(change)
        assert "quota" in change.why, said(change)
        assert "small" in change.why
    finally:
        ground.rig.api.delete(path)


def test_what_an_admission_webhook_refuses_is_shown_by_field_and_rolled_back(ground: Ground):
    words = "spec.replicas: Invalid value: 3: teams of this size may have 2"
    with refusing(
        ground.rig,
        ground.names.namespace,
        "nodesets",
        code=422,
        message=words,
        only=lambda thing: thing["spec"].get("replicas") == 3,
    ) as refusals:
        _until_asked(ground)
        change = ground.edit(scaled(3))
    assert refusals.asked
    assert change.status == S.ROLLED_BACK, said(change)
    assert "refusal.webhook.test" in change.why and "teams of this size may have 2" in change.why
    assert [problem["path"] for problem in change.problems] == ["spec.replicas"]


def _until_asked(ground: Ground) -> None:
    """The API server follows a new configuration within a second: until it refuses a dry run."""
    path = ground.path("nodesets", ground.names.node_set("slinky"))

    def refuses() -> bool:
        try:
            ground.rig.api.merge(f"{path}?dryRun=All", {"spec": {"replicas": 3}})
        except Refused as refusal:
            return "teams of this size" in str(refusal)
        return False

    assert until(refuses, 20)
