"""A real Kubernetes API for the tests below. See `tests.kube.rig`.

`rig` is ours alone, for tests that break it. `kubernetes`, `kubeconfig`, `kube` and `namespace` are for all others:
they run on the API server that QUARTERDECK_TEST_KUBECONFIG names instead, where it does.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from slurm.kube.access import read_kubeconfig
from slurm.kube.client import Kube
from tests.kube.double.fixture import double as double
from tests.kube.double.fixture import world as world
from tests.kube.rig.admin import Admin
from tests.kube.rig.api import Api
from tests.kube.rig.beside import BuildBeside, result
from tests.kube.rig.rig import Rig

beside = pytest.StashKey[BuildBeside]()
OTHER = "QUARTERDECK_TEST_KUBECONFIG"
HERE = Path(__file__).parent
# Minutes each; `make test-long` runs them.
LONG = {
    "trouble",
    "test_contract.py",
    "test_adapter.py",
    "test_many_machines_and_pods_of_others_are_counted_in_time",
    "test_three_thousand_pods_of_others_are_not_even_read",
}


def _is_long(item: pytest.Item) -> bool:
    return HERE in item.path.parents and not LONG.isdisjoint((*item.path.parts, item.name.partition("[")[0]))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What needs a rig comes after what needs none, and the rig is built meanwhile."""
    for item in items:
        if _is_long(item):
            item.add_marker("long")
    items.sort(key=_needs_rig)
    if any(map(_needs_rig, items)) and not config.option.collectonly:
        config.stash[beside] = BuildBeside()
        config.stash[beside].start()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Wait here and not in the fixture: a test's time limit must not run out meanwhile."""
    if _needs_rig(item) and (builder := item.config.stash.get(beside, None)):
        builder.finish(lambda line: _say(item.config, line))
    return (yield)


def pytest_unconfigure(config: pytest.Config) -> None:
    if builder := config.stash.get(beside, None):
        builder.stop()


@pytest.fixture(scope="session")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """Running, with nodes and volumes. Tests that break it mend it, too."""
    programs = result()
    if isinstance(programs, str):
        pytest.skip(programs)
    made = Rig(tmp_path_factory.mktemp("rig"), programs)
    try:
        made.start()
        made.wait_nodes_ready([*made.add_nodes(8, "gpu-node", gpus=8), *made.add_nodes(2, "cpu-node")])
        made.add_volumes(40)
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="session")
def kubernetes(request: pytest.FixtureRequest) -> Admin:
    """An API server, as its administrator, for tests that leave it as it was."""
    if path := os.environ.get(OTHER):
        return Admin(Api(Path(path).read_text()))
    return request.getfixturevalue("rig")


@pytest.fixture(scope="session")
def kubeconfig(kubernetes: Admin) -> str:
    """Its administrator's."""
    return kubernetes.api.kubeconfig


@pytest.fixture(scope="session")
def kube(kubeconfig: str) -> Iterator[Kube]:
    """The product's client, as the administrator."""
    client = Kube(read_kubeconfig(kubeconfig))
    yield client
    client.close()


@pytest.fixture
def namespace(kubernetes: Admin) -> Iterator[str]:
    """One of the test's own, deleted afterwards."""
    name = kubernetes.add_namespace("test")
    yield name
    kubernetes.delete_namespace(name)


def _needs_rig(item: pytest.Item) -> bool:
    """The browser's tests tell one story, whose order must stay: all of them do. kustomize is built after the rig."""
    names = getattr(item, "fixturenames", ())
    is_told = "kubernetes" in names or HERE / "browser" in item.path.parents
    return "rig" in names or item.path.name == "test_deploy.py" or (is_told and OTHER not in os.environ)


def _say(config: pytest.Config, line: str) -> None:
    if reporter := config.pluginmanager.get_plugin("terminalreporter"):
        reporter.ensure_newline()
        reporter.write_line(f"Kubernetes rig: {line}")
