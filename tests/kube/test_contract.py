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
from tests.kube.rig.admin import Admin, slinky_crds

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def prefix() -> str:
    return f"contract-{uuid.uuid4().hex[:6]}"


@pytest.fixture(scope="module")
def platform(
    kubernetes: Admin,
    kube: Kube,
    double: Double,  # noqa: F811
    prefix: str,
) -> Iterator[SlinkyPlatform]:
    """A cluster that any test may make into what it needs; it ends with the suite."""
    kubernetes.install(slinky_crds())
    adapter = slinky_on(kube, prefix)
    double.mind(adapter.site.names.namespace)
    yield SlinkyPlatform(adapter, double)
    adapter.terminate(lambda text: None)
    adapter.destroy(lambda text: None)
    remove_namespace(kube, adapter.site.names.namespace)


@pytest.fixture
def nothing(kubernetes: Admin, kube: Kube, prefix: str) -> Provisioner:
    """A cluster that never was."""
    kubernetes.install(slinky_crds())
    return slinky_on(kube, prefix, "ccontract9999")
