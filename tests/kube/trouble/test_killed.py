"""A worker of ours killed as it writes to a region, and two at once: what remains is old or new, and never between."""

import signal
import subprocess
import sys
import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from clusters import watch
from clusters.machine import LIVE, ChangeStatus
from clusters.models import Change
from clusters.run import run
from clusters.watcher import Watcher
from slurm.kube.kinds import CONTROLLER
from slurm.provisioners.slinky.adapter import Slinky
from tests.clusters.polling import until
from tests.clusters.test_kill import worker_environment
from tests.clusters.test_watcher import watching
from tests.kube.trouble.ground import Ground, limited, said

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(300, func_only=True)]
S = ChangeStatus
DEATHS = 8


def carry_mortal(change: Change, die_at: int = 0) -> int:
    """The points that a worker passed; 0 when it died."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.kube.trouble.mortal", str(change.pk), str(die_at)],
        env=worker_environment() | {"DJANGO_SETTINGS_MODULE": "console.settings"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr[-2000:]
    return int(done.stdout or 0) if done.returncode == 0 else 0


def expire(change: Change) -> None:
    """Let the dead worker's lease run out, without waiting for it."""
    past = timezone.now() - timedelta(seconds=1)
    Change.objects.filter(pk=change.pk, lease_until__isnull=False).update(lease_until=past)


def test_an_edit_killed_between_any_two_writes_ends_new_and_whole(ground: Ground):
    """A change of slurm.conf is some thirty points; the deaths are spread over them."""
    job = ground.a_job_on("slinky-1")
    points = carry_mortal(ground.propose(limited(61)))
    assert points > DEATHS
    died = 0
    for n, die_at in enumerate(range(1, points + 1, max(1, points // DEATHS))):
        minutes = 62 + n
        change = ground.propose(limited(minutes))
        died += not carry_mortal(change, die_at)
        expire(change)
        change = ground.carry(change)
        assert change.status == S.COMMITTED, f"killed at {die_at}: {said(change)}"
        assert f"MaxTime=01:{minutes - 60:02d}:00" in ground.ask("scontrol", "show", "partition", "debug")
        assert f"MaxTime=1:{minutes - 60:02d}:00" in conf(ground) or f"{minutes}" in conf(ground)
        assert ground.platform.provisioner.judge(limited(minutes)).verdict == "done"
        assert ground.platform.provisioner.observe().drift == ""
    assert died >= DEATHS
    assert ground.job_state(job) == "RUNNING"
    ground.end_job(job)


def conf(ground: Ground) -> str:
    return str(ground.get(CONTROLLER, ground.names.base)["spec"]["extraConf"])


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
