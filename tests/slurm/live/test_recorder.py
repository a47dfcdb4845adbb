"""From a real queue to rows and fragments."""

import pytest
from django.db import transaction

from slurm.client import Slurm
from slurm.memory import forget
from slurm.models import Job
from slurm.observe import observe_slurm
from slurm.watch import record
from tests.slurm.live.conftest import SLEEP, until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def tick(cluster, slurm):
    watching = Slurm(slurm.executor, remember=cluster.key)

    def tick():
        seen = observe_slurm(watching, {"slinky-0": "e2e_node_1"}, lambda name: "")
        assert seen.problem == ""
        with transaction.atomic():
            return record(cluster, seen)

    yield tick
    forget(cluster.key)


def test_a_job_is_followed_from_waiting_to_cancelled(slurm, tick):
    number = slurm.submit(SLEEP, ["-H", "--job-name=a\nb", "--gres=gpu:2"])
    tick()
    row = Job.objects.get(number=number)
    assert (row.state, row.name, row.gpus) == ("PENDING", "a\nb", 2) and row.why.startswith("Held")
    slurm.release([str(number)])
    until(lambda: tick() and Job.objects.get(pk=row.pk).state == "RUNNING")
    slurm.cancel([str(number)])
    until(lambda: tick() and Job.objects.get(pk=row.pk).is_finished)
    row.refresh_from_db()
    assert (row.state, row.why, row.nodes) == ("CANCELLED", "Cancelled.", "slinky-0")
    until(lambda: tick() is None)
