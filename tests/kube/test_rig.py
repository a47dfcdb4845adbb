"""The rig itself: what it promises to tests that break it, and that it leaves nothing behind."""

import itertools
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from kubernetes import client, config
from kubernetes.stream import stream

from tests.kube.rig import things
from tests.kube.rig.admin import Admin
from tests.kube.rig.api import Api, Refused, wait_until
from tests.kube.rig.beside import ROOT
from tests.kube.rig.rig import Rig
from tests.kube.rig.webhook import refusing

PODS = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]
KWOK = "/apis/kwok.x-k8s.io/v1alpha1/namespaces"


def pod(name: str, **spec: object) -> things.Thing:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "main", "image": "none"}], **spec}}


def run_pod(admin: Admin, namespace: str, thing: things.Thing) -> things.Thing:
    """The pod, once it is Ready."""
    path = f"{things.NAMESPACES}/{namespace}/pods"
    admin.api.create(path, thing)
    name = thing["metadata"]["name"]
    wait_until(f"pod {name}", lambda: things.is_so(admin.api.get(f"{path}/{name}")))
    return admin.api.get(f"{path}/{name}")


@pytest.fixture
def core(kubeconfig: str, tmp_path: Path) -> client.CoreV1Api:
    """The Kubernetes project's own client: the rig must be real to it."""
    (tmp_path / "kubeconfig").write_text(kubeconfig)
    return client.CoreV1Api(config.new_client_from_config(str(tmp_path / "kubeconfig")))


class TestRunning:
    def test_a_pod_with_a_claim_is_scheduled_and_ready(self, kubernetes: Admin, namespace: str) -> None:
        claim = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}
        claims = f"{things.NAMESPACES}/{namespace}/persistentvolumeclaims"
        kubernetes.api.create(claims, {"metadata": {"name": "shared"}, "spec": claim})
        volume = {"name": "shared", "persistentVolumeClaim": {"claimName": "shared"}}
        seen = run_pod(kubernetes, namespace, pod("one", volumes=[volume]))
        assert seen["spec"]["nodeName"]
        assert kubernetes.api.get(f"{claims}/shared")["spec"]["storageClassName"] == things.SHARED_CLASS

    def test_what_a_gpu_node_lacks_is_said_by_the_scheduler(self, kubernetes: Admin, namespace: str) -> None:
        nine = {"name": "main", "image": "none", "resources": {"limits": {"nvidia.com/gpu": "9"}}}
        path = f"{things.NAMESPACES}/{namespace}/pods"
        kubernetes.api.create(path, pod("big", containers=[nine]))

        def why() -> str:
            conditions = kubernetes.api.get(f"{path}/big")["status"].get("conditions", ())
            return next((each["message"] for each in conditions if each["type"] == "PodScheduled"), "")

        wait_until("the scheduler's answer", lambda: "Insufficient nvidia.com/gpu" in why())

    def test_exec_runs_a_command_of_this_machine_with_the_shims_first(
        self, rig: Rig, namespace: str, core: client.CoreV1Api
    ) -> None:
        shim = rig.place.shims / "only-here"
        shim.write_text('#!/bin/sh\necho "$GREETING $1"\n')
        shim.chmod(0o755)
        run_pod(rig, namespace, pod("one"))
        local = {"workDir": "/", "envs": [{"name": "GREETING", "value": "hello"}]}
        rig.api.create(f"{KWOK}/{namespace}/execs", {
            "apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Exec",
            "metadata": {"name": "one"}, "spec": {"execs": [{"local": local}]},
        })  # fmt: skip

        def said() -> str:
            call = core.connect_get_namespaced_pod_exec
            return str(stream(call, "one", namespace, command=["only-here", "you"], stdout=True, stderr=True))

        wait_until("kwok to see the Exec", lambda: said() == "hello you\n")

    def test_the_slinky_kinds_are_served(self, kubernetes: Admin) -> None:
        served = kubernetes.api.get("/apis/slinky.slurm.net/v1beta1")["resources"]
        names = {each["name"] for each in served}
        assert names >= {"controllers", "accountings", "restapis", "nodesets", "loginsets", "tokens"}
        assert names >= {"nodesets/scale", "loginsets/scale", "nodesets/status"}


class TestRights:
    def test_a_user_may_what_was_granted_and_nothing_else(self, rig: Rig, namespace: str) -> None:
        reader = Api(rig.kubeconfig("reader"))
        with pytest.raises(Refused, match="403.*cannot list resource"):
            reader.get(f"{things.NAMESPACES}/{namespace}/pods")
        rig.allow("reader", PODS, namespace)
        wait_until("the grant", lambda: may_list(reader, namespace))
        assert not may_list(reader, "default")

    def test_a_service_accounts_token(self, kubernetes: Admin, namespace: str) -> None:
        account = Api(kubernetes.token_kubeconfig(namespace, "robot"))
        kubernetes.allow(f"system:serviceaccount:{namespace}:robot", PODS, namespace)
        wait_until("the grant", lambda: may_list(account, namespace))

    def test_an_expired_certificate_is_refused(self, rig: Rig) -> None:
        late = Api(rig.kubeconfig(lifetime=timedelta(minutes=-5)))
        with pytest.raises(Refused, match="401"):
            late.get(things.NODES)


class TestBreaking:
    def test_the_api_comes_back_with_everything(self, rig: Rig, namespace: str) -> None:
        with rig.away(), pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", rig.place.ports.api), timeout=5)
        assert rig.api.get(f"{things.NAMESPACES}/{namespace}")["status"]["phase"] == "Active"

    def test_a_hanging_api_accepts_and_says_nothing(self, rig: Rig) -> None:
        address = ("127.0.0.1", rig.place.ports.api)
        with rig.hanging(), closing(socket.create_connection(address, timeout=1)) as caller:
            caller.sendall(b"GET /version HTTP/1.1\r\n\r\n")
            with pytest.raises(TimeoutError):
                caller.recv(1)
        assert rig.api.is_ready()

    def test_a_scheduler_that_ends_is_started_again(self, rig: Rig, namespace: str) -> None:
        for name in ("before", "after"):
            assert run_pod(rig, namespace, pod(name))["spec"]["nodeName"]
            rig.kill_scheduler()
        rig.check()

    def test_history_is_gone_after_a_compaction(self, rig: Rig, namespace: str) -> None:
        path = f"{things.NAMESPACES}/{namespace}/configmaps"
        for name in ("a", "b", "c"):
            rig.api.create(path, {"metadata": {"name": name}})
        page = rig.api.get(f"{path}?limit=1")["metadata"]
        watch = f"{path}?watch=1&timeoutSeconds=1&resourceVersion={page['resourceVersion']}"
        rig.api.create(path, {"metadata": {"name": "d"}})
        rig.compact()
        assert watched(rig, watch) == 410
        with pytest.raises(Refused, match="410"):
            rig.api.get(f"{path}?limit=1&continue={page['continue']}")
        assert len(rig.api.get(path)["items"]) >= 4

    def test_a_lost_node_takes_its_pods_along_and_no_others(self, rig: Rig, namespace: str) -> None:
        away, here = rig.add_nodes(2, "lonely")
        rig.wait_nodes_ready([away, here])
        for name in (away, here):
            run_pod(rig, namespace, pod(f"on-{name}", nodeName=name))
        rig.lose_node(away)
        wait_until("the taint", lambda: "node.kubernetes.io/unreachable" in taints(rig, away))
        assert not is_ready(rig, namespace, f"on-{away}")
        assert is_ready(rig, namespace, f"on-{here}")
        rig.find_node(away)
        assert is_ready(rig, namespace, f"on-{away}")

    def test_a_webhook_that_says_no(self, rig: Rig, namespace: str) -> None:
        path = f"{things.NAMESPACES}/{namespace}/configmaps"
        denied = 'admission webhook "refusal.webhook.test" denied the request: data.a: not today'
        with refusing(rig, namespace, "configmaps", group="", message="data.a: not today") as hook:
            numbers = itertools.count()
            wait_until("the webhook", lambda: said(rig, path, f"x{next(numbers)}") == f"403: {denied}")
            assert hook.asked
        wait_until("its end", lambda: said(rig, path, f"x{next(numbers)}") == "")

    def test_nothing_outlives_a_killed_test_run(self, rig: Rig, tmp_path: Path) -> None:
        starter = subprocess.Popen(
            [sys.executable, "-m", "tests.kube", "--api-alone", str(tmp_path)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert starter.stdout is not None
        wait_for_line(starter.stdout, "kubeconfig")
        assert processes_of(tmp_path)
        starter.send_signal(signal.SIGKILL)
        starter.wait()
        wait_until("the programs' end", lambda: not processes_of(tmp_path))


def may_list(api: Api, namespace: str) -> bool:
    try:
        api.get(f"{things.NAMESPACES}/{namespace}/pods")
    except Refused as refusal:
        assert refusal.status == 403
        return False
    return True


def said(rig: Rig, path: str, name: str) -> str:
    """What the API says to a new object; nothing when it is made."""
    try:
        rig.api.create(path, {"metadata": {"name": name}})
    except Refused as refusal:
        return str(refusal)
    return ""


def watched(rig: Rig, path: str) -> int:
    """The status that a watch ends with at once: refused, or as its first event."""
    try:
        first = rig.api.ask("GET", path)
    except Refused as refusal:
        return refusal.status
    return int(first["object"]["code"])


def taints(rig: Rig, node: str) -> set[str]:
    return {each["key"] for each in rig.api.get(f"{things.NODES}/{node}")["spec"].get("taints", ())}


def is_ready(rig: Rig, namespace: str, name: str) -> bool:
    return things.is_so(rig.api.get(f"{things.NAMESPACES}/{namespace}/pods/{name}"))


def processes_of(directory: Path) -> list[int]:
    """Programs, other than zombies, whose command line names the directory."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command, state = (entry / "cmdline").read_bytes(), (entry / "stat").read_text().rpartition(")")[2]
        except OSError:
            continue
        if str(directory).encode() in command and state.split()[0] != "Z":
            found.append(int(entry.name))
    return found


def wait_for_line(lines: Iterator[str], word: str) -> None:
    assert any(word in line for line in lines), f"it ended without a word of {word}"
