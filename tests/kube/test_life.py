"""The pipeline and the watcher over Slinky on a real API server: a cluster created, changed, broken, and ended."""

import uuid
from collections.abc import Iterator
from dataclasses import replace

import pytest

from clusters import answers, changes
from clusters.lifecycle import Status
from clusters.machine import ChangeStatus
from clusters.models import Cluster, Image
from clusters.spec import NodeGroup
from clusters.watch import watch_once
from console import secrets
from slurm.kube.client import Kube
from slurm.provisioners.slinky.adapter import Slinky
from slurm.provisioners.slinky.region import KUBECONFIG
from tests.cast import Cast, the_cast, the_region
from tests.clusters.polling import until
from tests.contracts import test_life as sandbox
from tests.contracts.test_life import (
    CPU_SHAPE,
    GPU_SHAPE,
    a_running_job,
    ask,
    carry,
    edit,
    fresh,
    job_state,
    said,
)
from tests.kube.clusters import remove_namespace
from tests.kube.double.fixture import double  # noqa: F401
from tests.kube.double.operator import Double
from tests.kube.rig.admin import Admin, slinky_crds

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(420)]
S = ChangeStatus
LIFE = replace(sandbox.LIFE, image="slurm-26-05", slurm_version="26.05")
DEADLY = f"{LIFE.slurm_conf}PrologFlags=NoSuchFlag\n"


@pytest.fixture
def cast() -> Cast:
    return the_cast()


@pytest.fixture
def cluster(
    cast: Cast,
    kubernetes: Admin,
    kube: Kube,
    double: Double,  # noqa: F811
) -> Iterator[Cluster]:
    """A created cluster in a region of the rig. Ended afterwards whatever the test has met."""
    kubernetes.install(slinky_crds())
    region, prefix = the_region(), f"life-{uuid.uuid4().hex[:6]}"
    region.provisioner, region.config = "slinky", {"namespace_prefix": prefix}
    region.save()
    Image.objects.get_or_create(slug=LIFE.image, defaults={"name": "Slurm 26.05", "slurm_version": "26.05"})
    secrets.put(f"region:{region.slug}", KUBECONFIG, kubernetes.api.kubeconfig.encode())
    for shape in (GPU_SHAPE, CPU_SHAPE):
        region.plans.filter(slug=shape.plan).update(
            gpus=shape.gpus, cpus=shape.cpus, memory_mib=shape.memory_mib, gpu_model=shape.gpu_model
        )
    double.mind(f"{prefix}-{cast.team.slug}")
    cluster = changes.create_cluster(cast.team, region, LIFE, by=cast.ada)
    try:
        change = carry(cluster.changes.get())
        assert change.status == S.COMMITTED, said(change)
        yield fresh(cluster)
    finally:
        cluster.provisioner.terminate(lambda text: None)
        cluster.provisioner.destroy(lambda text: None)
        remove_namespace(kube, f"{prefix}-{cast.team.slug}")


def grown(*ordinals: int):
    return replace(LIFE, groups=(NodeGroup("slinky", GPU_SHAPE, ordinals), LIFE.groups[1]))


def test_a_cluster_is_created_changed_broken_rolled_back_and_ended(cluster, cast, monkeypatch):
    watch_once(cluster)
    assert fresh(cluster).status == Status.RUNNING
    nodes = {node.name: node for node in cluster.nodes.all()}
    assert set(nodes) == set(LIFE.node_names)
    assert all(node.machine and node.machine_state == "Ready" for node in nodes.values())

    change = edit(cluster, cast, grown(0, 1, 2))
    assert change.status == S.COMMITTED, said(change)
    assert "slinky-2" in ask(cluster, "sinfo", "-h", "-N", "-o", "%N")

    monkeypatch.setattr(Slinky, "check", lambda self, spec, shadow=True: ())
    job = a_running_job(cluster)
    change = edit(fresh(cluster), cast, grown(0, 1, 2).with_slurm_conf(DEADLY))
    assert change.status == S.ROLLED_BACK, said(change)
    assert "NoSuchFlag" in change.why
    assert cluster.provisioner.judge(grown(0, 1, 2)).verdict == "done"
    assert job_state(cluster, job) == "RUNNING"

    change = carry(changes.terminate(fresh(cluster), by=cast.ada))
    assert change.status == S.COMMITTED, said(change)
    assert fresh(cluster).status == Status.TERMINATED


def test_a_scale_in_waits_for_jobs_for_as_long_as_they_take_and_can_be_given_up(cluster, cast):
    job = a_running_job(cluster, "-w", "slinky-1")
    change = edit(cluster, cast, grown(0))
    assert change.status == S.OBSERVING and change.rests, said(change)
    assert job in change.waits_for

    answers.cancel(change, by=cast.ada)
    change = carry(change)
    assert change.status == S.STOPPED, said(change)
    assert job_state(cluster, job) == "RUNNING"

    change = edit(fresh(cluster), cast, grown(0))
    assert change.rests, said(change)
    ask(cluster, "scancel", job)

    def is_over() -> bool:
        return carry(change).status == S.COMMITTED

    assert until(is_over, 60), said(change)
    assert set(
        cluster.provisioner.observe().nodes and [n.name for n in cluster.provisioner.observe().nodes]
    ) == set(grown(0).node_names)
