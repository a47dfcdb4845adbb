"""A worker of ours killed as it writes to a region, and two at once: what remains is old or new, and never between."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from clusters import watch
from clusters.machine import LIVE, ChangeStatus
from clusters.models import Change
from clusters.run import run
from clusters.watcher import Watcher
from slurm.provisioners.slinky.adapter import Slinky
from tests.clusters.polling import until
from tests.clusters.test_kill import worker_environment
from tests.clusters.test_watcher import watching
from tests.kube.trouble.ground import Ground, limited, said

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(600, func_only=True)]
S = ChangeStatus
DEATHS = 8


class Mortal:
    """The process of `tests.kube.trouble.mortal`, spoken to line by line."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.kube.trouble.mortal"],
            env=worker_environment() | {"DJANGO_SETTINGS_MODULE": "console.settings"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def carry(self, change: Change, die_at: int = 0) -> int:
        """Let a worker carry `change` until its end or its death; the points that it passed, 0 if it died."""
        assert self.process.stdin and self.process.stdout
        print(change.pk, die_at, file=self.process.stdin, flush=True)
        return int(self.process.stdout.readline())

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(timeout=10)


@pytest.fixture
def mortal(ground: Ground) -> Iterator[Mortal]:
    mortal = Mortal()
    yield mortal
    mortal.close()


def expire(change: Change) -> None:
    """Let the dead worker's lease run out, without waiting for it."""
    past = timezone.now() - timedelta(seconds=1)
    Change.objects.filter(pk=change.pk, lease_until__isnull=False).update(lease_until=past)


def test_an_edit_killed_between_any_two_writes_ends_new_and_whole(ground: Ground, mortal: Mortal):
    """The points of a change of slurm.conf are many; the deaths are spread over them."""
    job = ground.a_job_on("slinky-1")
    points = mortal.carry(ground.propose(limited(61)))
    assert points > DEATHS
    died_in: set[str] = set()
    for n, die_at in enumerate(sorted({points * k // DEATHS for k in range(1, DEATHS)} | {1}), 62):
        change = ground.propose(limited(n))
        assert mortal.carry(change, die_at) == 0
        change.refresh_from_db()
        died_in.add(change.status)
        expire(change)
        change = ground.carry(change)
        assert change.status == S.COMMITTED, f"killed at {die_at}: {said(change)}"
        assert f"MaxTime=01:{n - 60:02d}:00" in ground.ask("scontrol", "show", "partition", "debug")
        assert until(lambda: ground.platform.provisioner.observe().drift == "")
    assert S.APPLYING in died_in and len(died_in) > 1
    assert ground.job_state(job) == "RUNNING"
    ground.end_job(job)


def test_of_two_workers_with_one_change_only_one_acts(ground: Ground, monkeypatch):
    change = ground.propose(limited(95))
    acting: set[int] = set()
    apply = Slinky.apply

    def noted(self, *args, **options):
        acting.add(threading.get_ident())
        apply(self, *args, **options)

    monkeypatch.setattr(Slinky, "apply", noted)
    start = threading.Barrier(2)

    def work() -> None:
        start.wait(10)
        try:
            run(change.pk)
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    change.refresh_from_db()
    assert change.status == S.COMMITTED, said(change)
    assert len(acting) == 1
    assert said(change).count("Checking before anything is touched.") == 1
    assert change.status not in LIVE


def test_of_two_watchers_only_one_looks_at_a_cluster(ground: Ground, monkeypatch):
    lookers: list[str] = []
    observe = Slinky.observe

    def noted(self):
        row = watch.Cluster.objects.get(pk=ground.row.pk)
        lookers.append(row.watch_token)
        return observe(self)

    monkeypatch.setattr(Slinky, "observe", noted)
    with watching(Watcher(0.2), Watcher(0.2)):
        assert until(lambda: len(lookers) >= 5, 60)
    assert len(set(lookers)) == 1 and lookers[0]
    assert set(ground.row.nodes.values_list("name", flat=True)) == {"slinky-0", "slinky-1"}
