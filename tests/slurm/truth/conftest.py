"""One cluster of real daemons for all the acts whose impact is held against what then happens."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from slurm.provisioners.sandbox.space import stop_keeper
from tests.slurm.truth.stage import KEY, Stage, the_stage


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The cluster's directory; the daemons are started by the first test and end with the last."""
    kept, settings.VAR_DIR = settings.VAR_DIR, tmp_path_factory.mktemp("truth")
    home = Path(settings.VAR_DIR) / "clusters" / KEY
    yield home
    stop_keeper(home)
    settings.VAR_DIR = kept


@pytest.fixture
def stage(home: Path, db: None) -> Iterator[Stage]:
    """The cluster as it was first made, nothing in its queue and every node idle; rows of it in the database."""
    made = the_stage()
    made.restore()
    yield made
