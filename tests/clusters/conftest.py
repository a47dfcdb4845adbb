"""What the tests of clusters share: the cast, a cluster that runs, and a stage that is cleared between
tests."""

from collections.abc import Iterator

import pytest

from clusters import rows, watch
from clusters.models import Change, Cluster
from clusters.run import run
from tests import fakes
from tests.cast import Cast, the_cast, the_region, tiny_cluster
from tests.fakes import HandClock


@pytest.fixture(autouse=True)
def _empty_stage(settings) -> Iterator[None]:
    """No recorder of the apps above, no worker, and no fake cluster left from another test."""
    settings.RECORDERS = ["clusters.watch.record"]
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
    settings.CELERY_TASK_ALWAYS_EAGER = False
    for held in (fakes.WORLDS, fakes.SCRIPTS, rows._memories):
        held.clear()
    cached = watch.recorders
    cached.cache_clear()
    yield
    cached.cache_clear()


@pytest.fixture
def cast(db) -> Cast:
    return the_cast()


@pytest.fixture
def region(db):
    return the_region()


@pytest.fixture
def cluster(cast: Cast) -> Cluster:
    return tiny_cluster(cast.team)


@pytest.fixture
def hand() -> HandClock:
    return HandClock()


@pytest.fixture
def carry(hand: HandClock):
    """Carry a change to its end on the hand-turned clock, and read it back."""

    def carry(change: Change) -> Change:
        run(change.pk, clock=hand.clock)
        return Change.objects.select_related("cluster__revision", "revision", "base").get(pk=change.pk)

    return carry
