"""The region's kubeconfig: expired, rotated, or with too few rights."""

import re
from datetime import timedelta

import pytest

from clusters.machine import ChangeStatus
from clusters.models import Change
from clusters.watch import watch_once
from console import secrets
from slurm.provisioners.slinky.permissions import cluster_role
from slurm.provisioners.slinky.region import KUBECONFIG, RegionSettings
from tests.clusters.polling import until
from tests.kube.trouble.ground import REGION, Ground, limited, said

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(240, func_only=True)]
S = ChangeStatus


def seal(kubeconfig: str) -> None:
    secrets.put(f"region:{REGION}", KUBECONFIG, kubeconfig.encode())


def test_an_expired_kubeconfig_is_said_and_a_new_one_heals_without_a_restart(ground: Ground):
    watch_once(ground.cluster)
    nodes = set(ground.row.nodes.values_list("name", flat=True))
    seal(ground.rig.kubeconfig(lifetime=timedelta(hours=-1)))
    watch_once(ground.cluster)
    assert "does not accept the region's credential" in ground.cluster.observed_problem
    assert set(ground.row.nodes.values_list("name", flat=True)) == nodes
    seal(ground.rig.kubeconfig())
    watch_once(ground.cluster)
    assert ground.cluster.observed_problem == ""


def test_a_change_waits_for_a_rotated_kubeconfig_and_commits(ground: Ground):
    seal(ground.rig.kubeconfig(lifetime=timedelta(hours=-1)))

    def rotate(change: Change) -> None:
        if "does not accept the region's credential" in said(change):
            seal(ground.rig.kubeconfig())

    change = ground.edit(limited(70), rotate)
    assert "does not accept the region's credential" in said(change)
    assert change.status == S.COMMITTED, said(change)


def test_too_few_rights_are_named_by_verb_and_resource_and_nothing_is_half_done(ground: Ground):
    rules = [
        rule
        for rule in cluster_role(RegionSettings())["rules"]
        if "slinky.slurm.net" not in rule["apiGroups"]
    ]
    reading = {"apiGroups": ["slinky.slurm.net"], "resources": ["*"], "verbs": ["get", "list", "watch"]}
    ground.rig.allow("weak", [*rules, reading])
    seal(ground.rig.kubeconfig("weak"))
    try:
        change = ground.edit(limited(85))
        assert change.status in (S.ROLLED_BACK, S.STUCK), said(change)
        assert "(weak) may not patch" in change.why and ".slinky.slurm.net" in change.why
        ground.rig.allow("weak", [])
        # Which of the questions is refused first is chance; each names its verb and its resource.
        named = re.compile(r"\(weak\) may not (list|watch|get|create) [a-z/.]+ in ")
        assert until(lambda: named.search(_problem(ground)) is not None, 20), _problem(ground)
    finally:
        ground.rig.allow("weak", [])


def _problem(ground: Ground) -> str:
    watch_once(ground.cluster)
    return str(ground.cluster.observed_problem)
