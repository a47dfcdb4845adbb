"""Commands and connections in pods, through a real API server to kwok, which runs them on this machine."""

import os
import socket
import sys
import threading
import time
from contextlib import suppress

import pytest

from console.errors import Unavailable
from slurm.executors.pod import PodExecutor
from slurm.kube.access import read_kubeconfig
from slurm.kube.client import Kube
from slurm.kube.errors import Unpermitted
from slurm.kube.forward import _Pump
from tests.kube.rig import things
from tests.kube.rig.admin import Admin
from tests.kube.rig.api import wait_until

FLOOD = 16 << 20
KWOK = "/apis/kwok.x-k8s.io/v1alpha1/namespaces"


@pytest.fixture(scope="module")
def space(kubernetes: Admin):
    """A namespace with a running pod, `main` of which takes commands."""
    name = kubernetes.add_namespace("exec")
    pods = f"{things.NAMESPACES}/{name}/pods"
    containers = [{"name": container, "image": "none"} for container in ("main", "other")]
    kubernetes.api.create(pods, {"metadata": {"name": "one"}, "spec": {"containers": containers}})
    entered = {
        "local": {"workDir": "/", "envs": [{"name": "SQUEUE_FORMAT", "value": "%j"}]},
        "containers": ["main"],
    }
    kubernetes.api.create(f"{KWOK}/{name}/execs", exec_rule("one", entered))
    wait_until("the pod", lambda: things.is_so(kubernetes.api.get(f"{pods}/one")))
    yield name
    kubernetes.delete_namespace(name)


@pytest.fixture(scope="module")
def kube(kubeconfig: str, space: str) -> Kube:
    kube = Kube(read_kubeconfig(kubeconfig))
    wait_until("kwok to see the rule", lambda: _takes_commands(kube, space))
    return kube


@pytest.fixture
def executor(kube: Kube, space: str) -> PodExecutor:
    return PodExecutor(kube, space, "one", "main")


def exec_rule(name: str, *execs: object) -> dict:
    rule = {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Exec", "metadata": {"name": name}}
    return {**rule, "spec": {"execs": list(execs)}}


def _takes_commands(kube: Kube, space: str) -> bool:
    try:
        return kube.run(space, "one", "main", ["true"]).code == 0
    except Unavailable:
        return False


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


class TestCommands:
    """What the local executor's tests demand, and what only a pod can do wrong."""

    def test_output_errors_and_exit_code_come_back(self, executor):
        done = executor.run(python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"))
        assert (done.code, done.stdout, done.stderr) == (3, b"out\n", "err\n")

    def test_hostile_bytes_come_back_as_they_are(self, executor):
        code = "import sys; sys.stdout.buffer.write(bytes(range(256)) * 1000)"
        assert executor.run(python(code)).stdout == bytes(range(256)) * 1000

    def test_stdin_larger_than_a_pipe_is_delivered_while_output_is_read(self, executor):
        sent = os.urandom(1 << 20)
        code = "import sys; d = sys.stdin.buffer.read(); sys.stdout.buffer.write(d)"
        assert executor.run(python(code), stdin=sent, timeout_s=20).stdout == sent

    def test_a_command_that_takes_no_input_is_not_held_up_by_it(self, executor):
        assert executor.run(["true"], stdin=os.urandom(1 << 20), timeout_s=20).code == 0

    def test_the_containers_environment_does_not_leak(self, kube, space):
        executor = PodExecutor(kube, space, "one", "main", env={"SLURM_CONF": "/x"})
        text = executor.run(python("import os; print(sorted(os.environ.items()))")).stdout.decode()
        assert "SQUEUE" not in text and "SQUEUE" in kube.run(space, "one", "main", ["env"]).stdout.decode()
        for expected in ("('TZ', 'UTC')", "('SLURM_BITSTR_LEN', '0')", "('SLURM_CONF', '/x')", "C.UTF-8"):
            assert expected in text

    def test_several_are_run_through_one_connection(self, executor):
        show = python("import os, sys; print(sys.argv[1:], os.environ['TZ']); print('no', file=sys.stderr)")
        before = executor.kube.requests.total()
        first, second = executor.run_each([[*show, "a b", ""], ["false"]], timeout_s=20)
        assert executor.kube.requests.total() == before + 1
        assert (first.code, first.stdout, first.stderr) == (0, b"['a b', ''] UTC\n", "no\n")
        assert (second.code, second.stdout) == (1, b"")
        with pytest.raises(Unavailable, match="sleep did not answer within 0.5 s"):
            executor.run_each([["true"], ["sleep", "60"]], timeout_s=0.5)

    def test_words_are_passed_as_they_are(self, executor):
        words = ["a b", "$(touch /tmp/x)", "'", '"', "", "*", "&c=d", "ä\n"]
        for stdin in (b"", b"x"):
            done = executor.run([*python("import sys; print(sys.argv[1:])"), *words], stdin=stdin)
            assert done.stdout.decode() == f"{words}\n"

    def test_commands_start_in_the_given_directory(self, kube, space, tmp_path):
        executor = PodExecutor(kube, space, "one", "main", directory=str(tmp_path))
        assert executor.run(["pwd"]).stdout.decode().strip() == str(tmp_path)

    def test_a_command_that_hangs_is_given_up_and_then_ended(self, executor, tmp_path):
        note = tmp_path / "pid"
        code = f"import os, time; open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
        began = time.monotonic()
        with pytest.raises(Unavailable, match="did not answer within 1 s"):
            executor.run(python(code), timeout_s=1)
        assert time.monotonic() - began < 3
        wait_until(
            "its end", lambda: not note.exists() or not os.path.exists(f"/proc/{note.read_text()}"), 10
        )

    def test_output_beyond_the_limit_is_refused(self, kube, space):
        executor = PodExecutor(kube, space, "one", "main", most_bytes=1 << 20)
        with pytest.raises(Unavailable, match="printed more than 1 MiB"):
            executor.run(python("print('x' * (2 << 20))"))

    def test_absent_commands_are_unavailable_with_and_without_a_prefix(self, executor, kube, space):
        with pytest.raises(Unavailable, match="squeue-nowhere could not be started"):
            executor.run(["squeue-nowhere"])
        with pytest.raises(Unavailable, match="squeue-nowhere could not be started"):
            executor.run(["squeue-nowhere"], stdin=b"x")
        with pytest.raises(Unavailable, match="squeue-nowhere could not be started"):
            kube.run(space, "one", "main", ["squeue-nowhere"])

    def test_a_command_that_is_killed_has_not_succeeded(self, executor):
        assert executor.run(["sh", "-c", "kill -9 $$"]).code == 137

    @pytest.mark.parametrize(
        ("pod", "container", "words"),
        [
            ("none", "main", 'pods "none" not found'),
            ("one", "none", "not valid for pod"),
            ("one", "other", "exec"),
        ],
    )
    def test_what_takes_no_commands(self, kube, space, pod, container, words):
        with pytest.raises(Unavailable, match=words):
            PodExecutor(kube, space, pod, container).run(["true"])

    def test_an_account_that_may_not(self, kubernetes, space):
        kube = Kube(read_kubeconfig(kubernetes.token_kubeconfig(space, "robot")))
        with pytest.raises(Unpermitted, match="pods/exec in namespace"):
            PodExecutor(kube, space, "one", "main").run(["true"])

    def test_a_server_that_hangs_costs_no_more_than_the_limit(self, rig, kube, space):
        executor = PodExecutor(kube, space, "one", "main")
        began = time.monotonic()
        with rig.hanging(), pytest.raises(Unavailable, match="within 0.5 s"):
            executor.run(["true"], timeout_s=0.5)
        assert time.monotonic() - began < 3


@pytest.fixture(scope="module")
def forwarded(kubernetes: Admin, kube: Kube, space: str):
    """Port 7 gives everything back, port 9 greets and port 11 floods."""
    serving = {7: _echo, 9: _greet, 11: _flood}
    listeners = {port: _serving(serve) for port, serve in serving.items()}
    forwards = [
        {"ports": [port], "target": {"address": "127.0.0.1", "port": listener.getsockname()[1]}}
        for port, listener in listeners.items()
    ]
    rule = {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "PortForward", "metadata": {"name": "one"}}
    kubernetes.api.create(f"{KWOK}/{space}/portforwards", {**rule, "spec": {"forwards": forwards}})
    wait_until("kwok to see the rule", lambda: _greeting(kube.forward(space, "one", 9)) == b"hello\n")
    yield
    for listener in listeners.values():
        listener.close()


def _serving(serve) -> socket.socket:
    listener = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        while True:
            try:
                caller, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(caller,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener


def _echo(caller: socket.socket) -> None:
    with caller, suppress(OSError):
        while piece := caller.recv(65536):
            caller.sendall(piece)


def _greet(caller: socket.socket) -> None:
    with caller:
        caller.sendall(b"hello\n")


def _flood(caller: socket.socket) -> None:
    with caller, suppress(OSError):
        caller.sendall(bytes(FLOOD))


class TestForward:
    def test_bytes_go_both_ways(self, forwarded, kube, space):
        sent = os.urandom(1 << 20)
        with kube.forward(space, "one", 7) as connection:
            connection.settimeout(20)
            threading.Thread(target=connection.sendall, args=(sent,), daemon=True).start()
            assert _exactly(connection, len(sent)) == sent

    def test_a_flood_waits_for_its_reader(self, forwarded, kube, space, monkeypatch):
        """What is on its way here is bounded, so the sender is held up."""
        most: list[int] = []
        turn = _Pump._to_here
        monkeypatch.setattr(_Pump, "_to_here", lambda pump: most.append(len(pump.waiting)) or turn(pump))
        with kube.forward(space, "one", 11) as connection:
            connection.settimeout(20)
            assert len(_exactly(connection, FLOOD)) == FLOOD
        assert max(most) < 1 << 20

    def test_our_closing_is_the_end(self, forwarded, kube, space):
        connection = kube.forward(space, "one", 7)
        pump = next(
            thread for thread in threading.enumerate() if thread.name.startswith("forward reach port 7")
        )
        connection.close()
        pump.join(5)
        assert not pump.is_alive()

    def test_the_end_of_the_way_is_the_end(self, forwarded, rig, kube, space):
        """Not seen here: the pod's end closing. kwok waits for both ends then; a kubelet does not."""
        with kube.forward(space, "one", 9) as connection:
            connection.settimeout(20)
            assert _exactly(connection, 6) == b"hello\n"
            with rig.away():
                assert connection.recv(1) == b""

    def test_a_pod_that_is_not_there(self, kube, space):
        with pytest.raises(Unavailable, match="not found"):
            kube.forward(space, "none", 7)


def _exactly(connection: socket.socket, count: int) -> bytes:
    got = bytearray()
    while len(got) < count:
        piece = connection.recv(65536)
        if not piece:
            break
        got += piece
    return bytes(got)


def _greeting(connection: socket.socket) -> bytes:
    with connection:
        connection.settimeout(20)
        return _exactly(connection, 6)
