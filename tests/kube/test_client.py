"""The client against a real API server: objects, refusals, rights, and what it says when nobody answers."""

import base64
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
import yaml

from console.errors import Conflict, Missing, Rejected, Unavailable
from slurm.kube.access import Access, read_kubeconfig
from slurm.kube.client import Kube
from slurm.kube.errors import Gone, Unpermitted
from slurm.kube.kinds import CONFIG_MAP, NAMESPACE, NODE_SET, POD, SECRET
from tests.kube.rig.admin import Admin
from tests.kube.rig.api import wait_until
from tests.kube.rig.pki import Authority
from tests.kube.rig.rig import Rig


@pytest.fixture(scope="session")
def kube(kubeconfig: str) -> Kube:
    return Kube(read_kubeconfig(kubeconfig))


def config_map(namespace: str, name: str = "a", **data: str) -> dict:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": data,
    }


class TestObjects:
    def test_applied_twice_is_applied_once(self, kube, namespace):
        first = kube.apply(config_map(namespace, key="1"))
        again = kube.apply(config_map(namespace, key="1"))
        assert first["metadata"]["resourceVersion"] == again["metadata"]["resourceVersion"]
        assert kube.get(CONFIG_MAP, "a", namespace)["data"] == {"key": "1"}

    def test_a_dry_run_changes_nothing(self, kube, namespace):
        assert kube.apply(config_map(namespace, key="1"), dry_run=True)["data"] == {"key": "1"}
        assert kube.find(CONFIG_MAP, "a", namespace) is None

    def test_a_field_of_another_manager_is_not_taken_unless_forced(self, kube, kubernetes, namespace):
        kubernetes.api.ask(
            "PATCH",
            f"/api/v1/namespaces/{namespace}/configmaps/a?fieldManager=kubectl",
            config_map(namespace, key="theirs"),
            "application/apply-patch+yaml",
        )
        with pytest.raises(Conflict, match="kubectl holds data.key"):
            kube.apply(config_map(namespace, key="ours"))
        assert kube.apply(config_map(namespace, key="ours"), force=True)["data"] == {"key": "ours"}

    def test_made_once(self, kube, namespace):
        kube.create(config_map(namespace))
        with pytest.raises(Conflict, match="there already"):
            kube.create(config_map(namespace))

    def test_merged_and_read_back(self, kube, namespace):
        kube.create(config_map(namespace, keep="1", drop="2"))
        assert kube.patch(CONFIG_MAP, "a", namespace, {"data": {"drop": None, "new": "3"}})["data"] == {
            "keep": "1",
            "new": "3",
        }
        stale = {"metadata": {"resourceVersion": "1"}, "data": {"x": "y"}}
        with pytest.raises(Conflict):
            kube.patch(CONFIG_MAP, "a", namespace, stale)

    def test_gone_things(self, kube, namespace):
        with pytest.raises(Missing, match="Could not read ConfigMap a"):
            kube.get(CONFIG_MAP, "a", namespace)
        with pytest.raises(Missing):
            kube.patch(CONFIG_MAP, "a", namespace, {"data": {}})
        assert kube.delete(CONFIG_MAP, "a", namespace) is False

    def test_only_that_very_object_is_deleted(self, kube, namespace):
        uid = kube.create(config_map(namespace))["metadata"]["uid"]
        with pytest.raises(Conflict):
            kube.delete(CONFIG_MAP, "a", namespace, uid="00000000-0000-0000-0000-000000000000")
        assert kube.delete(CONFIG_MAP, "a", namespace, uid=uid) is True

    def test_long_lists_come_whole_and_say_what_they_hold(self, kube, namespace, monkeypatch):
        monkeypatch.setattr("slurm.kube.client._PAGE", 2)
        for number in range(5):
            kube.create(config_map(namespace, f"m{number}"))
        listed = kube.list(CONFIG_MAP, namespace, fields="metadata.name!=kube-root-ca.crt")
        assert [thing["metadata"]["name"] for thing in listed.items] == [f"m{n}" for n in range(5)]
        assert {thing["kind"] for thing in listed.items} == {"ConfigMap"} and listed.version

    def test_names_do_not_lead_elsewhere(self, kube):
        for name in ("../../secrets", "a/b", "a?x=1", ".."):
            with pytest.raises(Rejected, match="no name"):
                kube.get(CONFIG_MAP, name, "default")


class TestRefusals:
    def test_fields_that_are_invalid_and_fields_that_are_unknown(self, kube, namespace):
        thing = {
            "apiVersion": "slinky.slurm.net/v1beta1",
            "kind": "NodeSet",
            "metadata": {"name": "a", "namespace": namespace},
            "spec": {"controllerRef": {"name": "c"}, "replicas": "three", "gres": "gpu:8"},
        }
        with pytest.raises(Rejected) as refused:
            kube.apply(thing)
        assert "spec" in str([problem.path for problem in refused.value.problems])
        assert kube.find(NODE_SET, "a", namespace) is None

    def test_a_quota(self, kube, kubernetes, namespace):
        quotas = f"/api/v1/namespaces/{namespace}/resourcequotas"
        kubernetes.api.create(
            quotas, {"metadata": {"name": "small"}, "spec": {"hard": {"count/secrets": "0"}}}
        )
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": namespace}}
        with pytest.raises(Rejected, match="quota small is used up: asked for count/secrets=1, used .*limit"):
            kube.create(secret)
            # The quota counts as soon as its status is there.
            wait_until("the quota", lambda: bool(kubernetes.api.get(f"{quotas}/small")["status"].get("hard")))
            kube.create({**secret, "metadata": {**secret["metadata"], "name": "t"}})

    def test_a_policy_of_the_cluster(self, kube, kubernetes, namespace):
        kubernetes.api.merge(
            f"/api/v1/namespaces/{namespace}",
            {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}},
        )
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": namespace}}
        privileged = {"name": "c", "image": "x", "securityContext": {"privileged": True}}
        with pytest.raises(Rejected, match="violates PodSecurity"):
            kube.create({**pod, "spec": {"containers": [privileged]}})


class TestRights:
    def test_a_token_with_too_few_rights_learns_which(self, kubernetes, namespace):
        kube = Kube(read_kubeconfig(kubernetes.token_kubeconfig(namespace, "robot")))
        with pytest.raises(Unpermitted, match=f"may not list pods in namespace {namespace}") as refused:
            kube.list(POD, namespace)
        assert (refused.value.verb, refused.value.resource) == ("list", "pods")
        with pytest.raises(Unpermitted, match="may not patch configmaps"):
            kube.apply(config_map(namespace))
        with pytest.raises(Unpermitted, match="namespaces in the whole region"):
            kube.list(NAMESPACE)

    def test_what_an_account_may(self, kubernetes, namespace):
        kube = Kube(read_kubeconfig(kubernetes.token_kubeconfig(namespace, "robot")))
        assert not kube.may("list", "pods", namespace=namespace)
        rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
        kubernetes.allow(f"system:serviceaccount:{namespace}:robot", rules, namespace)
        wait_until("the grant", lambda: kube.may("list", "pods", namespace=namespace))
        assert not kube.may("create", "pods", namespace=namespace, part="exec")
        assert not kube.may("list", "pods")

    def test_a_token_that_is_not_known(self, kubeconfig, kubernetes, namespace):
        known = read_kubeconfig(kubernetes.token_kubeconfig(namespace, "robot"))
        stranger = Access(known.server, known.ca, token=f"{known.token[:-4]}AAAA")
        with pytest.raises(Unavailable, match="does not accept the region's credential") as refused:
            Kube(stranger).version()
            Kube(stranger).list(POD, namespace)
        assert known.token not in f"{refused.value.message}{refused.value.hint}"

    def test_an_expired_certificate(self, rig: Rig):
        kube = Kube(read_kubeconfig(rig.kubeconfig(lifetime=timedelta(minutes=-5))))
        with pytest.raises(Unavailable, match="does not accept|no encrypted connection"):
            kube.list(NAMESPACE)

    def test_a_service_account_whose_token_is_renewed(self, kubernetes: Admin, namespace, tmp_path):
        known = read_kubeconfig(kubernetes.token_kubeconfig(namespace, "robot"))
        (tmp_path / "token").write_text("old and invalid")
        kube = Kube(Access(known.server, known.ca, token_file=str(tmp_path / "token")))
        with pytest.raises(Unavailable, match="does not accept"):
            kube.list(POD, namespace)
        (tmp_path / "token").write_text(f"{known.token}\n")
        with pytest.raises(Unpermitted):
            kube.list(POD, namespace)


class TestServer:
    def test_version_and_clock(self, kube):
        assert kube.version().startswith("v1.")
        assert abs(kube.clock() - datetime.now(UTC)) < timedelta(seconds=5)

    def test_requests_are_counted_by_verb(self, kubeconfig, namespace):
        kube = Kube(read_kubeconfig(kubeconfig))
        kube.find(CONFIG_MAP, "a", namespace)
        kube.list(CONFIG_MAP, namespace)
        kube.list(SECRET, namespace)
        assert kube.requests == {"get": 1, "list": 2}


class TestWatching:
    def test_changes_in_their_order(self, kube, namespace):
        since = kube.list(CONFIG_MAP, namespace).version
        kube.create(config_map(namespace, key="1"))
        kube.patch(CONFIG_MAP, "a", namespace, {"data": {"key": "2"}})
        kube.delete(CONFIG_MAP, "a", namespace)
        watch = kube.watch(CONFIG_MAP, since, namespace=namespace, timeout_s=20)
        with closing(watch):
            seen = [event for _, event in zip(range(3), watch, strict=False)]
        assert [event.type for event in seen] == ["ADDED", "MODIFIED", "DELETED"]
        assert seen[1].thing["data"] == {"key": "2"}

    def test_it_ends_when_the_server_says_so(self, kube, namespace):
        since = kube.list(CONFIG_MAP, namespace).version
        assert all(
            e.type == "BOOKMARK" for e in kube.watch(CONFIG_MAP, since, namespace=namespace, timeout_s=1)
        )

    def test_silence_is_a_dead_connection(self, kube, namespace):
        since = kube.list(CONFIG_MAP, namespace).version
        watch = kube.watch(CONFIG_MAP, since, namespace=namespace, timeout_s=60, silence_s=0.5)
        with pytest.raises(Unavailable, match="did not answer within 0.5 s"):
            list(watch)

    def test_another_thread_can_end_it(self, kube, namespace):
        since = kube.list(CONFIG_MAP, namespace).version
        watch = kube.watch(CONFIG_MAP, since, namespace=namespace, timeout_s=60)
        reader = threading.Thread(target=lambda: _read(watch))
        reader.start()
        watch.close()
        reader.join(5)
        assert not reader.is_alive()

    def test_forgotten_history(self, rig: Rig, namespace):
        kube = Kube(read_kubeconfig(rig.kubeconfig()))
        since = kube.create(config_map(namespace))["metadata"]["resourceVersion"]
        kube.patch(CONFIG_MAP, "a", namespace, {"data": {"key": "2"}})
        rig.compact()
        with pytest.raises(Gone):
            list(kube.watch(CONFIG_MAP, since, namespace=namespace, timeout_s=5))


def _read(watch) -> None:
    try:
        list(watch)
    except Unavailable:
        return


class TestNobodyAnswers:
    def test_a_server_that_is_away_and_back(self, rig: Rig):
        kube = Kube(read_kubeconfig(rig.kubeconfig()))
        kube.version()
        with rig.away(), pytest.raises(Unavailable, match="nothing listens at https://127.0.0.1"):
            kube.version()
        assert kube.version()

    def test_a_server_that_hangs(self, rig: Rig):
        kube = Kube(read_kubeconfig(rig.kubeconfig()), timeout_s=0.5)
        kube.version()
        with rig.hanging(), pytest.raises(Unavailable, match="did not answer within 0.5 s"):
            kube.version()

    def test_another_authority_than_the_kubeconfigs(self, kubeconfig, tmp_path):
        document = yaml.safe_load(kubeconfig)
        other = Authority.of(tmp_path).pair.certificate
        document["clusters"][0]["cluster"]["certificate-authority-data"] = base64.b64encode(other).decode()
        with pytest.raises(Unavailable, match="cannot be trusted"):
            Kube(read_kubeconfig(yaml.safe_dump(document))).version()

    def test_a_name_that_nobody_has(self):
        with pytest.raises(Unavailable, match="cannot be found"):
            Kube(Access("https://api.quarterdeck.invalid:6443", token="t"), timeout_s=5).version()

    def test_no_tls_there(self, strange_server):
        with pytest.raises(Unavailable, match="no encrypted connection|broke"):
            Kube(Access(f"https://{strange_server(b'HTTP/1.1 400 Bad')}", token="t"), timeout_s=5).version()

    def test_something_else_answers(self, strange_server):
        page = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>"
        with pytest.raises(Unavailable, match="did not answer as an API server does"):
            Kube(Access(f"http://{strange_server(page)}", token="t"), timeout_s=5).version()

    def test_nobody_is_followed_elsewhere_with_the_token(self, strange_server):
        elsewhere = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"
        with pytest.raises(Unavailable, match="answered 302"):
            Kube(Access(f"http://{strange_server(elsewhere)}", token="t"), timeout_s=5).version()


@pytest.fixture
def strange_server() -> Iterator:
    """Makes a listener that answers whatever comes with the given bytes; gives its address."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve(answer: bytes) -> None:
        while True:
            try:
                caller, _ = listener.accept()
            except OSError:
                return
            with caller:
                caller.recv(65536)
                caller.sendall(answer)

    def started(answer: bytes) -> str:
        threading.Thread(target=serve, args=(answer,), daemon=True).start()
        return f"127.0.0.1:{listener.getsockname()[1]}"

    yield started
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
