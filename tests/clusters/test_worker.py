"""The real worker: Celery's processes over real Redis, killed in the middle of an apply and started again."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clusters import opening
from clusters.machine import ChangeStatus
from clusters.models import Change
from tests.cast import fake, the_cast, the_region, tiny_cluster
from tests.clusters.polling import until
from tests.clusters.test_kill import edit, worker_environment

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(180)]
S = ChangeStatus


@contextmanager
def worker(directory: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A Celery worker with its beat, in a process group of its own."""
    command = [sys.executable, "-m", "celery", "-A", "tests.clusters.worker_app", "worker", "-B", "-c", "2"]
    command += [
        "-s",
        str(directory / "beat"),
        "--loglevel",
        "WARNING",
        "--without-mingle",
        "--without-gossip",
    ]
    with (directory / "worker.log").open("ab") as log:
        process = subprocess.Popen(
            command, env=worker_environment(), stdout=log, stderr=log, start_new_session=True
        )
    try:
        yield process
    finally:
        kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """The whole group at once, as a power cut would."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=10)


def status(change: Change) -> str:
    return Change.objects.values_list("status", flat=True).get(pk=change.pk)


def test_a_worker_killed_in_the_middle_of_an_apply_is_followed_by_another(tmp_path):
    hold = tmp_path / "hold"
    the_region(dir=str(tmp_path), hold=str(hold))
    cast = the_cast()
    cluster = tiny_cluster(cast.team)
    with worker(tmp_path) as first:
        hold.touch()
        change = edit(cluster, cast, "# half of this is written when the worker dies")
        assert until(lambda: "Wrote nodes.json." in said(change), 60), (tmp_path / "worker.log").read_text()
        kill(first)
    assert status(change) == S.APPLYING
    assert fake(cluster).world.files != fake(cluster).world.running
    hold.unlink()
    with worker(tmp_path):
        assert until(lambda: status(change) == S.COMMITTED, 60), said(change)
    assert fake(cluster).judge(change.revision.parsed).verdict == "done"


def test_a_lost_message_only_costs_a_moment(tmp_path, monkeypatch):
    """The change is written but Redis was away: the worker finds it by looking."""
    the_region(dir=str(tmp_path))
    cast = the_cast()
    cluster = tiny_cluster(cast.team)

    def away(*args: object, **kwargs: object) -> None:
        raise ConnectionError("Redis is away")

    monkeypatch.setattr(opening.apply_change, "apply_async", away)
    change = edit(cluster, cast, "# lost")
    with worker(tmp_path):
        assert until(lambda: status(change) == S.COMMITTED, 60), said(change)


def said(change: Change) -> str:
    return "\n".join(change.lines.values_list("text", flat=True))
