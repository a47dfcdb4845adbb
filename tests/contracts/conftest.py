"""One cluster a platform for the whole suite: real daemons take seconds to start."""

from collections.abc import Callable, Iterator

import pytest
from django.conf import settings

from clusters.provisioner import Provisioner
from slurm.provisioners.sandbox.adapter import Sandbox
from tests import fakes
from tests.contracts.platforms import FakePlatform, Platform, SandboxPlatform, ref
from tests.fakes import FakeProvisioner

KINDS: dict[str, tuple[Callable[..., Provisioner], type[Platform]]] = {
    "fake": (FakeProvisioner, FakePlatform),
    "sandbox": (Sandbox, SandboxPlatform),
}


@pytest.fixture(scope="package", params=sorted(KINDS))
def kind(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Each platform in turn, its clusters in a directory of this run."""
    kept, settings.VAR_DIR = settings.VAR_DIR, tmp_path_factory.mktemp("contract")
    fakes.WORLDS.clear()
    yield request.param
    settings.VAR_DIR = kept


@pytest.fixture(scope="package")
def platform(kind: str) -> Iterator[Platform]:
    """A cluster that any test may make into what it needs; it ends with the suite."""
    adapter, platform = KINDS[kind]
    made = platform(adapter(ref("ccontract0001")))
    yield made
    made.provisioner.terminate(lambda text: None)
    made.provisioner.destroy(lambda text: None)


@pytest.fixture
def nothing(kind: str) -> Provisioner:
    """A cluster that never was."""
    return KINDS[kind][0](ref("ccontract9999"))
