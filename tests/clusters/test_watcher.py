"""The watcher process: it shares clusters, lets none slow another, and outlives its database and its platform."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from clusters import watcher as module
from clusters.lifecycle import Status
from clusters.models import Cluster
from clusters.watcher import Watcher
from console import live
from tests import fakes
from tests.cast import fake, the_cast, tiny_cluster, tiny_spec
from tests.clusters.polling import until

pytestmark = pytest.mark.django_db(transaction=True)
TICK_S = 0.1


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(module, "CLAIM_EVERY_S", 0.05)
    monkeypatch.setattr(module, "SLOW_S", 0.4)
    monkeypatch.setattr(live, "_send", lambda topic, message: None)


@pytest.fixture
def team():
    return the_cast().team


def clusters_of(team, count: int) -> list[Cluster]:
    return [tiny_cluster(team, spec=tiny_spec(f"tiny{n}")) for n in range(count)]


@contextmanager
def watching(*watchers: Watcher) -> Iterator[None]:
    stop = threading.Event()

    def one(watcher: Watcher) -> None:
        try:
            watcher.run(stop)
        finally:
            connection.close()

    threads = [threading.Thread(target=one, args=(watcher,)) for watcher in watchers]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(timeout=10)


def looked_at_since(cluster: Cluster, moment) -> bool:
    cluster.refresh_from_db()
    return cluster.observed_at is not None and cluster.observed_at > moment


def test_every_watched_cluster_is_looked_at_again_and_again(team):
    clusters = clusters_of(team, 3)
    with watching(Watcher(TICK_S)):
        for _ in range(2):
            moment = timezone.now()
            assert all(until(lambda c=c, since=moment: looked_at_since(c, since)) for c in clusters)


@pytest.mark.parametrize("status", [Status.TERMINATED, Status.DELETING, Status.DELETED])
def test_ended_clusters_are_not_looked_at(team, status):
    ended, live_one = clusters_of(team, 2)
    ended.enter(status)
    with watching(Watcher(TICK_S)):
        assert until(lambda: looked_at_since(live_one, timezone.now() - timedelta(hours=1)))
    ended.refresh_from_db()
    assert ended.tried_at is None


def test_two_watchers_share_the_clusters(team):
    clusters_of(team, 4)
    first, second = Watcher(TICK_S, most_clusters=2), Watcher(TICK_S, most_clusters=2)
    with watching(first, second):
        assert until(lambda: len(first.held) == len(second.held) == 2)
        assert not first.held.keys() & second.held.keys()


def test_a_dead_watchers_clusters_are_taken_over_when_its_hold_runs_out(team):
    (cluster,) = clusters_of(team, 1)
    Cluster.objects.update(watch_token="dead", watch_until=timezone.now() + timedelta(seconds=0.5))
    with watching(Watcher(TICK_S)):
        assert until(lambda: looked_at_since(cluster, timezone.now() - timedelta(seconds=5)))
        cluster.refresh_from_db()
        assert cluster.watch_token != "dead"


def test_a_watcher_that_stops_lets_go_at_once(team):
    (cluster,) = clusters_of(team, 1)
    with watching(Watcher(TICK_S)):
        assert until(lambda: looked_at_since(cluster, timezone.now() - timedelta(hours=1)))
    cluster.refresh_from_db()
    assert (cluster.watch_token, cluster.watch_until) == ("", None)


def test_a_cluster_that_hangs_delays_no_other_and_its_page_says_so(team, monkeypatch):
    sick, well = clusters_of(team, 2)
    hang = threading.Event()
    observe = fakes.FakeProvisioner.observe

    def stuck(self):
        if self.ref.key == sick.key:
            hang.wait(20)
        return observe(self)

    monkeypatch.setattr(fakes.FakeProvisioner, "observe", stuck)
    with watching(Watcher(TICK_S)):
        for _ in range(3):
            moment = timezone.now()
            assert until(lambda since=moment: looked_at_since(well, since), 2)
        assert until(lambda: "has not answered for" in Cluster.objects.get(pk=sick.pk).observed_problem)
        hang.set()
        assert until(lambda: Cluster.objects.get(pk=sick.pk).observed_problem == "")


def test_an_adapter_that_breaks_its_promise_is_told_on_the_page_and_asked_again(team, monkeypatch):
    (cluster,) = clusters_of(team, 1)
    observe = fakes.FakeProvisioner.observe
    monkeypatch.setattr(fakes.FakeProvisioner, "observe", lambda self: 1 / 0)
    with watching(Watcher(TICK_S)):
        assert until(lambda: "ZeroDivisionError" in Cluster.objects.get(pk=cluster.pk).observed_problem)
        monkeypatch.setattr(fakes.FakeProvisioner, "observe", observe)
        assert until(lambda: Cluster.objects.get(pk=cluster.pk).observed_problem == "")


def test_a_database_that_was_away_is_used_again(team, monkeypatch):
    (cluster,) = clusters_of(team, 1)
    watcher, update = Watcher(TICK_S), module.watch_once

    def away(*args: object) -> None:
        raise OperationalError("the server closed the connection unexpectedly")

    with watching(watcher):
        assert until(lambda: looked_at_since(cluster, timezone.now() - timedelta(hours=1)))
        monkeypatch.setattr(module, "watch_once", away)
        monkeypatch.setattr(watcher, "_claim", away)
        time.sleep(3 * TICK_S)
        monkeypatch.undo()
        monkeypatch.setattr(live, "_send", lambda topic, message: None)
        assert module.watch_once is update
        moment = timezone.now()
        assert until(lambda: looked_at_since(cluster, moment))


def test_a_connection_cut_under_the_watcher_is_made_anew(team):
    (cluster,) = clusters_of(team, 1)
    with watching(Watcher(TICK_S)):
        assert until(lambda: looked_at_since(cluster, timezone.now() - timedelta(hours=1)))
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        moment = timezone.now()
        assert until(lambda: looked_at_since(cluster, moment))


def test_the_provisioner_is_kept_between_looks_until_its_region_changes(team):
    (cluster,) = clusters_of(team, 1)
    held = module.Held(cluster.pk, due=0)
    first = held.provisioner(cluster)
    assert held.provisioner(cluster) is first
    cluster.region.config = {"other": 1}
    assert held.provisioner(cluster) is not first
    assert fake(cluster).ref.region == {"other": 1}
