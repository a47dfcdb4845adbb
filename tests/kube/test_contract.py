"""The contract of provisioners (`tests/contracts/test_provisioner.py`), held against Slinky on a real API server."""

import uuid
from collections.abc import Iterator

import pytest

from clusters.provisioner import Provisioner
from slurm.kube.client import Kube
from tests.contracts.test_provisioner import *  # noqa: F403
from tests.kube.clusters import SlinkyPlatform, remove_namespace, slinky_on
from tests.kube.double.fixture import double  # noqa: F401
from tests.kube.double.operator import Double

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def prefix() -> str:
    return f"contract-{uuid.uuid4().hex[:6]}"


@pytest.fixture(scope="module")
def platform(kube: Kube, double: Double, prefix: str) -> Iterator[SlinkyPlatform]:  # noqa: F811
    """A cluster that any test may make into what it needs; it ends with the suite."""
    adapter = slinky_on(kube, prefix)
    double.mind(adapter.site.names.namespace)
    yield SlinkyPlatform(adapter, double)
    adapter.terminate(lambda text: None)
    adapter.destroy(lambda text: None)
    remove_namespace(kube, adapter.site.names.namespace)


@pytest.fixture
def nothing(kube: Kube, prefix: str) -> Provisioner:
    """A cluster that never was."""
    return slinky_on(kube, prefix, "ccontract9999")
