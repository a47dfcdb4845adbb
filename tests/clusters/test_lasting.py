"""How long a restart takes is found in what its parts say, and told by the next dialog."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from clusters import lasting
from clusters.access import Door
from clusters.acts import Edit, PartKind, Reboot, RestartPart
from clusters.impacts import preview
from clusters.models import Cluster
from clusters.observation import Observation, Part, PartState
from clusters.watch import watch_once
from slurm import operations, restarts
from tests.cast import Cast, a_node, fake, the_cast, tiny_cluster
from tests.fakes import FakeProvisioner

NOW = timezone.now()


@pytest.fixture
def cast(db: None) -> Cast:
    return the_cast()


@pytest.fixture
def cluster(cast: Cast) -> Cluster:
    return tiny_cluster(cast.team)


def worker(name: str, since: datetime, state: PartState = PartState.UP) -> Part:
    return Part("worker", name, state, since)


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def test_it_ends_when_the_last_of_its_parts_is_up(cluster: Cluster) -> None:
    lasting.begin(cluster, "restart workers", ["worker"], at=NOW)
    old, one, two = worker("slinky-1", at(-60)), worker("slinky-0", at(3)), worker("slinky-1", at(5))
    for parts in ((one, old), (one, replace(two, state=PartState.STARTING)), ()):
        lasting.finish(cluster, parts)
        assert cluster.operations.get().ended_at is None
    lasting.finish(cluster, (one, two, Part("login", "sshd", PartState.UP, at(-60))))
    assert cluster.operations.get().ended_at == at(5)


def test_the_dialog_says_how_long_the_last_ones_took(cluster: Cluster) -> None:
    act = Reboot(cluster.spec, ("slinky-0",))
    assert preview(cluster, act).takes_s is None
    for number, seconds in enumerate((4, 6, 20)):
        begun = at(number * 60)
        lasting.begin(cluster, "reboot", ["slinky-0"], at=begun)
        lasting.finish(cluster, [worker("slinky-0", begun + timedelta(seconds=seconds))])
    assert preview(cluster, act).takes_s == 6
    assert preview(cluster, RestartPart(cluster.spec, PartKind.LOGIN)).takes_s is None
    assert preview(cluster, Edit(cluster.spec, replace(cluster.spec, ssh_keys=("k",)))).takes_s is None


def test_what_never_came_back_is_forgotten_and_so_is_what_is_long_past(cluster: Cluster) -> None:
    lasting.begin(cluster, "reboot", ["slinky-9"], at=NOW - timedelta(hours=2))
    lasting.finish(cluster, [worker("slinky-0", NOW)])
    assert not cluster.operations.exists()
    for number in range(lasting.KEPT + 5):
        lasting.begin(cluster, "reboot", ["slinky-0"], at=at(number))
        lasting.finish(cluster, [worker("slinky-0", at(number))])
    assert cluster.operations.count() == lasting.KEPT


def test_restarts_and_reboots_that_begin_at_once_are_counted(cluster: Cluster, cast: Cast) -> None:
    a_node(cluster, "slinky-0")
    door = Door(cluster, cast.ada)
    restarts.restart(door, "controller")
    restarts.restart(door, "workers", when_idle=True)
    operations.reboot(door, ["slinky-0"])
    operations.reboot(door, ["slinky-0"], when_idle=True)
    found = {row.sort: row.targets for row in cluster.operations.all()}
    assert found == {"restart controller": ["controller"], "reboot": ["slinky-0"]}


@pytest.mark.parametrize(("seconds", "has_ended"), [(-1, False), (5, True)])
def test_the_watcher_finds_the_end(
    cluster: Cluster, cast: Cast, monkeypatch: pytest.MonkeyPatch, seconds: int, has_ended: bool
) -> None:
    restarts.restart(Door(cluster, cast.ada), "controller")
    since = cluster.operations.get().begun_at + timedelta(seconds=seconds)
    true_observe = FakeProvisioner.observe

    def observe(self: FakeProvisioner) -> Observation:
        seen = true_observe(self)
        return replace(seen, parts=tuple(replace(part, since=since) for part in seen.parts))

    monkeypatch.setattr(FakeProvisioner, "observe", observe)
    watch_once(cluster, fake(cluster))
    assert cluster.operations.get().ended_at == (since if has_ended else None)
