"""A region full of other people's machines and pods; `tests/kube/test_readiness.py` reads its readiness there."""

import time
from collections.abc import Callable, Iterator
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
    api.delete(f"{things.NODES}?labelSelector=crowd%3Dyes")
    ground.rig.delete_namespace(space)


def test_a_look_at_a_cluster_costs_the_same_in_a_crowded_region(crowd: Ground):
    assert len(crowd.rig.api.get("/api/v1/pods?limit=4000")["items"]) >= PODS
    first, *later = (_timed(lambda: watch_once(crowd.cluster)) for _ in range(4))
    print(
        f"beside {NODES} machines and {PODS} pods of others: first look {first:.2f} s, then {min(later):.2f} s"
    )
    assert crowd.cluster.observed_problem == ""
    assert crowd.row.nodes.count() == 2
    assert first < 10
    assert min(later) < 3


def _timed(act: Callable[[], object]) -> float:
    began = time.monotonic()
    act()
    return time.monotonic() - began


def _dead(name: str) -> things.Thing:
    made = things.node(name)
    about = {**made["metadata"], "annotations": {}, "labels": {"crowd": "yes"}}
    return {**made, "metadata": about, "spec": {"unschedulable": True}}


def _pod(number: int, node: str) -> things.Thing:
    container = {"name": "main", "image": "registry.invalid/other:1"}
    return {"metadata": {"name": f"other-{number}"}, "spec": {"nodeName": node, "containers": [container]}}
