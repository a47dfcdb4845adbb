"""The mirror against a real API server, and what it says while that is away, hangs or has forgotten."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from console.errors import Unavailable
from slurm.kube import mirror as mirror_module
from slurm.kube.access import Access, read_kubeconfig
from slurm.kube.client import Kube
from slurm.kube.errors import Unpermitted
from slurm.kube.follow import Pace, Wanted
from slurm.kube.kinds import CONFIG_MAP, EVENT, NAMESPACE, NODE_SET, POD
from slurm.kube.mirror import Mirror
from tests.kube.rig.admin import Admin
from tests.kube.rig.api import wait_until
from tests.kube.rig.rig import Rig

QUICK = Pace(relist_s=600, watch_s=60, silence_s=70, first_pause_s=0.1, longest_pause_s=0.5, pulse_s=0.3)
OURS = Wanted(CONFIG_MAP, labels="app.kubernetes.io/managed-by=quarterdeck")


@pytest.fixture
def kube(kubeconfig: str) -> Kube:
    return Kube(read_kubeconfig(kubeconfig), timeout_s=2)


@pytest.fixture
def mirrored(kube: Kube) -> Iterator[Callable[..., Mirror]]:
    made: list[Mirror] = []

    def start(*wanted: Wanted, kube: Kube = kube, pace: Pace = QUICK, **more: object) -> Mirror:
        made.append(Mirror(kube, wanted or (OURS,), pace=pace, **more))
        made[-1].start()
        return made[-1]

    yield start
    for each in made:
        each.stop()


def config_map(namespace: str, name: str, *, key: str = "", ours: bool = True, **labels: str) -> dict:
    if ours:
        labels["app.kubernetes.io/managed-by"] = "quarterdeck"
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"key": key}}


def key_of(mirror: Mirror, namespace: str, name: str = "a") -> str | None:
    thing = mirror.find(CONFIG_MAP, name, namespace)
    return thing and thing["data"]["key"]


def names(mirror: Mirror, namespace: str, **selection: str) -> list[str]:
    return [thing["metadata"]["name"] for thing in mirror.list(CONFIG_MAP, namespace, **selection).items]


class TestFollowing:
    def test_what_was_there_what_comes_and_what_goes(self, mirrored, kube, namespace):
        kube.create(config_map(namespace, "old", key="1"))
        mirror = mirrored()
        assert key_of(mirror, namespace, "old") == "1"
        kube.create(config_map(namespace, "a", key="1"))
        wait_until("what came", lambda: key_of(mirror, namespace) == "1")
        kube.patch(CONFIG_MAP, "a", namespace, {"data": {"key": "2"}})
        wait_until("what changed", lambda: key_of(mirror, namespace) == "2")
        kube.delete(CONFIG_MAP, "old", namespace)
        wait_until("what went", lambda: names(mirror, namespace) == ["a"])
        assert mirror.age() == 0 and mirror.problem() is None

    def test_reading_costs_no_request(self, mirrored, kube, namespace):
        mirror = mirrored(pace=Pace())
        names(mirror, namespace)
        before = mirror.requests["list"], mirror.requests["get"]
        for _ in range(100):
            names(mirror, namespace)
        assert (mirror.requests["list"], mirror.requests["get"]) == before

    def test_only_what_is_wanted_is_kept_and_without_what_nobody_reads(self, mirrored, kube, namespace):
        kube.create(config_map(namespace, "a"))
        kube.create(config_map(namespace, "theirs", ours=False))
        mirror = mirrored()
        assert names(mirror, namespace) == ["a"]
        assert "managedFields" not in mirror.find(CONFIG_MAP, "a", namespace)["metadata"]

    def test_lists_by_label(self, mirrored, kube, namespace):
        for name, cluster in (("a", "k1"), ("b", "k2"), ("c", "k1")):
            kube.create(config_map(namespace, name, cluster=cluster))
        mirror = mirrored()
        assert names(mirror, namespace, labels="cluster=k1") == ["a", "c"]

    def test_two_selections_of_one_kind_are_one(self, mirrored, kube, namespace):
        kube.create(config_map(namespace, "a", cluster="k1"))
        kube.create(config_map(namespace, "b", ours=False, cluster="k1"))
        assert names(mirrored(OURS, Wanted(CONFIG_MAP, labels="cluster=k1")), namespace) == ["a", "b"]

    def test_a_label_that_goes_takes_the_object_along(self, mirrored, kube, namespace):
        kube.create(config_map(namespace, "a"))
        mirror = mirrored()
        assert names(mirror, namespace) == ["a"]
        none = {"metadata": {"labels": {"app.kubernetes.io/managed-by": None}}}
        kube.patch(CONFIG_MAP, "a", namespace, none)
        wait_until("it to go", lambda: names(mirror, namespace) == [])

    def test_warnings_of_our_namespaces_only(self, mirrored, kube, namespace):
        for number in range(3):
            kube.create(warning(namespace, f"w{number}"))
            kube.create(warning("default", f"{namespace}-{number}"))
        wanted = Wanted(EVENT, fields="type=Warning")
        mirror = mirrored(wanted, is_ours=lambda space: space == namespace)
        assert len(mirror.list(EVENT, namespace, fields="type=Warning").items) == 3
        assert mirror.list(EVENT, "default", fields="type=Warning").items == ()


def warning(namespace: str, name: str) -> dict:
    about = {"kind": "Pod", "namespace": namespace, "name": "p", "uid": "u1"}
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": namespace}}
    return {**event, "involvedObject": about, "type": "Warning", "reason": "Failed", "message": "m"}


class TestTrouble:
    def test_an_api_server_that_goes_and_comes_back(self, mirrored, rig: Rig, namespace, monkeypatch):
        monkeypatch.setattr(mirror_module, "MOST_STALE_S", 1.0)
        kube = Kube(read_kubeconfig(rig.kubeconfig()), timeout_s=2)
        kube.create(config_map(namespace, "a", key="1"))
        mirror = mirrored(kube=kube)
        assert key_of(mirror, namespace) == "1"
        with rig.away():
            wait_until("it to know", lambda: mirror.age() > 1)
            with pytest.raises(Unavailable, match="nothing listens"):
                key_of(mirror, namespace)
        rig.api.merge(f"/api/v1/namespaces/{namespace}/configmaps/a", {"data": {"key": "2"}})
        wait_until("it to catch up", lambda: mirror.age() == 0 and key_of(mirror, namespace) == "2", 60)
        assert mirror.problem() is None

    def test_an_api_server_that_hangs(self, mirrored, rig: Rig, namespace, monkeypatch):
        """Its connections stay open and nothing comes: only the pulse tells."""
        monkeypatch.setattr(mirror_module, "MOST_STALE_S", 1.0)
        mirror = mirrored(kube=Kube(read_kubeconfig(rig.kubeconfig()), timeout_s=0.5))
        assert names(mirror, namespace) == []
        with rig.hanging():
            wait_until("it to know", lambda: mirror.age() > 1)
            with pytest.raises(Unavailable, match="did not answer"):
                names(mirror, namespace)
        wait_until("it to hear again", lambda: mirror.age() == 0)
        assert names(mirror, namespace) == []

    def test_history_that_is_forgotten_while_it_is_away(self, mirrored, rig: Rig, namespace):
        kube = Kube(read_kubeconfig(rig.kubeconfig()), timeout_s=2)
        old = kube.create(config_map(namespace, "b", key="1"))["metadata"]["resourceVersion"]
        kube.create(config_map(namespace, "a", key="1"))
        mirror = mirrored(kube=kube)
        assert names(mirror, namespace) == ["a", "b"]
        rig.stop_api()
        wait_until("it to know", lambda: mirror.age() > 0)
        # As if it had been away since then.
        mirror._followers[CONFIG_MAP][0]._version = old
        listed = mirror.requests["list"]
        rig.compact()
        kube.patch(CONFIG_MAP, "a", namespace, {"data": {"key": "2"}})
        wait_until("the change", lambda: mirror.age() == 0 and key_of(mirror, namespace) == "2", 60)
        assert names(mirror, namespace) == ["a", "b"] and mirror.requests["list"] > listed

    def test_all_is_listed_anew_from_time_to_time(self, mirrored, kube, namespace):
        """What was lost without a word, as after a bug in a cache, is healed."""
        kube.create(config_map(namespace, "a"))
        mirror = mirrored(pace=Pace(relist_s=1, watch_s=1, first_pause_s=0.1))
        assert names(mirror, namespace) == ["a"]
        mirror._followers[CONFIG_MAP][0].shelf.replace(())
        wait_until("the next list", lambda: names(mirror, namespace) == ["a"], 10)

    def test_a_right_that_is_missing_and_then_given(self, mirrored, kubernetes: Admin, namespace):
        kube = Kube(read_kubeconfig(kubernetes.token_kubeconfig(namespace, "robot")))
        mirror = mirrored(Wanted(NODE_SET), OURS, kube=kube)
        with pytest.raises(Unpermitted, match="may not list nodesets.slinky.slurm.net in the whole region"):
            mirror.list(NODE_SET, namespace)
        everything = [
            {"apiGroups": ["*"], "resources": ["nodesets", "configmaps"], "verbs": ["list", "watch"]}
        ]
        kubernetes.allow(f"system:serviceaccount:{namespace}:robot", everything)
        wait_until("the right", lambda: mirror.age() == 0)
        assert mirror.list(NODE_SET, namespace).items == ()

    def test_it_stops_when_nobody_reads(self, mirrored, namespace, monkeypatch):
        monkeypatch.setattr(mirror_module, "UNUSED_S", 0.5)
        mirror = mirrored()
        names(mirror, namespace)
        wait_until("it to stop", lambda: mirror.is_stopped, 5)

    def test_what_could_never_be_listed_is_not_empty(self, mirrored):
        nobody = Kube(Access("https://127.0.0.1:1", token="t"), timeout_s=1)
        with pytest.raises(Unavailable, match="Could not list configmaps: nothing listens"):
            mirrored(kube=nobody).list(CONFIG_MAP, "default")


@pytest.mark.timeout(300)
def test_three_thousand_pods_of_others_are_not_even_read(mirrored, kubernetes: Admin, kubeconfig):
    """They lie in the same region; what is ours is selected by the server."""
    kube, namespace = Kube(read_kubeconfig(kubeconfig), timeout_s=30), kubernetes.add_namespace("crowd")
    try:
        with ThreadPoolExecutor(4) as pool:
            list(
                pool.map(lambda number: kube.create(unscheduled(namespace, f"theirs-{number}")), range(3000))
            )
        kube.create(unscheduled(namespace, "ours", **{"app.kubernetes.io/managed-by": "quarterdeck"}))
        mirror = mirrored(Wanted(POD, labels="app.kubernetes.io/managed-by=quarterdeck"))
        assert [pod["metadata"]["name"] for pod in mirror.list(POD, namespace).items] == ["ours"]
        assert mirror.requests["list"] == 1
    finally:
        kube.delete(NAMESPACE, namespace)  # its pods go with it, in their own time


def unscheduled(namespace: str, name: str, **labels: str) -> dict:
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    spec = {
        "schedulingGates": [{"name": "quarterdeck.dev/never"}],
        "containers": [{"name": "c", "image": "x"}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
