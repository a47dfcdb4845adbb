"""A region full of other people's machines and pods."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from clusters.watch import watch_once
from tests.kube.rig import things
from tests.kube.trouble.ground import Ground

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(300, func_only=True)]
NODES, PODS = 500, 3000


@pytest.fixture
def crowd(ground: Ground) -> Iterator[Ground]:
    """Nobody keeps these alive: objects alone, which is all that our requests could be slowed by."""
    api = ground.rig.api
    names = [f"other-{number:04d}" for number in range(NODES)]
    space = ground.rig.add_namespace("others")
    pods = f"{things.NAMESPACES}/{space}/pods"
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: api.create(things.NODES, _dead(name)), names))
        list(pool.map(lambda n: api.create(pods, _pod(n, names[n % NODES])), range(PODS)))
    yield ground
    ground.rig.delete_namespace(space)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: api.delete(f"{things.NODES}/{name}"), names))


def test_a_crowded_region_costs_an_observation_nothing_and_readiness_a_moment(crowd: Ground):
    assert len(crowd.rig.api.get("/api/v1/pods?limit=4000")["items"]) >= PODS
    took = sorted(_timed(lambda: watch_once(crowd.cluster)) for _ in range(3))[1]
    ready = _timed(lambda: list(crowd.cluster.region.platform.readiness()))
    print(f"\n{NODES} nodes and {PODS} pods of others: one look {took:.2f} s, readiness {ready:.2f} s")
    assert crowd.cluster.observed_problem == ""
    assert took < 5
    assert ready < 20


def _timed(act) -> float:
    began = time.monotonic()
    act()
    return time.monotonic() - began


def _dead(name: str) -> things.Thing:
    made = things.node(name)
    return {**made, "metadata": {**made["metadata"], "annotations": {}}, "spec": {"unschedulable": True}}


def _pod(number: int, node: str) -> things.Thing:
    container = {"name": "main", "image": "registry.invalid/other:1"}
    return {"metadata": {"name": f"other-{number}"}, "spec": {"nodeName": node, "containers": [container]}}
