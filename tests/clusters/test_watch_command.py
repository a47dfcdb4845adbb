"""`manage.py watch` as the process that it is: it looks, lets go when told to stop, and is replaced when killed."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.utils import timezone

from clusters.models import Cluster
from tests.cast import the_cast, the_region, tiny_cluster
from tests.clusters.polling import until
from tests.clusters.test_kill import worker_environment

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(180)]


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    the_region(dir=str(tmp_path))
    return tiny_cluster(the_cast().team)


@contextmanager
def watching(directory: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "watch", "--clusters", "4"]
    environment = {**worker_environment(), "QUARTERDECK_WATCH_TICK": "0.2"}
    with (directory / "watch.log").open("ab") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.kill()
        process.wait(timeout=10)


def is_looked_at(cluster: Cluster) -> bool:
    moment = timezone.now()
    return until(lambda: (Cluster.objects.get(pk=cluster.pk).observed_at or moment) > moment, 40)


def test_it_looks_and_lets_go_when_told_to_stop(cluster, tmp_path):
    with watching(tmp_path) as process:
        assert is_looked_at(cluster), (tmp_path / "watch.log").read_text()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0
    cluster.refresh_from_db()
    assert cluster.watch_token == ""
    assert cluster.nodes.count() == 3


def test_a_killed_one_is_replaced_when_its_hold_runs_out(cluster, tmp_path):
    with watching(tmp_path) as process:
        assert is_looked_at(cluster)
        os.kill(process.pid, signal.SIGKILL)
        process.wait(timeout=10)
    cluster.refresh_from_db()
    assert cluster.watch_token
    Cluster.objects.update(watch_until=timezone.now() + timedelta(seconds=1))
    with watching(tmp_path):
        assert is_looked_at(cluster)
