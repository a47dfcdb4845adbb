"""The double as a fixture, for tests below a conftest with `kubernetes` and `kubeconfig` (tests/kube/conftest.py).

To be had by `from tests.kube.double.fixture import double`; a test lets it see its namespace with `double.mind(...)`.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.errors import Unavailable
from tests.kube.double.operator import Double
from tests.kube.double.shims import write_shims
from tests.kube.double.trees import slurm_tree
from tests.kube.double.world import World
from tests.kube.rig.admin import Admin
from tests.kube.rig.rig import Rig


@pytest.fixture(scope="session")
def double(kubernetes: Admin, kubeconfig: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Double]:
    """With real Slurm behind its pods, one for all tests; it sees no namespace that it was not told to mind.

    Skips, saying why, where no Slurm can be had.
    """
    try:
        tree = slurm_tree(print)
    except Unavailable as refusal:
        pytest.skip(f"{refusal.message} {refusal.hint}")
    write_shims(shims_of(kubernetes))
    with Double(kubeconfig, tmp_path_factory.mktemp("double"), tree=tree, namespaces=("-",)) as made:
        yield made


@pytest.fixture(scope="session")
def world(double: Double, kubernetes: Admin, kubeconfig: str) -> Iterator[World]:
    """One demo cluster with three GPU workers, for tests that leave them idle."""
    namespace = kubernetes.add_namespace("double")
    made = World(double, kubeconfig, namespace)
    try:
        made.make(gpus=3)
        yield made
    finally:
        kubernetes.delete_namespace(namespace)


def shims_of(kubernetes: Admin) -> Path:
    """What stands first in kwok's PATH: the rig's folder, or the one beside the kubeconfig of another's rig."""
    if isinstance(kubernetes, Rig):
        return kubernetes.place.shims
    return Path(os.environ["QUARTERDECK_TEST_KUBECONFIG"]).parent / "shims"
