"""Rendered clusters meet a real API server: every object is taken as it is, and taking it again changes nothing."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from secrets import token_bytes
from typing import Any

import pytest

from clusters.ref import ClusterRef
from console.errors import Rejected
from slurm.kube.access import read_kubeconfig
from slurm.kube.client import Kube
from slurm.kube.kinds import NODE_SET, POD, STATEFUL_SET, Thing, kind_of
from slurm.provisioners.slinky.design import Design
from slurm.provisioners.slinky.names import names_of
from slurm.provisioners.slinky.render import render
from slurm.provisioners.slinky.restarts import restarts_in
from slurm.provisioners.slinky.secrets import secret_objects
from tests.kube.rig import things
from tests.kube.rig.admin import Admin, slinky_crds
from tests.kube.rig.api import wait_until
from tests.slurm.slinky.designs import CA, GOLDEN

PARTS = ("accounting", "controller", "restapi", "login", "slinky", "cpu-workers")


@pytest.fixture
def kube(kubernetes: Admin) -> Iterator[Kube]:
    kubernetes.install(slinky_crds())
    client = Kube(read_kubeconfig(kubernetes.api.kubeconfig))
    yield client
    client.close()


@pytest.fixture
def design(request: pytest.FixtureRequest, kubernetes: Admin) -> Iterator[Design]:
    """One of the golden clusters, the demo unless a test says another, in a namespace of its own."""
    golden = GOLDEN[getattr(request, "param", "demo")]
    namespace = kubernetes.add_namespace("render")
    ref = ClusterRef(f"c{token_bytes(6).hex()}", golden.spec.name, "accepted", ssh_ca=CA)
    names = replace(names_of(ref, "render"), namespace=namespace)
    yield replace(golden, names=names, ref=ref)
    kubernetes.delete_namespace(namespace)


def applied(kube: Kube, design: Design) -> list[Thing]:
    return [kube.apply(thing) for thing in render(design)]


def footprint(thing: Thing) -> Mapping[str, Any]:
    """All that an apply could have changed, but for when it was.

    The version of a StatefulSet is left out: a controller writes its status.
    """
    metadata = thing["metadata"]
    ours = [
        {key: value for key, value in entry.items() if key != "time"}
        for entry in metadata["managedFields"]
        if entry["manager"] == "quarterdeck"
    ]
    version = "" if thing["kind"] == STATEFUL_SET.name else metadata["resourceVersion"]
    kept = {key: metadata.get(key) for key in ("name", "uid", "generation", "labels", "annotations")}
    return {**kept, "ours": ours, "version": version, "body": {k: thing.get(k) for k in ("spec", "data")}}


def missing(rendered: Any, found: Any, path: str = "") -> Iterator[str]:
    """Where what was stored lacks something that was rendered: fields of no schema are dropped without a word."""
    if isinstance(rendered, Mapping) and isinstance(found, Mapping):
        for key, value in rendered.items():
            yield from missing(value, found.get(key), f"{path}.{key}")
    elif isinstance(rendered, list) and isinstance(found, list) and len(rendered) == len(found):
        for at, value in enumerate(rendered):
            yield from missing(value, found[at], f"{path}[{at}]")
    elif rendered != found:
        yield f"{path}: {rendered!r} became {found!r}"


@pytest.mark.parametrize("design", GOLDEN, indirect=True)
def test_every_object_is_taken_as_it_is(kube: Kube, design: Design) -> None:
    for thing in secret_objects(design.names, design.settings, token_bytes, database_password="x"):
        kube.create(thing)
    for rendered, stored in zip(render(design), applied(kube, design), strict=True):
        assert list(missing(rendered, stored, rendered["kind"])) == []


@pytest.mark.parametrize("design", GOLDEN, indirect=True)
def test_applying_twice_changes_nothing(kube: Kube, design: Design) -> None:
    first = applied(kube, design)
    pods = {pod["metadata"]["uid"] for pod in workload_pods(kube, design)}
    second = applied(kube, design)
    assert [footprint(thing) for thing in second] == [footprint(thing) for thing in first]
    assert {pod["metadata"]["uid"] for pod in workload_pods(kube, design)} == pods


def workload_pods(kube: Kube, design: Design) -> tuple[Thing, ...]:
    """The pods that Kubernetes itself makes of ours: the database's, where the cluster has one of its own."""
    own = any(thing["kind"] == STATEFUL_SET.name for thing in render(design))
    labels = "app.kubernetes.io/name=mariadb"

    def pods() -> tuple[Thing, ...]:
        return kube.list(POD, design.names.namespace, labels=labels).items

    if own:
        wait_until("the database's pod", lambda: bool(pods()))
    return pods()


def test_a_rendering_that_knows_of_restarts_leaves_them(kube: Kube, design: Design) -> None:
    restarted = replace(design, restarts=dict.fromkeys(PARTS, "2030-01-01T00:00:00Z"))
    first = applied(kube, restarted)
    found = restarts_in(
        [kube.get(kind_of(t), t["metadata"]["name"], design.names.namespace) for t in first[1:]], design.names
    )
    assert found == restarted.restarts
    second = applied(kube, replace(design, restarts=found))
    assert [footprint(thing) for thing in second] == [footprint(thing) for thing in first]


def test_a_stage_of_a_change_takes_nothing_but_its_sizes(kube: Kube, design: Design) -> None:
    first = applied(kube, design)
    second = applied(kube, replace(design, replicas={"slinky": 2}))
    changed = [
        new["metadata"]["name"]
        for old, new in zip(first, second, strict=True)
        if footprint(old) != footprint(new)
    ]
    assert changed == [design.names.node_set("slinky")]
    assert kube.get(NODE_SET, changed[0], design.names.namespace)["spec"]["replicas"] == 2


@pytest.mark.parametrize(
    ("field", "value"), [("scalingMode", "Nonsense"), ("replicas", "two"), ("replica", 2)]
)
def test_the_schemas_are_there_to_refuse(kube: Kube, design: Design, field: str, value: object) -> None:
    """Or the tests above would show nothing."""
    node_set = next(thing for thing in render(design) if thing["kind"] == NODE_SET.name)
    with pytest.raises(Rejected) as refusal:
        kube.apply({**node_set, "spec": {**node_set["spec"], field: value}})
    assert any(problem.path.endswith(f"spec.{field}") for problem in refusal.value.problems)


def test_the_namespace_is_made_with_what_workers_need(kube: Kube, kubernetes: Admin, design: Design) -> None:
    stored = kube.apply(render(design)[0])
    assert stored["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"
    assert stored["metadata"]["name"] == design.names.namespace
    assert (
        kubernetes.api.get(f"{things.NAMESPACES}/{design.names.namespace}")["metadata"]["uid"]
        == stored["metadata"]["uid"]
    )
