"""A rig of our own to break, the double on it, and one small cluster for all these tests.

The cluster outlives the tests; their database does not. So each test writes the cluster's rows anew, as they stand
after a creation, and first brings the cluster back to what they say.
"""

import os
import uuid
from collections.abc import Iterator

import pytest

from clusters.lifecycle import Status
from clusters.models import Cluster
from clusters.spec import to_json
from console import secrets
from slurm.provisioners.slinky.region import KUBECONFIG
from tests.cast import Cast, the_cast, the_region
from tests.kube.clusters import CA, SlinkyPlatform, remove_namespace, slinky_on
from tests.kube.conftest import OTHER
from tests.kube.double.operator import Double
from tests.kube.double.switches import flip
from tests.kube.rig.rig import Rig
from tests.kube.trouble.ground import KEY, REGION, SPEC, SWITCHES, Ground


@pytest.fixture(scope="session")
def standing(request: pytest.FixtureRequest) -> Iterator[SlinkyPlatform]:
    """The cluster as it stands in the API, with real Slurm behind its pods."""
    if OTHER in os.environ:
        pytest.skip(f"this breaks the API server, so it wants a rig of its own: unset {OTHER}")
    request.getfixturevalue("rig")
    double: Double = request.getfixturevalue("double")
    adapter = slinky_on(request.getfixturevalue("kube"), f"trouble-{uuid.uuid4().hex[:6]}", KEY)
    double.mind(adapter.site.names.namespace)
    platform = SlinkyPlatform(adapter, double)
    platform.make(SPEC)
    yield platform
    adapter.terminate(lambda text: None)
    adapter.destroy(lambda text: None)
    remove_namespace(adapter.site.kube, adapter.site.names.namespace)


@pytest.fixture
def cast(db: None) -> Cast:
    return the_cast()


@pytest.fixture
def ground(rig: Rig, standing: SlinkyPlatform, cast: Cast) -> Iterator[Ground]:
    """The cluster as after its creation: revision 1 is current and runs."""
    standing.make(SPEC)
    yield Ground(rig, standing, cast, _rows(rig, standing, cast))
    flip(standing.double.home, **SWITCHES)


def _rows(rig: Rig, standing: SlinkyPlatform, cast: Cast) -> Cluster:
    region = the_region()
    region.slug, region.provisioner, region.config = REGION, "slinky", dict(standing.provisioner.ref.region)  # type: ignore[attr-defined]
    region.save()
    secrets.put(f"region:{REGION}", KUBECONFIG, rig.kubeconfig().encode())
    cluster = Cluster.objects.create(
        team=cast.team, region=region, slug=SPEC.name, key=KEY, ssh_ca=CA, status=Status.RUNNING
    )
    cluster.revision = cluster.revisions.create(number=1, spec=to_json(SPEC))
    cluster.save()
    return cluster
