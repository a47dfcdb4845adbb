"""What the tests of slurm share: the cast, a cluster that runs, and memories that are cleared between tests."""

from collections.abc import Iterator

import pytest

from clusters.models import Cluster
from slurm import rows, watch
from tests import fakes
from tests.cast import Cast, the_cast, tiny_cluster


@pytest.fixture(autouse=True)
def _empty_memories(settings) -> Iterator[None]:
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
    for held in (fakes.WORLDS, fakes.SCRIPTS, rows._memories, watch._pruned_at):
        held.clear()
    yield


@pytest.fixture
def cast(db) -> Cast:
    return the_cast()


@pytest.fixture
def cluster(cast: Cast) -> Cluster:
    """Held by a watcher, so that rows are remembered between looks."""
    made = tiny_cluster(cast.team)
    made.watch_token = "ours"
    made.save()
    return made
