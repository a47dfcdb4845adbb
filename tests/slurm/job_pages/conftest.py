"""One cluster whose commands are played, and people of each role at its pages of jobs."""

from collections.abc import Callable, Iterator

import pytest
from django.test import Client

from clusters.models import Cluster, Node, Partition
from console.roles import Role
from tests.slurm.fake_slurm import FakeExecutor, FakeProvisioner
from tests.slurm.job_rows import make_cluster, make_member


@pytest.fixture
def cluster(db: None, settings) -> Cluster:
    settings.PROVISIONERS = {"sandbox": "tests.slurm.fake_slurm.FakeProvisioner"}
    made = make_cluster()
    Partition.objects.create(cluster=made, name="all", state="UP", is_default=True, total_nodes=2)
    Node.objects.create(
        cluster=made,
        name="slinky-0",
        group="slinky",
        state="idle",
        health="ok",
        cpus=64,
        cpus_allocated=0,
        memory_mib=1,
        memory_allocated_mib=0,
        gpus=8,
        gpus_allocated=0,
        partitions=["all"],
    )
    return made


@pytest.fixture(autouse=True)
def hands() -> Iterator[FakeExecutor]:
    """What runs the cluster's commands, fresh for each test."""
    FakeProvisioner.hands = FakeExecutor()
    yield FakeProvisioner.hands


@pytest.fixture
def as_role(cluster: Cluster) -> Callable[[Role], Client]:
    def sign_in(role: Role) -> Client:
        client = Client()
        client.force_login(make_member(f"the-{role.value}", role, cluster.team))
        return client

    return sign_in
