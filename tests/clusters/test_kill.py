"""Workers killed with SIGKILL at every point of the pipeline: what remains is the old cluster or the new one.

The platform is the fake one with its disk in a file, which a kill leaves torn between old and new files as a real disk
would be. Each death is followed by another worker, which sometimes dies as well.
"""

import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone

from clusters import changes
from clusters.conflicts import Busy
from clusters.lifecycle import Status
from clusters.machine import LIVE, ChangeStatus
from clusters.models import Change, Cluster
from clusters.spec import PartitionSpec
from console.models import Event
from tests.cast import Cast, fake, the_cast, the_region, tiny_cluster, tiny_spec
from tests.fakes import DEADLY_LINE

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(900)]
S = ChangeStatus
DEATHS = 20
SIGKILL = 9


def worker_environment() -> dict[str, str]:
    """This process's own, with the test database and settings that know the fake platform."""
    url, name = urlsplit(settings.DATABASE_URL), connection.settings_dict["NAME"]
    return {
        **os.environ,
        "DATABASE_URL": f"{url.scheme}://{url.netloc}/{name}?{url.query}",
        "DJANGO_SETTINGS_MODULE": "tests.clusters.worker_settings",
    }


class Mortal:
    """The process of `tests.clusters.mortal`, spoken to line by line."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.clusters.mortal"],
            env=worker_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def carry(self, change: Change, *, die_at: int = 0, waits: int = 0) -> int:
        """Let a worker carry `change` until its end or its death; the number of points it passed, 0 if it died."""
        assert self.process.stdin and self.process.stdout
        order = {"change": change.pk, "die_at": die_at, "waits": waits}
        print(json.dumps(order), file=self.process.stdin, flush=True)
        answer = json.loads(self.process.stdout.readline())
        assert answer["signal"] in (0, SIGKILL)
        return int(answer["points"])

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(timeout=10)


@pytest.fixture
def mortal() -> Iterator[Mortal]:
    mortal = Mortal()
    yield mortal
    mortal.close()


@pytest.fixture
def cast() -> Cast:
    return the_cast()


@pytest.fixture
def cluster(cast: Cast, tmp_path: Path) -> Cluster:
    the_region(dir=str(tmp_path))
    return tiny_cluster(cast.team)


def expire(change: Change) -> None:
    """Let the dead worker's lease run out, without waiting for it."""
    Change.objects.filter(pk=change.pk, lease_until__isnull=False).update(
        lease_until=timezone.now() - timedelta(seconds=1)
    )


def is_torn(cluster: Cluster) -> bool:
    """Whether the disk holds neither what was before nor what is wanted."""
    files = dict(fake(cluster).world.files)
    specs = [revision.parsed for revision in cluster.revisions.all()]
    return files not in [fake(cluster).render(spec) for spec in specs]


def assert_whole(cluster: Cluster, change: Change, status: ChangeStatus, number: int) -> None:
    """The cluster is what revision `number` says, in the database and on its disk, and everything is told once."""
    cluster.refresh_from_db()
    change.refresh_from_db()
    world, current = fake(cluster).world, cluster.revision
    assert change.status == status
    assert current is not None and current.number == number
    assert world.files == world.running == fake(cluster).render(current.parsed)
    assert cluster.status == Status.RUNNING
    assert not cluster.changes.filter(status__in=LIVE).exists()
    told = Event.objects.filter(
        cluster=cluster.slug, target=f"change {change.number}", verb=f"change.{status}"
    )
    assert told.count() == 1


# What is typed, how it ends, and the steps in which workers must have died.
SCENARIOS = {
    "committed": ("# round {n}", S.COMMITTED, {S.PROPOSED, S.CHECKING, S.APPLYING, S.OBSERVING}),
    "rolled back": (
        f"# round {{n}}\n{DEADLY_LINE}",
        S.ROLLED_BACK,
        {S.PROPOSED, S.CHECKING, S.APPLYING, S.ROLLING_BACK},
    ),
}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_an_edit_killed_anywhere_ends_old_or_new_and_never_between(scenario, cluster, cast, mortal):
    text, ending, steps = SCENARIOS[scenario]
    deaths: Counter[str] = Counter()
    at: dict[int, str] = {}
    torn, dice = 0, random.Random(scenario)

    def one(n: int, die_at: int) -> str:
        nonlocal torn
        cluster.refresh_from_db()
        before = cluster.revision.number
        change = edit(cluster, cast, text.format(n=n))
        mortal.carry(change, die_at=die_at, waits=2)
        died_in = Change.objects.values_list("status", flat=True).get(pk=change.pk)
        torn += is_torn(cluster)
        if died_in in LIVE:
            deaths[died_in] += 1
            expire(change)
            survived = mortal.carry(change, die_at=dice.choice((0, 0, dice.randrange(1, 60))))
            # A second death may come after the end is written, when only the lease was still to be given back.
            if not survived and Change.objects.filter(pk=change.pk, status__in=LIVE).exists():
                with pytest.raises(Busy):
                    edit(cluster, cast, "# another")
                expire(change)
                mortal.carry(change)
        number = change.revision.number if ending is S.COMMITTED else before
        assert_whole(cluster, change, ending, number)
        return died_in

    points = mortal.carry(edit(cluster, cast, text.format(n=0)), waits=2)
    for point in range(1, points + 1, 1 if ending is S.COMMITTED else 2):
        at[point] = one(point, point)
    for n in range(points * 3):
        rare = [point for point, status in at.items() if status in LIVE and deaths[status] < DEATHS]
        if not rare:
            break
        one(points + n + 1, rare[n % len(rare)])
    print(f"\n{scenario}: {sum(deaths.values())} deaths {dict(deaths)}, disk torn {torn} times")
    assert {status: n for status, n in deaths.items() if n < DEATHS} == {}
    assert set(deaths) == steps
    assert torn > 0, "no kill tore the disk: the test does not reach between two writes"


def test_a_creation_killed_anywhere_ends_in_a_running_cluster(cast, tmp_path, mortal):
    region = the_region(dir=str(tmp_path))
    first = changes.create_cluster(cast.team, region, tiny_spec("fresh"), by=cast.ada)
    points = mortal.carry(first.changes.get(), waits=1)
    for point in range(1, points + 1, 3):
        cluster = changes.create_cluster(cast.team, region, tiny_spec(f"fresh{point}"), by=cast.ada)
        change = cluster.changes.get()
        mortal.carry(change, die_at=point, waits=1)
        expire(change)
        mortal.carry(change)
        assert_whole(cluster, change, S.COMMITTED, 1)


def test_a_termination_killed_anywhere_leaves_nothing_running(cast, tmp_path, mortal):
    the_region(dir=str(tmp_path))
    first = tiny_cluster(cast.team)
    points = mortal.carry(changes.terminate(first, by=cast.ada))
    for point in range(1, points + 1, 3):
        cluster = tiny_cluster(cast.team, spec=tiny_spec(f"tiny{point}"))
        change = changes.terminate(cluster, by=cast.ada)
        mortal.carry(change, die_at=point)
        expire(change)
        mortal.carry(change)
        cluster.refresh_from_db()
        change.refresh_from_db()
        assert (change.status, cluster.status) == (S.COMMITTED, Status.TERMINATED)
        assert not fake(cluster).world.running


def edit(cluster: Cluster, cast: Cast, text: str) -> Change:
    """A change of two files, so that a kill between them tears the disk."""
    cluster.refresh_from_db()
    limit = 61 + cluster.changes.count()
    partitions = (PartitionSpec("debug", "slinky-0", max_time_minutes=limit),)
    spec = cluster.spec.with_slurm_conf(text).with_partitions(partitions)
    return changes.propose(cluster, spec, base=cluster.revision.number, by=cast.ada)
